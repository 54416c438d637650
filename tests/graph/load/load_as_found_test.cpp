// SPDX-License-Identifier: Apache-2.0
// Files as people have them: names that say little, other separators and comments, weights at the ends of the range.
#include <cmath>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <lull/graph/load/load.hpp>
#include <lull/host/error.hpp>

#include <lull/tests/graph/graph_file.hpp>

namespace lull {
namespace {

using test::gzip;
using test::rows;
using test::test_folder;

std::string const matrix = "%%MatrixMarket matrix coordinate ";

/// Why the file is refused, without its folder; empty: it is read.
std::string refusal(std::string const& name, std::string const& text, load_options const& options = {}) {
  test_folder const folder;
  std::string const path = folder.write(name, text);
  try {
    read_graph(path, options);
  } catch (input_error const& refused) {
    return std::string{refused.what()}.substr(path.size() - name.size());
  }
  return {};
}

loaded_graph read(std::string const& name, std::string const& text, load_options const& options = {}) {
  test_folder const folder;
  return read_graph(folder.write(name, text), options);
}

/// Which graph is expected of a file, and what is said of it.
struct found {
  std::string name;
  std::string text;
  csr graph;
  std::string note = {};  // part of it; empty: nothing is said
};

void expect(std::vector<found> const& all) {
  for (auto const& [name, text, graph, note] : all) {
    for (auto const& bytes : {text, gzip(text)}) {
      loaded_graph const made = read(name, bytes);
      EXPECT_TRUE(made.graph == graph) << name << "\n" << text;
      ASSERT_EQ(made.notes.size(), note.empty() ? 0U : 1U) << name << (made.notes.empty() ? "" : made.notes[0]);
      if (note.empty()) continue;
      EXPECT_NE(made.notes[0].find(name + " is read as " + note), std::string::npos) << made.notes[0];
    }
  }
}

csr const path = rows({{1}, {2}, {}});

TEST(load_as_found, names_in_either_case) {
  std::string const edges = "0 1\n1 2\n";
  std::string const entries = "pattern general\n3 3 2\n1 2\n2 3\n";
  expect({{"UP.EL", edges, path},
          {"Up.El.GZ", edges, path},
          {"up.WEL.gz", "0 1 2\n1 2 3\n", rows({{1}, {2}, {}}, {2, 3})},
          {"A.MTX", matrix + entries, path},
          {"A.Gr", "p sp 3 2\na 1 2 5\na 2 3 6\n", rows({{1}, {2}, {}}, {5, 6})},
          {"A.GRAPH", "3 2\n2\n1 3\n2\n", rows({{1}, {0, 2}, {1}})}});
}

TEST(load_as_found, content_where_the_name_says_nothing) {
  std::string const list = "an edge list, by its first edge: columns source, target";
  expect({{"soc.txt", "# Directed graph\n# FromNodeId\tToNodeId\n0\t1\n1\t2\n", path, list + ", blanks between them"},
          {"soc.edges", "0 1\r\n1 2\r\n", path, list},
          {"soc.csv", "0,1\n1,2\n", path, list + ", `,` between them"},
          {"soc", "% asym\n\n0;1\n1;2", path, list + ", `;` between them"},
          {"out.moreno", "0 1 4\n1 2 5\n", rows({{1}, {2}, {}}, {4, 5}), list + ", weight, blanks"},
          {"matrix.txt", matrix + "pattern general\n3 3 2\n1 2\n2 3\n", path, "Matrix Market, by its first line"},
          {"matrix.el", matrix + "pattern general\n3 3 2\n1 2\n2 3\n", path, "Matrix Market, by its first line"},
          {"roads.txt", "c x\np sp 3 2\na 1 2 1\na 2 3 1\n", rows({{1}, {2}, {}}, {1, 1}), "DIMACS shortest path"}});
  EXPECT_EQ(refusal("none.txt", ""), "none.txt: is empty");
  EXPECT_EQ(refusal("none.txt", "# x\n"), "none.txt: holds no edges");
}

TEST(load_as_found, comments_and_separators_of_lists) {
  expect({{"percent.el", "% asym unweighted\n% 3 2 2\n0 1\n# other\n1 2\n", path},
          {"comma.el", "0,1\n1,2\n", path},
          {"spaced.el", "  0 ,\t1 \r\n# c\n1, 2\n", path},
          {"semicolon.el", "0;1\n1;2\n", path},
          {"comma.wel", "0,1,2.5\n1, 2, 1e3\n", rows({{1}, {2}, {}}, {2.5F, 1000})},
          {"joined percent.el", "%0 1\n0 1\n1 2", path}});
  EXPECT_NE(read("sym.el", "% sym\n0 1\n").notes.at(0).find("undirected=yes takes both"), std::string::npos);
  EXPECT_EQ(read("sym.el", "% sym\n0 1\n", {.lists = list_edges::both_ways}).notes.size(), 0U);
}

/// Each format once, with what is expected of it.
std::vector<found> one_of_each_format() {
  return {{"a.el", "0 1\n1 2\n", path},
          {"comments.el", "# x\n\n0,1\n1,2\n", path},
          {"a.wel", "0 1 2\n1 2 3\n", rows({{1}, {2}, {}}, {2, 3})},
          {"a.mtx", matrix + "pattern general\n% c\n3 3 2\n1 2\n2 3\n", path},
          {"a.gr", "c x\np sp 3 2\na 1 2 5\na 2 3 6\n", rows({{1}, {2}, {}}, {5, 6})},
          {"a.graph", "% c\n4 2\n2\n1 3\n2\n\n", rows({{1}, {0, 2}, {1}, {}})},
          {"matrix", matrix + "pattern general\n3 3 2\n1 2\n2 3\n", path, "Matrix Market"},
          {"list", "0 1\n1 2\n", path, "an edge list"}};
}

/// The same with other bytes in place of each line's end.
std::vector<found> with_line_ends(std::vector<found> all, std::string const& end) {
  for (found& each : all) {
    std::string made;
    for (char const byte : each.text) made += byte == '\n' ? end : std::string(1, byte);
    each.text = made;
  }
  return all;
}

TEST(load_as_found, a_byte_order_mark_comes_first) {
  std::string const mark = "\xef\xbb\xbf";
  for (std::string const end : {"\n", "\r\n", "\r"}) {
    auto all = with_line_ends(one_of_each_format(), end);
    for (found& each : all) each.text = mark + each.text;
    expect(all);
  }
  for (found const& each : one_of_each_format()) {  // a second one is no part of any format
    EXPECT_NE(refusal(each.name, mark + mark + each.text), "") << each.name;
    EXPECT_NE(refusal(each.name, each.text + mark + each.text), "") << each.name;
    EXPECT_NE(refusal(each.name, gzip(mark + each.text) + gzip(mark + each.text)), "") << each.name;
    EXPECT_NE(refusal(each.name, mark), "") << each.name;
  }
}

TEST(load_as_found, lines_end_in_any_of_three_ways) {
  expect(with_line_ends(one_of_each_format(), "\r\n"));
  expect(with_line_ends(one_of_each_format(), "\r"));
  expect({{"twice.el", "0 1\r\r\n1 2\r\r\n", path},  // text that was translated twice
          {"last.el", "0 1\r1 2", path},
          {"one.el", "0 1\r", rows({{1}, {}})},
          {"inside.el", "0 1\n# a\rb\n1 2\n", path}});
  EXPECT_EQ(refusal("a.el", "0 1\r1 2\rx 3\r"),
            "a.el:3: the vertex id `x` is not a whole number; if this is a heading, "
            "begin it with #");
  std::string large;
  for (int edge = 0; edge < 100'000; ++edge) large += "0 1\r";  // over a block of text
  EXPECT_EQ(read("large.el", large).graph.edges(), 100'000U);
}

TEST(load_as_found, a_banner_in_any_case) {
  std::string const entries = "% c\n3 3 2\n1 2\n2 3\n";
  for (std::string const banner :
       {"%%matrixmarket matrix coordinate pattern general\n", "%%MATRIXMARKET MATRIX COORDINATE PATTERN GENERAL\n",
        "%MatrixMarket matrix coordinate pattern general\n",
        "%%MatrixMarket\tmatrix  coordinate pattern general \r\n"}) {
    expect({{"a.mtx", banner + entries, path}, {"a.txt", banner + entries, path, "Matrix Market"}});
  }
  EXPECT_NE(refusal("a.mtx", "%%%MatrixMarket matrix coordinate pattern general\n" + entries), "");
  EXPECT_NE(refusal("a.mtx", "MatrixMarket matrix coordinate pattern general\n" + entries), "");
}

TEST(load_as_found, two_sets_of_vertices_are_told) {
  for (std::string const first : {"% bip\n", "% bip unweighted\n", "%\tbip weighted \r\n"}) {
    auto const notes = read("out.el", first + "% 3 2 2\n1 1\n2 1\n").notes;
    ASSERT_EQ(notes.size(), 1U) << first;
    EXPECT_NE(notes[0].find("each column counts vertices of its own (`bip`)"), std::string::npos) << notes[0];
  }
  for (std::string const first : {"# bip\n", "% asym\n", "%bip\n", "% x bip\n"})
    EXPECT_TRUE(read("out.el", first + "1 1\n2 1\n").notes.empty()) << first;
}

TEST(load_as_found, data_of_networkx_is_named) {
  std::string const says =
      "`{` after the edge, as networkx writes its data: write the list with data=False, or by "
      "write_weighted_edgelist";
  EXPECT_EQ(refusal("a.el", "0 1 {}\n1 2 {}\n"), "a.el:1: " + says);
  EXPECT_EQ(refusal("a.wel", "0 1 2\n1 2 {}\n"), "a.wel:2: " + says);
  EXPECT_EQ(refusal("a.wel", "0 1 {'weight': 3.0, 'colour': 'red'}\n"), "a.wel:1: " + says);
  for (std::string const data : {"{}", "{'weight': 3.0}", "{\"a\": 1}"})
    EXPECT_EQ(refusal("a.edgelist", "# by networkx\n0 1 " + data + "\n"), "a.edgelist: " + says) << data;
  EXPECT_EQ(refusal("a.wel", "0 1 x{\n", {}),
            "a.wel:1: the edge from 0 to 1: the weight `x{` is not a finite number that "
            "fits a float");
}

TEST(load_as_found, a_first_line_that_may_count_is_told) {
  auto const told = [](std::string const& name, std::string const& text) {
    auto const notes = read(name, text).notes;
    return !notes.empty() && notes.back().find("may be the number of vertices and of edges") != std::string::npos;
  };
  EXPECT_TRUE(told("a.el", "3 2\n0 1\n1 2\n"));
  EXPECT_TRUE(told("a.el", "# x\n\n3,4\n0,1\n1,2\n2,0\n2,1\n"));
  EXPECT_TRUE(told("a.txt", "3 3\n1 2\n2 3\n3 1\n"));
  EXPECT_TRUE(told("a.wel", "3 3 2\n0 1 5\n1 2 6\n"));
  EXPECT_TRUE(told("a.wel", "3 2 0\n0 1 5\n1 2 6\n"));
  EXPECT_TRUE(told("a.el.gz", gzip("3 2\n0 1\n1 2\n")));
  EXPECT_FALSE(told("a.el", "0 1\n1 2\n")) << "too short to tell";
  EXPECT_FALSE(told("a.el", "3 1\n0 1\n1 2\n"));
  EXPECT_FALSE(told("a.el", "3 2\n0 1\n1 4\n")) << "another vertex is larger";
  EXPECT_FALSE(told("a.el", "0 2\n2 1\n1 0\n")) << "no graph has 0 vertices";
  EXPECT_FALSE(told("a.el", "# 3 2\n0 1\n1 2\n3 1\n"));
  EXPECT_FALSE(told("a.mtx", matrix + "pattern general\n3 3 3\n3 2\n1 2\n2 3\n"));
  EXPECT_EQ(read("a.el", "3 2\n0 1\n1 2\n").graph.edges(), 3U) << "it is read as an edge";
}

TEST(load_as_found, what_holds_no_graph_is_named) {
  std::string tar = "A/A.mtx" + std::string(250, '\0') + "ustar" + std::string(300, '\0');
  for (std::string const name : {"a.el", "a.mtx", "a.gr", "a.graph", "a.tar.gz"}) {
    EXPECT_EQ(refusal(name, gzip(tar)), name + ": is a tar archive: unpack it, and give one of its files");
    EXPECT_EQ(refusal(name, "<!DOCTYPE html>\n<html>"),
              name + ": is a web page, as a failed download leaves: fetch the file again");
    EXPECT_EQ(refusal(name, "\x93NUMPY\1\0v\0{}"),
              name +
                  ": is a file of NumPy: save it as text, for example: numpy.savetxt(OUT, numpy.load(FILE), "
                  "delimiter=',')");
  }
}

TEST(load_as_found, lists_without_directions) {
  load_options const both{.lists = list_edges::both_ways};
  EXPECT_TRUE(read("a.el", "0 1\n1 2\n", both).graph == rows({{1}, {0, 2}, {1}}));
  EXPECT_TRUE(read("loops.el", "0 0\n0 1\n", both).graph == rows({{0, 1}, {0}}));
  EXPECT_TRUE(read("a.wel", "0 1 2\n", both).graph == rows({{1}, {0}}, {2, 2}));
  EXPECT_TRUE(read("a.csv", "0,1\n", both).graph == rows({{1}, {0}}));
  load_options once = both;
  once.symmetric = symmetric_entries::once;
  EXPECT_TRUE(read("a.el", "0 1\n", once).graph == rows({{1}, {}}));
  load_options few = both;
  few.max_edges = 3;
  EXPECT_EQ(refusal("a.el", "0 1\n1 2\n", few), "a.el: holds more edges than the limit max_edges = 1");
  EXPECT_NE(refusal("a.mtx", matrix + "pattern general\n2 2 1\n1 2\n", both).find("only the edges of a list"),
            std::string::npos);
}

TEST(load_as_found, metis) {
  csr const graph = rows({{1, 2}, {0}, {0}});
  expect({{"plain.graph", "% c\n3 2\n2 3\n1\n% between\n1\n", graph},
          {"isolated.graph", "4 1\n\n3\n2\n\n", rows({{}, {2}, {1}, {}})},
          {"comments.graph", " % c\n3 2\n\t% c\n2 3\n1\n  %\n1\n", graph},
          {"weights.graph", "3 2 001\n2 5 3 6\n1 5\n1 6\n\n \n", rows({{1, 2}, {0}, {0}}, {5, 6, 5, 6})},
          {"vertex weights.graph", "3 2 10\n9 2 3\n9 1\n9 1\n", graph},
          {"two weights.graph", "3 2 010 2\n9 8 2 3\n9 8 1\n9 8 1\n", graph},
          {"all.graph", "3 2 111 1\r\n7 9 2 5 3 6\r\n7 9 1 5\r\n7 9 1 6", rows({{1, 2}, {0}, {0}}, {5, 6, 5, 6})}});
  EXPECT_EQ(read("a.graph", "2 1\n2\n1\n").first_id, 1U);
  std::string star = "100001 100000\n";  // one line of half a megabyte
  for (int leaf = 2; leaf <= 100'001; ++leaf) star += std::to_string(leaf) + " ";
  for (int leaf = 2; leaf <= 100'001; ++leaf) star += "\n1";
  EXPECT_EQ(read("star.graph", star).graph.edges(), 200'000U);
}

TEST(load_as_found, edges_of_metis_are_listed_by_both_vertices) {
  std::string const says =
      "a.graph: lists an edge by one of its vertices alone, but METIS lists each by both: edges of "
      "one direction are for an edge list (.el)";
  EXPECT_EQ(refusal("a.graph", "3 1\n2 3\n\n\n"), says) << "two edges of one way make one of both by their number";
  EXPECT_EQ(refusal("a.graph", "3 1\n2\n3\n\n"), says);
  EXPECT_EQ(refusal("a.graph", "2 1\n2 2\n\n"), says);
  EXPECT_EQ(refusal("a.graph", "4 2\n2\n3\n4\n1\n"), says) << "a circle";
  EXPECT_EQ(refusal("a.graph", "4 2 1\n2 5\n1 5 3 5\n4 5\n\n"), says);
  EXPECT_EQ(refusal("a.graph", "2 1\n1\n2\n"), "") << "loops are listed once";
  EXPECT_EQ(refusal("a.graph", "2 2\n2 2\n1 1\n"), "") << "twice, by both";
}

TEST(load_as_found, weights_that_nobody_needs) {
  load_options const skip{.weights = file_weights::skipped};
  for (std::string const weight : {"nan", "1e39", "1e-50", "-inf", "1e999999", "100000001", "-7", "+.5e-400"}) {
    loaded_graph const made = read("a.wel", "0 1 " + weight + "\n1 2 1\n", skip);
    EXPECT_TRUE(made.graph == path) << weight;
    EXPECT_TRUE(made.weighted && made.notes.empty());
    EXPECT_TRUE(read("a.gr", "p sp 3 2\na 1 2 " + weight + "\na 2 3 1\n", skip).graph == path) << weight;
    EXPECT_TRUE(read("a.mtx", matrix + "real general\n3 3 2\n1 2 " + weight + "\n2 3 1\n", skip).graph == path);
    EXPECT_EQ(read("a.graph", "2 1 1\n2 " + weight + "\n1 1\n", skip).graph.edges(), 2U) << weight;
  }
  EXPECT_EQ(refusal("a.wel", "0 1 heavy\n", skip), "a.wel:1: the edge from 0 to 1: the weight `heavy` is not a number");
}

TEST(load_as_found, weights_too_small_for_a_float_are_zero) {
  for (auto const kind : {file_weights::kept, file_weights::lengths}) {
    for (std::string const weight : {"1e-50", "1e-310", "5e-324", "1e-400", "0.1e-999999"}) {
      EXPECT_TRUE(read("a.wel", "0 1 " + weight + "\n", {.weights = kind}).graph == rows({{1}, {}}, {0})) << weight;
    }
    EXPECT_GT(read("a.wel", "0 1 1e-40\n", {.weights = kind}).graph.weights[0], 0) << "which floats hold";
  }
}

TEST(load_as_found, weights_that_are_no_lengths) {
  load_options const lengths{.weights = file_weights::lengths};
  std::string const range = ": a weight must be from 0 to 2^96";
  EXPECT_EQ(refusal("g.gr", "p sp 4 2\na 1 2 3\na 3 4 -1\n", lengths),
            "g.gr:3: the edge from 3 to 4: the weight `-1` is negative" + range);
  for (auto const& [weight, says] : {std::pair<std::string, std::string>{"-1e39", "is negative" + range},
                                     {"-1e-50", "is negative" + range},
                                     {"1e30", "is too large" + range},
                                     {"1e39", "is not a finite number that fits a float"},
                                     {"nan", "is not a finite number that fits a float"}}) {
    EXPECT_EQ(refusal("g.wel", "0 1 1\n1 2 " + weight + "\n", lengths),
              "g.wel:2: the edge from 1 to 2: the weight `" + weight + "` " + says);
  }
  EXPECT_EQ(read("g.wel", "0 1 -0\n1 2 7e28\n", lengths).graph.edges(), 2U);
}

TEST(load_as_found, fields_and_triangles_of_matrix_market) {
  expect({{"a.mtx", matrix + "unsigned-integer general\n3 3 2\n1 2 5\n2 3 7\n", rows({{1}, {2}, {}}, {5, 7})},
          {"b.mtx", matrix + "Unsigned-Integer symmetric\n2 2 1\n2 1 5\n", rows({{1}, {0}}, {5, 5})},
          {"upper.mtx", matrix + "real symmetric\n3 3 3\n1 2 1.0\n2 3 2.0\n3 3 4\n",
           rows({{1}, {0, 2}, {1, 2}}, {1, 1, 2, 2, 4})},
          {"diagonal.mtx", matrix + "pattern symmetric\n2 2 2\n1 1\n2 2\n", rows({{0}, {1}})},
          {"lower.mtx", matrix + "pattern symmetric\n3 3 2\n2 1\n3 2\n", rows({{1}, {0, 2}, {1}})}});
  std::string body;
  for (int row = 2; row <= 60'000; ++row) body += std::to_string(row - 1) + " " + std::to_string(row) + "\n";
  std::string const head = matrix + "pattern symmetric\n60000 60000 ";
  EXPECT_EQ(read("far.mtx", head + "59999\n" + body).graph.edges(), 119'998U);
  EXPECT_NE(refusal("far.mtx", head + "60000\n" + body + "2 1\n").find("far.mtx:60002: entry (2, 1) is below"),
            std::string::npos);
}

TEST(load_as_found, whole_weights_that_are_not_exact_are_told) {
  for (std::string const weight : {"100000001", "-16777217", "16777217.0", "100000001e0", "9007199254740991"}) {
    loaded_graph const made = read("a.wel", "0 1 1\n1 2 " + weight + "\n0 1 " + weight + "\n");
    EXPECT_EQ(made.rounded_weights, 2U) << weight;
    ASSERT_EQ(made.notes.size(), 1U) << weight;
    EXPECT_NE(made.notes[0].find("line 2 says " + weight + ", taken as "), std::string::npos) << made.notes[0];
  }
  for (std::string const weight : {"16777216", "100000000", "1e9", "0.1", "33554433.5", "3e38"})
    EXPECT_EQ(read("a.wel", "0 1 " + weight + "\n").notes.size(), 0U) << weight;
  EXPECT_NE(read("b.graph", "2 1 1\n2 100000001\n1 100000001\n").notes.at(0).find("taken as 100000000"),
            std::string::npos);
}

}  // namespace
}  // namespace lull
