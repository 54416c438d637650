// SPDX-License-Identifier: Apache-2.0
// How a file is unpacked, how many lines it is expected to have, and byte order marks; graph/load/load_test.cpp and the
// tests beside it hold the rest.
#include <lull/host/io/text_source.hpp>

#include <string>
#include <utility>

#include <gtest/gtest.h>
#include <zlib.h>

#include <lull/tests/support/gzip.hpp>
#include <lull/tests/support/message_of.hpp>
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
  text_source source{folder.write("text", text), 1UL << 30};
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

TEST(text_source, skips_a_byte_order_mark_at_the_beginning) {
  test::test_folder const folder;
  std::string const mark{byte_order_mark};
  std::string const text = lines("abc\n") + lines("abc\n") + lines("abc\n");  // more than a block
  for (std::string const& each : {std::string{"1,2\n"}, std::string{"\n"}, std::string{"\n1\n"}, text}) {
    EXPECT_TRUE(text_of("text", mark + each) == each) << each.size();
    EXPECT_TRUE(text_of("text.gz", gzip(mark + each)) == each) << each.size();
    text_source source{folder.write("text", mark + each), 1UL << 30};
    source.expect("\n");
    text_block block;
    ASSERT_TRUE(source.next(block));
    EXPECT_FALSE(block.text().starts_with(mark));
  }
  EXPECT_EQ(text_of("text", mark), "");
  EXPECT_EQ(text_of("text", mark.substr(0, 2)), mark.substr(0, 2) + "\n");
}

TEST(text_source, skips_no_other_byte_order_mark) {
  std::string const mark{byte_order_mark};
  for (std::string const& each : {mark + "1\n", "1\n" + mark + "2\n", "1" + mark + "\n", "1\n" + mark})
    EXPECT_TRUE(text_of("text", mark + each).starts_with(each)) << each;
  EXPECT_EQ(byte_order_mark_fault("a name"), "");
  for (std::string const& each : {mark, mark + "name", "na" + mark + "me", "name" + mark})
    EXPECT_NE(byte_order_mark_fault(each), "") << each;
  EXPECT_EQ(quote("0 " + mark + "1\t"), "`0 <byte order mark>1?`");
}

TEST(text_source, refuses_other_encodings_than_utf_8) {
  using namespace std::string_literals;
  for (std::string const& each : {"\xff\xfe"s + "0\0\n\0"s, "\xfe\xff"s + "\0000\0\n"s, "\xff\xfe\0\0"s + "0\0\0\0"s,
                                  "\0\0\xfe\xff\0\0\0"s + "0", "\xff\xfe"s}) {
    EXPECT_EQ(text_of("text", each), "is text in UTF-16 or UTF-32: save it as UTF-8");
    EXPECT_EQ(text_of("text", gzip(each)), "is text in UTF-16 or UTF-32: save it as UTF-8");
  }
}

}  // namespace
}  // namespace lull
