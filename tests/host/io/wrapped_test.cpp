// SPDX-License-Identifier: Apache-2.0
#include <lull/host/io/wrapped.hpp>

#include <gtest/gtest.h>

namespace lull {
namespace {

TEST(Wrapped, BreaksBetweenWordsWhereALineWouldBeWider) {
  EXPECT_EQ(wrapped("one two three", 7), "one two\nthree\n");
  EXPECT_EQ(wrapped("one two three", 6), "one\ntwo\nthree\n");
  EXPECT_EQ(wrapped("one two three", 80), "one two three\n");
  EXPECT_EQ(wrapped("", 80), "\n");
}

TEST(Wrapped, IndentsAllLinesButTheFirst) { EXPECT_EQ(wrapped("one two three", 9, 2), "one two\n  three\n"); }

TEST(Wrapped, CountsCharactersAndNotBytes) {
  EXPECT_EQ(columns("µs…"), 3U);
  EXPECT_EQ(wrapped("µµ µµ µµ", 5), "µµ µµ\nµµ\n");
}

TEST(Wrapped, BreaksAWordThatIsWiderThanALine) {
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
