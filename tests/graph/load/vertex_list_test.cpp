// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <lull/graph/load/vertex_list.hpp>
#include <lull/host/error.hpp>
#include <lull/tests/graph/graph_file.hpp>
#include <string>
#include <utility>
#include <vector>

namespace lull {
namespace {

using list = std::vector<std::uint32_t>;

/// The message of what reading the text throws, or nothing.
std::string refusal(std::string const& text, std::uint64_t vertices = 10) {
  test::test_folder const folder;
  try {
    read_vertex_list(folder.write("list", text), vertices);
  } catch (input_error const& refused) {
    return refused.what();
  }
  return {};
}

TEST(vertex_list, has_the_order_of_the_file) {
  test::test_folder const folder;
  EXPECT_EQ(read_vertex_list(folder.write("a", "3\n0\n3\n"), 4), (list{3, 0, 3}));
  EXPECT_EQ(read_vertex_list(folder.write("b", "# first\n\n  7\t\r\n \n9"), 10), (list{7, 9}));
  EXPECT_EQ(read_vertex_list(folder.write("c.gz", test::gzip("5\n6\n")), 10), (list{5, 6}));
}

TEST(vertex_list, is_a_table_of_one_column) {
  test::test_folder const folder;
  for (auto const& [text, says] : {
           std::pair<std::string, std::string>{"3\n0\n7\n", ""},
           {"\xef\xbb\xbf"
            "3\n0\n7\n",
            ""},
           {"3\r0\r7\r", ""},
           {"3\r\n0\r\n7", ""},
           {"\"3\"\n\"0\"\n\"7\"\n", ""},
           {"% a comment\n3\n# another, of 5 words\n0\n\n7\n", ""},
           {"vertex\n3\n0\n7\n", "names in the first line; vertices are column 1 (vertex)"},
           {"\"node id\"\r3\r0\r7\r", "vertices are column 1 (node id)"},
           {",vertex\n0,3\n1,0\n2,7\n", "vertices are column 2 (vertex); left out: column 1"},
           {"index;source\n0;3\n1;0\n2;7\n",
            "separated by semicolons, names in the first line; vertices are column 2 "
            "(source); left out: column 1 (index)"},
       }) {
    std::string taken;
    EXPECT_EQ(read_vertex_list(folder.write("list", text), 10, 0, &taken), (list{3, 0, 7})) << text;
    EXPECT_TRUE(says.empty() ? taken.empty() : taken.ends_with(says)) << text << " → " << taken;
  }
}

TEST(vertex_list, refuses_what_is_no_vertex_with_the_line) {
  auto const expect = [](std::string const& text, std::string const& says) {
    auto const message = refusal(text);
    EXPECT_NE(message.find(says), std::string::npos) << text << "\n" << message;
  };
  expect("1\n10\n", "list:2: vertex 10 does not exist: the graph has vertices 0 to 9");
  expect("1\n\n-1\n", "list:3: `-1` is negative");
  expect("1\none\n", "list:2: `one` is not a whole number");
  expect("one\n", "names no vertex: write one id a line");
  expect("1 2\n", "list:1: one vertex a line: this one has 2 words or columns");
  expect("1,2\n", "list:1: one vertex a line: this one has 2 words or columns");
  expect("1\n2 3\n", "list:2: 2 columns instead of 1 as in line 1");
  expect("a,b\n1,2\n", "list:1: one vertex a line: this one has 2 words or columns");
  expect("1\n\"\"\n", "list:2: ");
  expect("99999999999999999999\n", "list:1: `99999999999999999999` has too many digits");
  expect(std::string(70'000, '1') + "\n", "list:1: a line of more than 65536 bytes");
  expect("", "names no vertex");
  expect("# none\n\n", "names no vertex");
}

TEST(vertex_list, refuses_files_it_cannot_read) {
  test::test_folder const folder;
  EXPECT_THROW(read_vertex_list(folder.at("none"), 10), input_error);
  EXPECT_THROW(read_vertex_list(folder.write("damaged.gz", test::gzip("1\n2\n") + "x"), 10), input_error);
}

TEST(vertex_list, has_a_limit) {
  std::string text;
  for (std::size_t i = 0; i < max_listed_vertices; ++i) text += "1\n";
  EXPECT_EQ(refusal(text), "");
  EXPECT_NE(refusal(text + "1\n").find("a list can name 1048576 vertices at most"), std::string::npos);
}

}  // namespace
}  // namespace lull
