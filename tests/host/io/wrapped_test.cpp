// SPDX-License-Identifier: Apache-2.0
#include <lull/host/io/wrapped.hpp>

#include <gtest/gtest.h>

namespace lull {
namespace {

TEST(wrapped, breaks_between_words_where_a_line_would_be_wider) {
  EXPECT_EQ(wrapped("one two three", 7), "one two\nthree\n");
  EXPECT_EQ(wrapped("one two three", 6), "one\ntwo\nthree\n");
  EXPECT_EQ(wrapped("one two three", 80), "one two three\n");
  EXPECT_EQ(wrapped("", 80), "\n");
}

TEST(wrapped, indents_all_lines_but_the_first) { EXPECT_EQ(wrapped("one two three", 9, 2), "one two\n  three\n"); }

TEST(wrapped, counts_characters_and_not_bytes) {
  EXPECT_EQ(columns("µs…"), 3U);
  EXPECT_EQ(wrapped("µµ µµ µµ", 5), "µµ µµ\nµµ\n");
}

TEST(wrapped, breaks_a_word_that_is_wider_than_a_line) {
  EXPECT_EQ(wrapped("a bcdefgh i", 4), "a\nbcde\nfgh\ni\n");
  EXPECT_EQ(wrapped("µµµµµ", 4, 2), "µµ\n  µµ\n  µ\n");
  EXPECT_EQ(wrapped("abcd efgh", 4), "abcd\nefgh\n");
}

TEST(right_aligned, fills_columns_and_not_bytes) {
  EXPECT_EQ(right_aligned("µs", 4), "  µs");
  EXPECT_EQ(right_aligned("long", 4), " long");
  EXPECT_EQ(right_aligned("", 2), "  ");
}

TEST(shortened, is_one_line_of_whole_characters) {
  EXPECT_EQ(shortened("fits", 4), "fits");
  EXPECT_EQ(shortened("a\n\x1b\x7f"
                      "b",
                      10),
            "a???b");
  EXPECT_EQ(shortened("ééééé", 4), "é...");
}

}  // namespace
}  // namespace lull
