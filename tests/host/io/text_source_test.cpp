// SPDX-License-Identifier: Apache-2.0
// How a file is unpacked, how many lines it is expected to have, and byte order marks; graph/load/load_test.cpp and the
// tests beside it hold the rest.
#include <lull/host/io/text_source.hpp>

#include <algorithm>
#include <fstream>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <zlib.h>

#include <lull/host/io/foreign_file.hpp>
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

TEST(text_source, names_what_holds_no_text) {
  for (std::string const& bytes : {std::string{"BZh91AY&SY"}, std::string{"PK\3\4"}, std::string{"\x1f\x9d\x90"}})
    EXPECT_EQ(text_of("a.gz", bytes), foreign_file_fault(bytes));
  for (std::string const& bytes : {gzip("1 2\n"), gzip(""), gzip("1 2\n") + "garbage", std::string{"\x1f\x8b"}})
    EXPECT_EQ(text_of("a.gz", gzip(bytes)), "is packed with gzip twice: unpack it once");
  std::string const page = "<!doctype html>\n";
  for (std::string const& bytes : {page, gzip(page), gzip("") + gzip(page)})
    EXPECT_EQ(text_of("a.csv", bytes), foreign_file_fault(page));
}

TEST(text_source, takes_line_ends_of_the_first_line) {
  test::test_folder const folder;
  auto const taken = [&](std::string const& bytes) {
    text_source source{folder.write("text", bytes), 1UL << 30};
    source.take_line_ends();
    std::string read;
    for (text_block block; source.next(block);) read += block.text();
    return read;
  };
  EXPECT_EQ(taken("a\rb\r"), "a\nb\n");
  EXPECT_EQ(taken("\ra"), "\na\n");
  EXPECT_EQ(taken(gzip("a\rb")), "a\nb\n");
  EXPECT_EQ(taken("a\r\nb\rc\n"), "a\r\nb\rc\n");
  EXPECT_EQ(taken("a\nb\rc\n"), "a\nb\rc\n");
  EXPECT_EQ(taken("a\r"), "a\r\n") << "which readers of lines take as CRLF";
  EXPECT_EQ(taken(""), "");
  std::string const line(text_block_bytes / 2 - 1, 'a');
  EXPECT_EQ(taken(line + "\r\nb\n"), line + "\r\nb\n") << "cut between the two";
  std::string many;
  while (many.size() < 2 * text_block_bytes) many += "abc\r";
  std::string const read = taken(many);
  EXPECT_EQ(std::count(read.begin(), read.end(), '\n'), std::ssize(many) / 4);
  EXPECT_EQ(read.find('\r'), read.npos);
}

TEST(text_source, a_block_grows_for_a_line_that_may_be_long) {
  test::test_folder const folder;
  for (std::string const& bytes : {std::string(3 * text_block_bytes, 'x') + "\ny\n", std::string("y\n")}) {
    text_source source{folder.write("text", bytes), 1UL << 30};
    text_block block{.max_bytes = 4 * text_block_bytes};
    std::string read;
    for (; source.next(block);) read += block.text();
    EXPECT_TRUE(read == bytes) << bytes.size();
    if (bytes.size() > 2) {
      EXPECT_EQ(block.bytes.size(), 4 * text_block_bytes);
    }
  }
  text_source source{folder.write("text", std::string(5 * text_block_bytes, 'x')), 1UL << 30};
  text_block block{.max_bytes = 4 * text_block_bytes};
  EXPECT_TRUE(source.next(block));
  EXPECT_EQ(block.size, 4 * text_block_bytes) << "and ends there, with a line end";
  EXPECT_FALSE(source.next(block));
}

TEST(text_source, a_block_is_no_larger_than_its_file_needs) {
  test::test_folder const folder;
  for (std::size_t const bytes : {std::size_t{1}, std::size_t{5000}, text_block_bytes - 3, text_block_bytes - 2,
                                  text_block_bytes - 1, 3 * text_block_bytes}) {
    std::string text;
    while (text.size() < bytes) text += std::to_string(text.size()) + "\n";
    text_source source{folder.write("text", text), 1UL << 30};
    EXPECT_LE(source.block_bytes(16 * text_block_bytes), std::max<std::size_t>(text.size() + 2, 4096));
    text_block block;
    std::string read;
    for (; source.next(block);) read += block.text();
    EXPECT_TRUE(read == text) << bytes;
    EXPECT_LE(block.bytes.size(), std::max<std::size_t>(std::min(text.size() + 2, text_block_bytes), 4096));
  }
  text_source const packed{folder.write("text.gz", gzip("1\n")), 1UL << 30};
  EXPECT_EQ(packed.block_bytes(text_block_bytes), text_block_bytes) << "its size tells nothing of the text's";
}

TEST(text_source, a_file_that_grows_is_read_on) {
  test::test_folder const folder;
  for (std::size_t const peeked : {std::size_t{0}, std::size_t{1}, std::size_t{9000}}) {
    std::string const path = folder.write("text", "1\n");
    text_source source{path, 1UL << 30};
    text_block block{.bytes = std::vector<char>(source.block_bytes(text_block_bytes))};
    std::string more;
    while (more.size() < 3 * text_block_bytes) more += "abc\n";
    std::ofstream{path, std::ios::app} << more;
    if (peeked != 0) source.peek(peeked);
    std::string read;
    for (; source.next(block);) read += block.text();
    EXPECT_TRUE(read == "1\n" + more) << peeked;
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
