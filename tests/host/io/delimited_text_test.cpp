// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <filesystem>
#include <random>
#include <string>
#include <vector>

#include <lull/host/error.hpp>
#include <lull/host/io/atomic_file.hpp>
#include <lull/host/io/delimited_text.hpp>
#include <lull/tests/support/test_folder.hpp>

namespace lull {
namespace {

using fields = std::vector<std::string>;

fields divided(std::string const& text, std::string const& delimiter) {
  text_record record;
  divide_record(text.data(), text.data() + text.size(), delimiter, record);
  if (record.end == nullptr) return {"open"};
  if (record.stray != 0) return {"stray " + std::to_string(record.stray)};
  return {record.fields.begin(), record.fields.end()};
}

TEST(divide_record, keeps_to_rfc_4180) {
  EXPECT_EQ(divided("a,b,c\n", ","), (fields{"a", "b", "c"}));
  EXPECT_EQ(divided("a,,c\r\n", ","), (fields{"a", "", "c"}));
  EXPECT_EQ(divided(",\n", ","), (fields{"", ""}));
  EXPECT_EQ(divided(" a b , \"c,d\" ,e\n", ","), (fields{"a b", "c,d", "e"}));
  EXPECT_EQ(divided("\"a \"\"b\"\"\",\"\"\"\",\"\"\n", ","), (fields{"a \"b\"", "\"", ""}));
  EXPECT_EQ(divided("\"a\nb\",c\n", ","), (fields{"a\nb", "c"}));
  EXPECT_EQ(divided("5\" pipe,6\n", ","), (fields{"5\" pipe", "6"}));
  EXPECT_EQ(divided("a,\"b\n", ","), (fields{"open"}));
  EXPECT_EQ(divided("a,\"b\"c,d\n", ","), (fields{"stray 2"}));
}

TEST(divide_record, takes_each_delimiter) {
  EXPECT_EQ(divided("a::b:c::\n", "::"), (fields{"a", "b:c", ""}));
  EXPECT_EQ(divided("  a \t b  \r\n", " "), (fields{"a", "b"}));
  EXPECT_EQ(divided("a\t\tb c\t\n", "\t"), (fields{"a", "", "b c", ""}));
  EXPECT_EQ(divided("a|b,c\n", "|"), (fields{"a", "b,c"}));
}

TEST(find_dialect, takes_the_delimiter_that_gives_most_numbers) {
  auto const delimiter = [](std::string const& text) { return find_dialect(text, {}).delimiter; };
  EXPECT_EQ(delimiter("1,2\n3,4\n"), ",");
  EXPECT_EQ(delimiter("1;2,5\n3;4,5\n"), ";");
  EXPECT_EQ(delimiter("1,2;3,4\n5,6;7,8\n"), ";");
  EXPECT_EQ(delimiter("1 2,5 3\n4 5,5 6\n"), " ");
  EXPECT_EQ(delimiter("1, 2, 3\n4, 5, 6\n"), ",");
  EXPECT_EQ(delimiter("1::2::3\n4::5::6\n"), "::");
  EXPECT_EQ(delimiter("x,1,\"a;b;c\"\ny,2,\"d;e;f\"\n"), ",");
  EXPECT_EQ(delimiter("7\n8\n"), ",");
  EXPECT_EQ(delimiter("7\t\n8\n"), ",") << "no two fields";
  EXPECT_EQ(delimiter("7;\n8;\n"), ",");
  for (std::string const sign : {",", ";", "\t", "|"}) {  // and numbers within text
    EXPECT_EQ(delimiter("1" + sign + "room 5 of 9" + sign + "3\n4" + sign + "room 6 of 9" + sign + "7\n"), sign);
    EXPECT_EQ(delimiter("a" + sign + "the 5 th\nb" + sign + "6\n"), sign);
  }
  EXPECT_EQ(delimiter("name a b\nx 1 2\ny 3 4\n"), " ");
  EXPECT_EQ(delimiter("a b c\n1 2 3,5\n4 5 6,5\n"), " ");
}

TEST(find_column, goes_by_name_and_then_by_number) {
  text_dialect const named = find_dialect("userId,movie id,2\n1,2,3\n4,5,6\n", {.header = true});
  EXPECT_EQ(find_column(named, "userId"), 0U);
  EXPECT_EQ(find_column(named, "Movie_ID"), 1U);
  EXPECT_EQ(find_column(named, "2"), 2U) << "a name";
  EXPECT_EQ(find_column(named, "1"), 0U);
  EXPECT_EQ(find_column(named, "-2"), 1U);
  EXPECT_FALSE(find_column(named, "0"));
  EXPECT_FALSE(find_column(named, "4"));
  EXPECT_FALSE(find_column(named, "user"));
}

/// Whatever the bytes are: rows of one width, or an error with a line that exists.
TEST(delimited_text, reads_or_refuses_any_bytes) {
  test::test_folder const folder;
  std::mt19937_64 random{7};
  std::string const bytes = ",;\t|: \"\"\r\n\n0123.-ae#%\xef\xbb\xbf";
  std::uint64_t rows = 0;
  for (int trial = 0; trial < 2000; ++trial) {
    std::string text;
    for (auto left = random() % 60; left != 0; --left) text += bytes[random() % bytes.size()];
    auto const path = folder.path() / "any.csv";
    write_file(path, text);
    try {
      delimited_text reader{path.string(), {}, {.max_bytes = 1000, .max_line_bytes = 40}};
      text_record record;
      std::size_t width = 0;
      while (reader.next(record)) {
        width = width == 0 ? record.fields.size() : width;
        ASSERT_EQ(record.fields.size(), width) << text;
        ++rows;
      }
    } catch (input_error const& refused) {
      EXPECT_LE(refused.line(), text.size() + 1) << text;
    }
  }
  EXPECT_GT(rows, 1000U);
}

}  // namespace
}  // namespace lull
