// SPDX-License-Identifier: Apache-2.0
// Each kind of a graph's nodes as side work does what it does in a plain launch, on a real device.
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <numeric>
#include <set>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <lull/host/cuda/check.hpp>
#include <lull/host/cuda/driver.hpp>
#include <lull/host/cuda/executor.hpp>
#include <lull/host/cuda_graph/graph_listing.hpp>
#include <lull/host/cuda_graph/segment_nodes.hpp>
#include <lull/tests/host/cuda_graph/graph_as_side_work.hpp>

namespace lull {
namespace {

using namespace std::chrono_literals;
using test::captured;
using bytes = std::vector<std::uint8_t>;
constexpr std::size_t size = 1 << 16;

bytes pattern() {
  bytes values(size);
  std::iota(values.begin(), values.end(), std::uint8_t{3});
  return values;
}

class graph_nodes_as_side_work : public test::graph_as_side_work {
 protected:
  /// Expects the same array from a graph as side work and from a plain launch of it.
  template <class Capture>
  void expect_as_plain(Capture const& capture) {
    device_array<std::uint8_t> const from{executor(), pattern()};
    device_array<std::uint8_t> here{executor(), bytes(size, 0xee)};
    device_array<std::uint8_t> there{executor(), bytes(size, 0xee)};
    cuda_graph const plain = captured([&](cudaStream_t stream) { capture(stream, there.data(), from.data()); });
    LULL_CUDA(cudaGraphLaunch(plain.executable(), stream_.get()));
    LULL_CUDA(cudaStreamSynchronize(stream_.get()));
    cuda_graph const side = captured([&](cudaStream_t stream) { capture(stream, here.data(), from.data()); });
    train(submit(*side_, {.graph = side.get(), .steps = 2}));
    EXPECT_EQ(here.read(), there.read());
    EXPECT_NE(there.read(), bytes(size, 0xee));
  }
};

TEST_F(graph_nodes_as_side_work, copies_of_any_length_and_alignment) {
  for (std::size_t const length : {1UL, 15UL, 16UL, 4'099UL, 40'000UL}) {
    for (std::size_t const at : {0UL, 1UL, 4UL}) {
      expect_as_plain([=](cudaStream_t stream, std::uint8_t* to, std::uint8_t const* from) {
        LULL_CUDA(cudaMemcpyAsync(to + at, from + 16, length, cudaMemcpyDeviceToDevice, stream));
      });
    }
  }
}

TEST_F(graph_nodes_as_side_work, copies_of_rows_and_slices_with_and_without_gaps) {
  for (std::size_t const width : {64UL, 61UL, 128UL}) {
    expect_as_plain([=](cudaStream_t stream, std::uint8_t* to, std::uint8_t const* from) {
      LULL_CUDA(cudaMemcpy2DAsync(to, 128, from, 64 + width, width, 50, cudaMemcpyDeviceToDevice, stream));
    });
    for (std::size_t const rows : {7UL, 9UL}) {  // of slices with nine
      expect_as_plain([=](cudaStream_t stream, std::uint8_t* to, std::uint8_t const* from) {
        cudaMemcpy3DParms what{};
        what.srcPtr = {const_cast<std::uint8_t*>(from), 128, 128, 9};
        what.dstPtr = {to, 128, 128, 9};
        what.dstPos = {128 - width, 9 - rows, 1};
        what.extent = {width, rows, 5};
        what.kind = cudaMemcpyDeviceToDevice;
        LULL_CUDA(cudaMemcpy3DAsync(&what, stream));
      });
    }
  }
}

TEST_F(graph_nodes_as_side_work, memsets_of_any_length_and_of_rows_with_gaps) {
  for (std::size_t const length : {1UL, 17UL, 4'096UL, 40'001UL}) {
    expect_as_plain([=](cudaStream_t stream, std::uint8_t* to, std::uint8_t const*) {
      LULL_CUDA(cudaMemsetAsync(to + 32, 0x5a, length, stream));
    });
  }
  expect_as_plain([](cudaStream_t stream, std::uint8_t* to, std::uint8_t const*) {
    LULL_CUDA(cudaMemset2DAsync(to, 100, 0x77, 61, 40, stream));
  });
}

TEST_F(graph_nodes_as_side_work, memsets_of_wider_elements) {
  for (unsigned const element : {2U, 4U}) {
    for (std::size_t const height : {1UL, 3UL}) {
      device_array<std::uint8_t> array{executor(), size};
      cudaMemsetParams what{};
      what.dst = array.data() + 8;
      what.pitch = 128;
      what.value = element == 2 ? 0x1234 : 0x12345678;
      what.elementSize = element;
      what.width = 21;
      what.height = height;
      cudaGraph_t made = nullptr;
      cudaGraphNode_t node{};
      LULL_CUDA(cudaGraphCreate(&made, 0));
      cuda_graph const graph = [&] {
        LULL_CUDA(cudaGraphAddMemsetNode(&node, made, nullptr, 0, &what));
        return cuda_graph{made};
      }();
      LULL_CUDA(cudaGraphLaunch(graph.executable(), stream_.get()));
      LULL_CUDA(cudaStreamSynchronize(stream_.get()));
      bytes const plain = array.read();
      array.fill_zero();
      train(submit(*side_, {.graph = graph.get(), .steps = 2}));
      EXPECT_EQ(array.read(), plain);
    }
  }
}

/// An empty node is between two that depend on each other.
TEST_F(graph_nodes_as_side_work, empty_nodes_keep_the_order) {
  constexpr std::uint32_t count = 1'000;
  device_array<std::uint32_t> x{executor(), count};
  device_array<std::uint32_t> const y{executor(), std::vector<std::uint32_t>(count, 1)};
  cuda_graph const graph = captured([&](cudaStream_t stream) {
    cuda_stream const beside{0};
    cuda_event const both;
    test::apply_node(stream, x.data(), y.data(), count, 5, 20'000);
    LULL_CUDA(cudaEventRecord(both.get(), stream));
    LULL_CUDA(cudaStreamWaitEvent(beside.get(), both.get()));
    cudaStreamCaptureStatus status{};
    cudaGraph_t into{};
    cudaGraphNode_t const* behind = nullptr;
    std::size_t depends = 0;
    LULL_CUDA(cudaStreamGetCaptureInfo(stream, &status, nullptr, &into, &behind, nullptr, &depends));
    cudaGraphNode_t empty{};
    LULL_CUDA(cudaGraphAddEmptyNode(&empty, into, behind, depends));
    LULL_CUDA(cudaStreamUpdateCaptureDependencies(stream, &empty, nullptr, 1, cudaStreamSetCaptureDependencies));
    test::apply_node(stream, x.data(), y.data(), count, 7, 1'000);
    LULL_CUDA(cudaEventRecord(both.get(), beside.get()));
    LULL_CUDA(cudaStreamWaitEvent(stream, both.get()));
  });
  train(submit(*side_, {.graph = graph.get(), .steps = 3, .segment = std::chrono::microseconds{1}}));
  std::uint32_t expected = 0;
  for (int step = 0; step < 3; ++step) expected = test::applied_node(test::applied_node(expected, 1, 5), 1, 7);
  EXPECT_EQ(x.read(), std::vector<std::uint32_t>(count, expected));
}

/// Kernels that begin before the one before them has ended, cut between them and not.
TEST_F(graph_nodes_as_side_work, programmatic_edges_are_kept_within_a_piece) {
  constexpr std::uint32_t count = 1'000;
  device_array<std::uint32_t> x{executor(), count};
  device_array<std::uint32_t> const y{executor(), std::vector<std::uint32_t>(count, 1)};
  cuda_graph const graph = captured([&](cudaStream_t stream) {
    for (std::uint32_t node = 0; node < 8; ++node) test::apply_early_node(stream, x.data(), y.data(), count, node);
  });
  auto& cuda = dynamic_cast<cuda_executor&>(executor());
  segment_nodes const nodes{graph.get(), cuda.place_of_graphs().context(), cuda.capture_stream()};
  void* nothing = nullptr;
  void* arguments[] = {&nothing, &nothing};
  segment_nodes::graph const piece = nodes.segment(0, 8, arguments);
  std::vector<cudaGraphEdgeData> const edges = graph_listing{piece.get()}.data;
  auto const is_early = [](cudaGraphEdgeData const& edge) { return edge.type == cudaGraphDependencyTypeProgrammatic; };
  EXPECT_EQ(std::count_if(edges.begin(), edges.end(), is_early), 7);
  std::uint32_t expected = 0;
  for (auto const segment : {1us, 1000us}) {
    train(submit(*side_, {.graph = graph.get(), .steps = 20, .segment = segment}));
    for (std::uint32_t node = 0; node < 8 * 20; ++node) expected = test::applied_node(expected, 1, node % 8);
    EXPECT_EQ(x.read(), std::vector<std::uint32_t>(count, expected));
  }
}

TEST_F(graph_nodes_as_side_work, clusters_are_kept) {
  constexpr std::uint32_t blocks = 16;
  device_array<std::uint32_t> found{executor(), blocks};
  cuda_graph const graph = captured([&](cudaStream_t stream) { test::note_clusters(stream, found.data(), blocks); });
  for (int turn = 0; turn < 2; ++turn) {  // in the first step, and in segments
    found.fill_zero();
    job const work = submit(*side_, {.graph = graph.get(), .steps = turn == 0 ? 1U : 3U});
    if (turn == 1) found.fill_zero();
    train(work);
    EXPECT_EQ(found.read(), std::vector<std::uint32_t>(blocks, 2));
  }
}

/// Triton's kernels are bound to a context: a node that is simply added for one runs on all SMs.
TEST_F(graph_nodes_as_side_work, kernels_of_modules_keep_off_the_reserved_sms) {
  device_array<std::uint32_t> sms{executor(), 1024};
  test::module_kernel const noting;
  cuda_graph const graph = captured([&](cudaStream_t stream) { noting.note_sms(stream, sms.data()); });
  train(submit(*side_, {.graph = graph.get(), .steps = 20}), 2'000'000);
  std::vector<std::uint32_t> const found = sms.read();
  placement const place = executor().place();
  EXPECT_EQ(std::accumulate(found.begin(), found.end(), 0), place.owned_processors) << place.how;
  EXPECT_LT(place.owned_processors, place.processors);
}

/// What is captured on the stream for captures uses only the SMs of workers, also in a plain replay.
TEST_F(graph_nodes_as_side_work, the_stream_for_captures_has_the_workers_sms) {
  auto* const stream = static_cast<cudaStream_t>(graph_stream(*side_));
  device_array<std::uint32_t> sms{executor(), 1024};
  test::note_sms(stream, sms.data());
  LULL_CUDA(cudaStreamSynchronize(stream));
  std::vector<std::uint32_t> const found = sms.read();
  EXPECT_EQ(std::accumulate(found.begin(), found.end(), 0), executor().place().owned_processors);
}

/// Graphs of jobs that live at the same time share no stream, and so nothing that a library keeps for one.
TEST_F(graph_nodes_as_side_work, each_stream_for_captures_is_another) {
  std::set<stream_handle> found;
  for (int at = 0; at < 40; ++at) found.insert(graph_stream(*side_));
  EXPECT_EQ(found.size(), 40U);
}

/// After some bubbles of one length a graph uses the hint; its result is the same.
TEST_F(graph_nodes_as_side_work, a_hint_changes_no_result) {
  for (length_hint const hint : {length_hint::learnt, length_hint::off}) {
    test::counted_step step{executor(), 5'000};
    job const work = submit(*side_, {.graph = step.graph(), .steps = 200, .segment = 10us, .hint = hint});
    for (int at = 0; at < 2'000 && !work.wait(0ns); ++at) {
      one_bubble(at % 50 == 49 ? 400'000 : 150'000);
      if (at % 8 == 0) LULL_CUDA(cudaStreamSynchronize(stream_.get()));
    }
    train(work);
    EXPECT_EQ(step.found(), step.expect(200));
  }
}

TEST_F(graph_nodes_as_side_work, what_bubbles_closed_on_is_told) {
  test::counted_step step{executor(), 5'000};
  cut_graph cut;
  job work = side_->submit(describe(executor(), {.graph = step.graph(), .steps = 1'000'000}, &cut));
  EXPECT_TRUE(closed_pieces(cut).empty());
  train_until([&] { return work.rounds() > 50; });
  std::vector<closed_piece> const pieces = closed_pieces(cut);
  ASSERT_FALSE(pieces.empty());
  EXPECT_NE(pieces[0].max_node_name.find("apply_kernel"), std::string::npos) << pieces[0].max_node_name;
  EXPECT_GT(pieces[0].took, 5us);
  work.cancel();
  EXPECT_TRUE(work.wait(10s));
  work = {};
}

}  // namespace
}  // namespace lull
