// SPDX-License-Identifier: Apache-2.0
// What owners say that they need, held against what they take.
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <lull/apps/registry/registry.hpp>
#include <lull/host/error.hpp>
#include <lull/host/io/shipped_file.hpp>
#include <lull/tests/support/test_folder.hpp>

namespace lull {
namespace {

std::unique_ptr<task_owner> owner_of(std::string const& task) {
  task_request const request = parse_task(task, known_tasks());
  return entry_of(request).make(request.values);
}

memory_need need_of(std::string const& task, executor_kind kind = executor_kind::threads) {
  return owner_of(task)->needs(kind);
}

std::unique_ptr<executor> machine_of(std::uint64_t bytes) {
  return make_executor({.kind = executor_kind::threads, .memory_limit_bytes = bytes, .processors = 1});
}

TEST(needs, bound_what_a_task_takes_of_the_machine_and_not_by_far) {
  test::test_folder const files;
  std::filesystem::create_directories(files.path() / "in");
  std::filesystem::copy_file(shipped_file("chelsea.png", "nothing"), files.path() / "in" / "a.png");
  std::ofstream weighted{files.path() / "ring.wel"};
  for (int i = 0; i < 3000; ++i) weighted << i << ' ' << (i + 1) % 3000 << " 0.5\n";
  weighted.close();
  std::ofstream matrix{files.path() / "ring.mtx"};
  matrix << "%%MatrixMarket matrix coordinate pattern symmetric\n3000 3000 2999\n";
  for (int i = 2; i <= 3000; ++i) matrix << i << ' ' << i - 1 << '\n';
  matrix.close();
  std::ofstream ratings{files.path() / "ratings.txt"};
  for (int i = 0; i < 5000; ++i) ratings << i % 90 << ' ' << i % 71 << ' ' << i % 5 << '\n';
  ratings.close();
  std::ofstream sources{files.path() / "sources.txt"};
  for (int i = 0; i < 70; ++i) sources << i * 7 << '\n';
  sources.close();
  std::vector<std::string> tasks{"compute:items=5000",
                                 "streaming:items=9",
                                 "product:rows=100,columns=130,depth=70",
                                 "product:leave=saved,count=3",
                                 "mlp:hidden=100,layers=3,batch=9",
                                 "mlp:precision=bf16,hidden=400,batch=8",
                                 "mlp:precision=bf16,hidden=40,batch=300",
                                 "pagerank",
                                 "pagerank:kronecker=12",
                                 "pagerank:uniform=14",
                                 "pagerank:graph=" + files.at("ring.wel"),
                                 "bfs",
                                 "bfs:kronecker=12,source=1",
                                 "bfs:kronecker=12,sources=" + files.at("sources.txt"),
                                 "bfs:kronecker=12,at_once=64,sources=" + files.at("sources.txt"),
                                 "bfs:grid=200,at_once=64,sources=" + files.at("sources.txt"),
                                 "betweenness",
                                 "betweenness:kronecker=12",
                                 "betweenness:grid=200,samples=1000",
                                 "betweenness:graph=" + files.at("ring.wel"),
                                 "kcore:grid=200",
                                 "sssp",
                                 "sssp:kronecker=12,source=1",
                                 "sssp:grid=200",
                                 "sssp:graph=" + files.at("ring.wel"),
                                 "components",
                                 "components:kronecker=12",
                                 "components:graph=" + files.at("ring.wel"),
                                 "kcore:graph=" + files.at("ring.wel"),
                                 "kcore:graph=" + files.at("ring.mtx"),
                                 "graph_sgd",
                                 "graph_sgd:count=20000,factors=64,held_out=0",
                                 "graph_sgd:ratings=" + files.at("ratings.txt"),
                                 "images:width=90,in=" + files.at("in") + ",out=" + files.at("out")};
  for (std::string const& task : tasks) {
    std::uint64_t const bytes = need_of(task).machine_bytes;
    auto const enough = machine_of(bytes);
    auto const owner = owner_of(task);  // after its machine, before which it goes
    owner->needs(executor_kind::threads);
    EXPECT_NO_THROW(owner->prepare(*enough)) << task;
    auto const small = machine_of(bytes - bytes / 8);
    EXPECT_THROW(owner_of(task)->prepare(*small), limit_error) << task << ": " << bytes;
  }
}

TEST(needs, grow_with_the_options) {
  constexpr std::uint64_t gib = std::uint64_t{1} << 30;
  for (auto const& [task, bytes] : {std::pair{"compute:items=1073741824", 8 * gib},
                                    {"streaming:items=16777216", 512 * gib},
                                    {"product:rows=65536,columns=65536,depth=65536,count=2", 48 * gib},
                                    {"mlp:hidden=65536,layers=2", 48 * gib},
                                    {"pagerank:kronecker=27", 16 * gib},
                                    {"bfs:kronecker=27", 36 * gib},
                                    {"sssp:kronecker=27", 39 * gib},
                                    {"components:kronecker=27", 17 * gib},
                                    {"betweenness:kronecker=27", 40 * gib},
                                    {"kcore:kronecker=27", 19 * gib},
                                    {"graph_sgd:count=2147483648,users=134217728,items=134217728", 60 * gib}}) {
    memory_need const found = need_of(task);
    EXPECT_GE(found.machine_bytes, bytes) << task;
    EXPECT_LE(found.machine_bytes, bytes + bytes / 4) << task;
    EXPECT_FALSE(found.smaller.empty()) << task;
    job_need const job{task, found};
    EXPECT_THROW(check_memory({&job, 1}, *machine_of(0), {bytes - 1, "this computer"}), limit_error) << task;
  }
}

/// The transpose is made in host memory, where the machine's arrays are not.
TEST(needs, of_a_graph_differ_by_machine) {
  memory_need const threads = need_of("pagerank:kronecker=20");
  memory_need const cuda = need_of("pagerank:kronecker=20", executor_kind::cuda);
  EXPECT_EQ(threads.machine_bytes, cuda.machine_bytes);
  EXPECT_LT(threads.preparing_bytes, cuda.preparing_bytes);
}

}  // namespace
}  // namespace lull
