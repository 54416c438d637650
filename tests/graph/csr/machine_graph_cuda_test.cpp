// SPDX-License-Identifier: Apache-2.0
// Transpose and degrees on a GPU, against those of host memory.
#include <gtest/gtest.h>

#include <lull/graph/load/load.hpp>
#include <lull/host/cuda/owned.hpp>
#include <lull/host/error.hpp>
#include <lull/tests/graph/csr/machine_graph.hpp>
#include <memory>

namespace lull {
namespace {

class machine_graph_cuda : public testing::Test {
 protected:
  void SetUp() override {
    if (std::string const why = why_no_cuda(0); !why.empty()) GTEST_SKIP() << "NOT RUN: " << why;
  }
  static std::unique_ptr<executor> executor_for(std::size_t memory_limit_bytes = 0) {
    return make_executor({.kind = executor_kind::cuda, .memory_limit_bytes = memory_limit_bytes});
  }
};

TEST_F(machine_graph_cuda, odd_graphs_are_as_on_the_host) {
  auto const device = executor_for();
  load_graph_kernels(*device);
  for (auto const& [name, graph] : test::odd_graphs()) {
    SCOPED_TRACE(name);
    test::expect_as_on_host(*device, graph);
  }
}

TEST_F(machine_graph_cuda, shipped_graph_is_as_on_the_host) {
  auto const device = executor_for();
  csr const packages = load_graph(LULL_DATA_FOLDER "/debian12-packages.el.gz");
  test::expect_as_on_host(*device, packages);
  test::expect_as_on_host(*device, transpose(packages));
  test::expect_as_on_host(*device, test::lopsided(packages));
}

TEST_F(machine_graph_cuda, works_on_a_stream_that_is_given) {
  auto const device = executor_for();
  csr const graph = test::lopsided(generate_kronecker({.scale = 13}));
  machine_csr const there{*device, graph};
  cuda_stream const stream{0};
  EXPECT_TRUE(read(*device, transpose(*device, there, stream.get())) == transpose(graph));
  EXPECT_EQ(in_degrees(*device, there, stream.get()).read(),
            out_degrees(*device, transpose(*device, there), stream.get()).read());
}

TEST_F(machine_graph_cuda, keeps_to_the_memory_it_states_and_gives_it_back) {
  csr const graph = test::lopsided(generate_kronecker({.scale = 16}));
  std::size_t const own = 64 << 10;     // more than the executor holds by itself
  std::size_t const range = 2UL << 20;  // the device gives memory in such ranges
  std::size_t const bytes = 2 * graph.size_bytes() + 13 * graph.edges() + (std::size_t{1} << 20);
  std::size_t const stated = (bytes + range - 1) / range * range;
  {
    auto const enough = executor_for(stated + own);
    {
      machine_csr const there{*enough, graph};
      for (int time = 0; time < 3; ++time) {
        EXPECT_TRUE(read(*enough, transpose(*enough, there)) == transpose(graph)) << time;
      }
    }
    void* const all = enough->allocate(stated);  // throws where something was kept
    enough->release(all);
  }

  auto const little = executor_for(2 * graph.size_bytes() + 4 * graph.edges());  // not for Thrust's own
  machine_csr const there{*little, graph};
  for (int time = 0; time < 3; ++time) EXPECT_THROW(transpose(*little, there), limit_error) << time;
  EXPECT_TRUE(read(*little, there) == graph);
  EXPECT_EQ(cudaGetLastError(), cudaSuccess);  // nothing for the trainer's next check to find
}

}  // namespace
}  // namespace lull
