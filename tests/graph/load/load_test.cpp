// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <lull/graph/csr/edge_list.hpp>
#include <lull/graph/load/load.hpp>
#include <lull/host/error.hpp>
#include <random>

#include <lull/tests/graph/graph_file.hpp>

namespace lull {
namespace {

using test::gzip;
using test::rows;
using test::test_folder;

struct sample {
  std::string name;
  std::string text;
  csr expected;
};

std::vector<sample> samples() {
  return {
      {"plain.el", "0 1\n2 0\n0 2\n", rows({{1, 2}, {}, {0}})},
      {"one.el", "0 0\n", rows({{0}})},
      {"duplicates and loops.el", "1 1\n0 1\n0 1\n1 1\n", rows({{1, 1}, {1, 1}})},
      {"comments.el", "# a comment\n\n  # another \t\xff\n0 1\n\t \n#\n1 0\n", rows({{1}, {0}})},
      {"no last end.el", "0 1\n1 0", rows({{1}, {0}})},
      {"crlf.el", "# x\r\n0 1\r\n\r\n1 0 \r\n", rows({{1}, {0}})},
      {"crlf without last end.el", "0 1\r\n1 0\r", rows({{1}, {0}})},
      {"blanks.el", "  0\t 1  \n\t1 0\t\n", rows({{1}, {0}})},
      {"zeros.el", "000 0000000000000000001\n", rows({{1}, {}})},
      {"isolated.el", "3 1\n", rows({{}, {}, {}, {1}})},
      {"plain.wel", "0 1 2.5\n1 0 -1e3\n0 0 7\n", rows({{1, 0}, {0}}, {2.5F, 7, -1000})},
      {"numbers.wel", "0 1 +1\n0 1 .5\n0 1 1e-3\n0 1 16777217\n0 1 3.4028234e38\n0 1 0\r\n0 0 -0.25",
       rows({{1, 1, 1, 1, 1, 1, 0}, {}}, {1, .5F, 1e-3F, 16777216, 3.4028234e38F, 0, -.25F})},
      {"general.mtx",
       "%%MatrixMarket matrix coordinate real general\n% comment\n\n3 3 4\n1 2 1.5\n3 1 2\n1 1 -4\n1 2 1\n",
       rows({{1, 0, 1}, {}, {0}}, {1.5F, -4, 1, 2})},
      {"symmetric.mtx", "%%MatrixMarket matrix coordinate pattern symmetric\n3 3 3\n1 1\n2 1\n3 2\n",
       rows({{0, 1}, {0, 2}, {1}})},
      {"integer.mtx", "%%MatrixMarket Matrix COORDINATE Integer Symmetric\r\n2 2 1\r\n2 1 -7\r\n",
       rows({{1}, {0}}, {-7, -7})},
      {"trailing.mtx", "%%MatrixMarket matrix coordinate pattern general\n4 4 1\n  1 1\n% end\n\n",
       rows({{0}, {}, {}, {}})},
      {"roads.gr", "c a comment\nc\np sp 3 3\na 1 2 10\nc between\na 3 1 4\na 1 1 0\n",
       rows({{1, 0}, {}, {0}}, {10, 0, 4})},
      {"crlf.gr", "p sp 2 1\r\na 2 1 5\r\n", rows({{}, {0}}, {5})},
  };
}

TEST(load, reads_what_is_there) {
  test_folder const folder;
  for (auto const& [name, text, expected] : samples()) {
    for (unsigned const threads : {1U, 3U}) {
      auto const graph = load_graph(folder.write(name, text), {.threads = threads});
      EXPECT_TRUE(graph == expected) << name;
      EXPECT_NO_THROW(validate(graph)) << name;
    }
  }
}

TEST(load, reads_the_same_from_gzip) {
  test_folder const folder;
  for (auto const& [name, text, expected] : samples()) {
    EXPECT_TRUE(load_graph(folder.write(name + ".gz", gzip(text))) == expected) << name;
  }
}

TEST(load, reads_gzip_members_one_after_the_other) {
  test_folder const folder;
  for (auto const& [name, text, expected] : samples()) {
    for (std::size_t cut = 0; cut <= text.size(); ++cut) {
      auto const packed = gzip(text.substr(0, cut)) + gzip(text.substr(cut));
      ASSERT_TRUE(load_graph(folder.write(name + ".gz", packed)) == expected) << name << " cut at " << cut;
    }
  }
}

TEST(load, vertices_can_be_more) {
  test_folder const folder;
  auto const path = folder.write("small.el", "0 1\n");
  EXPECT_TRUE(load_graph(path, {.vertices = 4}) == rows({{1}, {}, {}, {}}));
  EXPECT_TRUE(load_graph(path, {.vertices = 1}) == rows({{1}, {}}));
  EXPECT_THROW(load_graph(path, {.max_vertices = 5, .vertices = 6}), usage_error);
  EXPECT_THROW(load_graph(path, {.max_vertices = 1ULL << 33, .vertices = 1ULL << 32}), usage_error);
  auto const matrix = folder.write("small.mtx", "%%MatrixMarket matrix coordinate pattern general\n2 2 1\n1 2\n");
  EXPECT_TRUE(load_graph(matrix, {.vertices = 3}) == rows({{1}, {}, {}}));
}

TEST(load, takes_entries_of_a_symmetric_matrix_once_where_asked) {
  test_folder const folder;
  std::string const entries = " symmetric\n3 3 4\n1 1 5\n2 1 6\n3 2 7\n2 1 8\n";
  auto const path = folder.write("s.mtx", "%%MatrixMarket matrix coordinate integer" + entries);
  load_options options{.max_edges = 4, .symmetric = symmetric_entries::once};
  EXPECT_TRUE(load_graph(path, options) == rows({{0}, {0, 0}, {1}}, {5, 6, 8, 7}));
  EXPECT_THROW(load_graph(path, {.max_edges = 4}), input_error);
}

/// Text of many blocks, so that lines and header lie across their edges, with the graph it stands for.
sample large(std::string const& name, std::size_t edges, std::string const& head, int first_id, bool weighted,
             std::string const& word) {
  constexpr std::uint32_t vertices = 70'000;
  std::mt19937_64 random{edges};
  sample made{name, head, {}};
  edge_list list;
  list.weighted = weighted;
  auto& block = list.blocks.emplace_back();
  auto const add = [&](std::uint32_t source, std::uint32_t target) {
    auto const weight = static_cast<float>(random() % 4096) / 16;
    block.edges.push_back({source, target});
    made.text += word + std::to_string(source + first_id) + " " + std::to_string(target + first_id);
    if (weighted) {
      block.weights.push_back(weight);
      made.text += " " + std::to_string(weight);
    }
    made.text += "\n";
  };
  for (std::size_t edge = 1; edge < edges; ++edge) {
    add(static_cast<std::uint32_t>(random() % vertices), static_cast<std::uint32_t>(random() % vertices));
  }
  add(vertices - 1, 0);
  made.expected = make_csr(list, vertices, mirror::none, 1);
  return made;
}

TEST(load, reads_across_blocks_with_any_number_of_threads) {
  test_folder const folder;
  std::string comments;
  while (comments.size() < 300'000) {  // more than a block
    comments += "% " + std::string(comments.size() % 50'000, 'x') + "\n";
  }
  std::size_t const edges = 100'000;
  auto const count = std::to_string(edges);
  for (auto const& [name, text, expected] :
       {large("large.el", edges, "", 0, false, ""), large("large.wel", edges, "#\n", 0, true, ""),
        large("large.mtx", edges,
              "%%MatrixMarket matrix coordinate real general\n" + comments + "70000 70000 " + count + "\n", 1, true,
              ""),
        large("large.gr", edges, "p sp 70000 " + count + "\n", 1, true, "a ")}) {
    ASSERT_GT(text.size(), 1'000'000);
    auto const packed = gzip(text);
    for (unsigned const threads : {1U, 2U, 5U, 0U}) {
      EXPECT_TRUE(load_graph(folder.write(name, text), {.threads = threads}) == expected) << name << threads;
      EXPECT_TRUE(load_graph(folder.write(name + ".gz", packed), {.threads = threads}) == expected) << name << threads;
    }
  }
}

TEST(load, reads_text_that_fills_blocks_to_the_byte) {
  test_folder const folder;
  // 8 bytes a line and lines of odd length, so that the edges of blocks fall everywhere in and between lines
  for (std::size_t const shift : {0, 1, 2, 3, 4, 5, 6, 7, 8, 9}) {
    std::string text = "#" + std::string(shift, '-') + "\n";
    for (int line = 0; line < 2 * 262'144 / 8; ++line) {
      text += "100 200\n";
    }
    auto const graph = load_graph(folder.write("even.el", text), {.threads = 2});
    ASSERT_EQ(graph.edges(), 65'536);
    ASSERT_EQ(graph.vertices(), 201);
    ASSERT_EQ(graph.offsets[101] - graph.offsets[100], 65'536);
  }
}

TEST(load, reads_the_shipped_graph) {
  auto const graph = load_graph(LULL_DATA_FOLDER "/debian12-packages.el.gz");
  EXPECT_NO_THROW(validate(graph));
  EXPECT_EQ(graph.vertices(), 63'666);
  EXPECT_EQ(graph.edges(), 248'338);
  EXPECT_TRUE(graph.weights.empty());
}

}  // namespace
}  // namespace lull
