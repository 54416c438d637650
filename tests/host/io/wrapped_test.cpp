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

}  // namespace
}  // namespace lull
