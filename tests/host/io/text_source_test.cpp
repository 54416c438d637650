// SPDX-License-Identifier: Apache-2.0
// How many lines a text is expected to have; graph/load_test.cpp and the tests beside it hold the rest.
#include <lull/host/io/text_source.hpp>

#include <string>

#include <gtest/gtest.h>

#include <lull/tests/support/test_folder.hpp>

namespace lull {
namespace {

constexpr std::size_t part = 1UL << 17;

std::string lines(std::string const& line) {
  std::string text;
  while (text.size() < part) text += line;
  return text;
}

std::uint64_t expected(std::string const& text, std::string_view marks = "\n") {
  test::test_folder const folder;
  text_source source{folder.write("text", text), compression::none, 1UL << 30};
  std::uint64_t const found = source.expect(marks);
  std::string read;
  for (text_block block; source.next(block);) read += block.text();
  EXPECT_TRUE(read == text) << "samples must not move the place where reading goes on";
  return found;
}

TEST(text_source, expects_the_lines_that_a_small_text_has) {
  EXPECT_EQ(expected(""), 0U);
  EXPECT_EQ(expected("1,2\n3,4\n"), 2U);
  EXPECT_EQ(expected("1,2\n3,4\n", ",\n"), 4U);
}

TEST(text_source, expects_no_more_lines_than_the_sample_with_the_fewest_tells) {
  std::string const shorter = lines("abc\n");
  std::string const longer = lines("abcdefg\n");
  EXPECT_EQ(expected(shorter + shorter + shorter), 3 * part / 4);
  EXPECT_EQ(expected(longer + shorter + shorter), 3 * part / 8);
  EXPECT_EQ(expected(shorter + longer + shorter), 3 * part / 8);
  EXPECT_EQ(expected(shorter + shorter + longer), 3 * part / 8);
}

}  // namespace
}  // namespace lull
