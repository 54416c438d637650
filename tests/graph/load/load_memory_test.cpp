// SPDX-License-Identifier: Apache-2.0
// Graphs that do not fit into memory: refused before they are read, or while they are.
#include <string>

#include <gtest/gtest.h>

#include <lull/graph/load/load.hpp>
#include <lull/host/error.hpp>
#include <lull/host/io/host_memory.hpp>
#include <lull/host/task/counter_random.hpp>

#include <lull/tests/graph/graph_file.hpp>

namespace lull {
namespace {

using test::gzip;
using test::test_folder;

constexpr std::uint64_t mib = 1UL << 20;

/// What the loader says where this much memory is free (nothing: that of this computer); empty: it reads the file.
std::string refusal(std::string const& path, std::uint64_t free_bytes = 0) {
  load_options options{.max_edges = 1ULL << 40, .max_bytes = 1ULL << 50};
  if (free_bytes != 0) options.memory = free_memory{free_bytes, "this computer"};
  try {
    load_graph(path, options);
    return {};
  } catch (limit_error const& refused) {
    return refused.what();
  }
}

std::string random_edges(std::uint64_t edges) {
  counter_random const random{7, 0};
  std::string text;
  for (std::uint64_t at = 0; at < edges; ++at)
    text += std::to_string(random.at(2 * at) >> 48) + " " + std::to_string(random.at(2 * at + 1) >> 48) + "\n";
  return text;
}

TEST(load_memory, reads_a_compressed_graph_that_fits) {
  test_folder const folder;
  constexpr std::uint64_t edges = 200'000;
  std::string const packed = gzip(random_edges(edges));
  EXPECT_EQ(refusal(folder.write("random.el.gz", packed), edges * 10 + 65'536 * 8), "");
}

TEST(load_memory, refuses_a_compressed_graph_that_does_not_fit_while_it_reads_it) {
  test_folder const folder;
  std::string text;
  while (text.size() < 16 * mib) text += "0 1\n";
  std::string const path = folder.write("ones.el.gz", gzip(text + "fault\n"));
  std::string const says = refusal(path, 20 * mib);  // of 40 MiB
  std::string const begins = path + " needs about ";
  ASSERT_EQ(says.rfind(begins, 0), 0U) << says;
  double const mib_needed = std::stod(says.substr(begins.size()));  // more than fits, by what the threads hold
  EXPECT_GE(mib_needed, 20) << says;
  EXPECT_LT(mib_needed, 30) << says;
}

TEST(load_memory, reads_a_sorted_graph_that_fits) {  // its first lines are the shortest
  test_folder const folder;
  std::string text;
  constexpr std::uint32_t edges = 300'000;
  for (std::uint32_t at = 0; at < edges; ++at)
    text += std::to_string(at < 30'000 ? at % 10 : at) + " " + std::to_string(at) + "\n";
  EXPECT_EQ(refusal(folder.write("sorted.el", text), edges * 18 + 4096), "");
}

/// A file whose size, or whose header, says that its graph does not fit into this computer's memory.
TEST(load_memory, refuses_what_does_not_fit_into_this_computer_before_it_is_read) {
  std::uint64_t const free_bytes = free_host_memory().bytes;
  test_folder const folder;
  std::string lines;
  while (lines.size() < mib / 4) lines += "0 1\n";
  std::string const size = folder.at("size.el");
  test::write_sparse(size, lines, free_bytes);  // at 4 bytes an edge of 10
  std::string const header = folder.write("header.mtx", "%%MatrixMarket matrix coordinate real symmetric\n2 2 " +
                                                            std::to_string(free_bytes / 32) + "\n1 1 1\n");
  for (auto const& path : {size, header}) EXPECT_EQ(refusal(path).rfind(path + " needs about ", 0), 0U) << path;
}

}  // namespace
}  // namespace lull
