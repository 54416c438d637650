// SPDX-License-Identifier: Apache-2.0
// Stands in for device_csr.cu in a build without nvcc, where no machine is a GPU.
#include <lull/graph/csr/device_csr.hpp>
#include <lull/host/error.hpp>

namespace lull::detail {
namespace {

[[noreturn]] void refuse() { throw usage_error{why_no_cuda(0)}; }

}  // namespace

machine_csr transpose_on_device(executor&, machine_csr const&, stream_handle) { refuse(); }
device_array<std::uint64_t> out_degrees_on_device(executor&, machine_csr const&, stream_handle) { refuse(); }
device_array<std::uint64_t> in_degrees_on_device(executor&, machine_csr const&, stream_handle) { refuse(); }

}  // namespace lull::detail
