// SPDX-License-Identifier: Apache-2.0
#include <lull/host/cuda_graph/graph_task.hpp>
#include <lull/host/error.hpp>

namespace lull {

job_description describe(executor&, graph_task const&, cut_graph*) {
  throw usage_error{"this build has no CUDA: build Lull where nvcc is found to run CUDA graphs"};
}

std::vector<closed_piece> closed_pieces(cut_graph const&) { return {}; }

stream_handle graph_stream(runtime&) {
  throw usage_error{"this build has no CUDA: build Lull where nvcc is found to run CUDA graphs"};
}

job submit(runtime& side, graph_task const& work) { return side.submit(describe(executor_of(side), work)); }

}  // namespace lull
