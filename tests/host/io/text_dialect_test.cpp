// SPDX-License-Identifier: Apache-2.0
// What a text could mean: how it is divided, whether its first line names the columns, and what is doubtful.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include <lull/host/error.hpp>
#include <lull/host/io/delimited_text.hpp>
#include <lull/tests/support/test_folder.hpp>

namespace lull {
namespace {

using texts = std::vector<std::string>;

std::string repeated(int times, std::string const& text) {
  std::string made;
  for (int i = 0; i < times; ++i) made += text;
  return made;
}

std::string replaced(std::string text, std::string const& from, std::string const& to) {
  for (std::size_t at = 0; (at = text.find(from, at)) != std::string::npos; at += to.size())
    text.replace(at, from.size(), to);
  return text;
}

/// The rows of a text, with their numbers of a column read; a refusal's text in the end.
struct text_rows {
  std::string taken{};
  std::vector<std::vector<std::string>> rows{};
  std::string refused{};
};

text_rows read(std::string const& text, dialect_options const& given = {}) {
  test::test_folder const folder;
  text_rows made;
  try {
    delimited_text reader{folder.write("rows.txt", text), given, {}};
    made.taken = to_string(reader.dialect()) + "; " + reader.dialect().doubt;
    text_record record;
    while (reader.next(record)) {
      made.rows.emplace_back(record.fields.begin(), record.fields.end());
      float value = 0;
      for (auto const field : record.fields) reader.read_number(field, value);
    }
  } catch (error const& refused) {
    made.refused = refused.what();
  }
  return made;
}

bool has(std::string const& text, std::string const& part) { return text.find(part) != text.npos; }

std::string const hundred = repeated(110, "300\t0\t0\n");

TEST(text_dialect, a_decimal_comma_after_the_sample_is_asked_for) {
  for (auto const& [text, says] :
       {std::pair{"income\tage\tsold\n" + hundred + "1,100\t0\t0\n", ":112: column 1 (income): `1,100`"},
        std::pair{hundred + "1\t2,5\t0\n", ":111: column 2: `2,5`"},
        std::pair{replaced(hundred, "\t", ";") + "1;2;-3,25\n", ":111: column 3: `-3,25`"},
        std::pair{replaced(hundred, "\t", "|") + "\"1,5\"|2|3\n", ":111: column 1: `1,5`"},
        std::pair{replaced(hundred, "\t", " ") + "1 2,125 3\n", ":111: column 2: `2,125`"},
        std::pair{hundred + "1.100\t2\t0\n", ":111: column 1: `1.100`"}}) {
    std::string const refused = read(text).refused;
    EXPECT_TRUE(has(refused, says)) << refused;
    EXPECT_TRUE(has(refused, "give decimal=")) << refused;
    EXPECT_TRUE(read(text, {.decimal = has(says, "1.100") ? '.' : ','}).refused.empty());
  }
  for (std::string const& last : texts{"2.5\t3\t0\n", "0.125\t3\t0\n", "1234.567\t3\t0\n", "a,b\t3\t0\n", "1e-3\t3\t0\n"})
    EXPECT_EQ(read(hundred + last).refused, "") << last;
}

TEST(text_dialect, signs_of_thousands_are_doubted) {
  for (std::string const& text :
       texts{"1,100\t20\n1,250\t30\n", "a;b\n1.234;2.500\n3.100;2.750\n", "1,100|7\n-12,200|8\n900|9\n",
        "x::1.100\ny::2.200\n", "1 2,500 3\n4 3,500 5\n"}) {
    auto const found = read(text);
    EXPECT_TRUE(has(found.taken, "separates thousands")) << text << found.taken;
    EXPECT_EQ(found.refused, "");
  }
  EXPECT_TRUE(has(read("1,100\t2\n").taken, "1,100"));
  EXPECT_TRUE(has(read("a;b\n1.234;2.500\n").taken, "decimal points"));
  for (std::string const& text : texts{"1,100\t2,5\n", "1,100\t2\n1,20\t2\n", "0,125\t2\n0,250\t3\n", "1234,567\t1\n",
                                 "1.100,2.200\n", "1\t2\n", "1,100e3\t2\n"})
    EXPECT_FALSE(has(read(text).taken, "thousands")) << text;
  EXPECT_FALSE(has(read("1,100\t2\n", {.decimal = ','}).taken, "thousands"));
  EXPECT_TRUE(has(read("1.5;2\n").taken, "decimal points"));
  EXPECT_FALSE(has(read("1.5,2\n").taken, "decimal points"));
}


}  // namespace
}  // namespace lull
