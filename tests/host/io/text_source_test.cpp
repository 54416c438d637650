// SPDX-License-Identifier: Apache-2.0
// How a file is unpacked, and how many lines it is expected to have; graph/load/load_test.cpp and the tests beside it
// hold the rest.
#include <lull/host/io/text_source.hpp>

#include <string>
#include <utility>

#include <gtest/gtest.h>
#include <zlib.h>

#include <lull/tests/support/gzip.hpp>
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

std::string gzip(std::string_view text) { return test::gzip(text, Z_BEST_SPEED); }

/// The text of a file of this name with these bytes, or why it cannot be read.
std::string text_of(std::string const& name, std::string const& bytes) try {
  test::test_folder const folder;
  text_source source{folder.write(name, bytes), 1UL << 30};
  std::string read;
  for (text_block block; source.next(block);) read += block.text();
  return read;
} catch (text_error const& refused) {
  return refused.what();
}

TEST(text_source, knows_gzip_by_its_content) {
  std::string const text = "1 2\n3 4\n";
  for (std::string const name : {"a.txt", "a.gz", "a.GZ", "a", "a.csv.gz"}) {
    EXPECT_EQ(text_of(name, text), text) << name;
    EXPECT_EQ(text_of(name, gzip(text)), text) << name;
    EXPECT_EQ(text_of(name, gzip(text) + gzip(text)), text + text) << name;
  }
  EXPECT_EQ(text_of("a.gz", "\x1f"), "\x1f\n");  // begins as gzip, and is none
}

TEST(text_source, ignores_zeros_after_gzip_data) {
  std::string const packed = gzip("1 2\n");
  for (std::size_t const zeros : {1UL, 2UL, 511UL, 65'536UL, 200'000UL}) {
    EXPECT_EQ(text_of("a", packed + std::string(zeros, '\0')), "1 2\n") << zeros;
    EXPECT_EQ(text_of("a", gzip("") + packed + std::string(zeros, '\0')), "1 2\n") << zeros;
  }
}

TEST(text_source, calls_other_bytes_after_gzip_data_garbage) {
  std::string const packed = gzip("1 2\n");
  std::string const zeros(70'000, '\0');
  for (auto const& rest : {std::string{"junk"}, std::string{"\x1fjunk"}, zeros + "x", zeros + packed, std::string{"\n"},
                           packed + "junk"}) {
    EXPECT_EQ(text_of("a", packed + rest).substr(0, 37), "garbage after the end of the gzip dat") << rest.size();
  }
}

TEST(text_source, names_a_packing_that_it_does_not_read) {
  using namespace std::string_literals;
  for (auto const& [bytes, name] : {std::pair{"BZh91AY&SY"s, "bzip2"},
                                    {"\xfd"
                                     "7zXZ\0\0"s,
                                     "xz"},
                                    {"\x28\xb5\x2f\xfd\x04"s, "zstd"},
                                    {"PK\3\4\x14"s, "zip"}}) {
    EXPECT_EQ(text_of("a.gz", bytes), "is packed with "s + name + ": unpack it, or use gzip");
  }
}

}  // namespace
}  // namespace lull
