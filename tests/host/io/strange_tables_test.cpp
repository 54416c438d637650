// SPDX-License-Identifier: Apache-2.0
// Tables with a line that is no row: one that names the delimiter, a title, a comment, a total.
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include <lull/host/error.hpp>
#include <lull/host/io/delimited_text.hpp>
#include <lull/tests/support/test_folder.hpp>

namespace lull {
namespace {

using texts = std::vector<std::string>;

/// A text's dialect and names, its rows as one line each, and the refusal of one that is no row of numbers.
struct text_rows {
  std::string taken{};
  texts names{};
  texts rows{};
  bool row_names = false;
  std::string refused{};
};

text_rows read(std::string const& text, dialect_options const& given = {}) {
  test::test_folder const folder;
  text_rows made;
  try {
    delimited_text reader{folder.write("rows.txt", text), given, {}};
    made.taken = to_string(reader.dialect());
    for (text_column const& each : reader.dialect().columns) made.names.push_back(each.name);
    made.row_names = !reader.dialect().columns.empty() && is_row_number(reader.dialect().columns[0]);
    text_record record;
    while (reader.next(record)) {
      std::string& row = made.rows.emplace_back();
      for (auto const field : record.fields) row += (row.empty() ? "" : "|") + std::string{field};
      float value = 0;
      for (auto const field : record.fields) {
        if (field.empty() ||
            (reader.read_number(field, value) != number_reading::number && field != "x" && !made.row_names))
          reader.refuse(quote(field) + " is no number");
      }
    }
  } catch (error const& refused) {
    made.refused = refused.what();
  }
  return made;
}

bool has(std::string const& text, std::string const& part) { return text.find(part) != text.npos; }

TEST(strange_tables, a_first_line_may_name_the_delimiter) {
  for (auto const& [text, rows, taken] :
       {std::tuple{"sep=;\na;b\n1,5;2\n3;4\n", texts{"1,5|2", "3|4"},
                   "semicolons as its first line says, decimal commas"},
        std::tuple{"sep=,\r\na,b\r\n1,2\r\n", texts{"1|2"},
                   "commas as its first line says, names in the line after it"},
        std::tuple{"sep=\t\n1\t2\n3\t4\n", texts{"1|2", "3|4"}, "tabs as its first line says, no line of names"},
        std::tuple{"\xef\xbb\xbfSEP=|\na|b\n1|2\n", texts{"1|2"}, "bars as"},
        std::tuple{"\"sep=;\"\na;b\n1;2\n", texts{"1|2"}, "semicolons as"},
        std::tuple{"sep=;\ra;b\r1;2\r", texts{"1|2"}, "semicolons as"},
        std::tuple{"sep=;\n\n# x\n1;2\n", texts{"1|2"}, "semicolons as"}}) {
    auto const found = read(text);
    EXPECT_EQ(found.rows, rows) << text << found.refused;
    EXPECT_TRUE(has(found.taken, taken)) << found.taken;
  }
  EXPECT_EQ(read("sep=;\na;b\n1;2\n", {.delimiter = ";"}).rows.size(), 1U);
  EXPECT_TRUE(has(read("sep=;\na;b\n1;2\n", {.delimiter = ","}).refused, ":1: `sep=;` names another delimiter than"));
  for (std::string const& text : texts{"sep=^\na^b\n1^2\n", "sep=\n1,2\n", "sep=::\n1::2\n"})
    EXPECT_TRUE(has(read(text).refused, ":1: names a delimiter that no table may have here")) << text;
  EXPECT_TRUE(has(read("sep=;\na;b\n1;\n").refused, ":3: ")) << "lines are the file's";
  EXPECT_EQ(read("sep,a\n1,2\n").names, (texts{"sep", "a"}));
}

TEST(strange_tables, a_header_may_lack_the_name_of_row_names) {
  for (std::string const& text :
       texts{"\"a\" \"b\"\n\"1\" 1.5 2\n\"2\" 2.5 3\n", "a,b\n1,1.5,2\n2,2.5,3\n",
             "mpg cyl\nMazda 1.5 2\nDatsun 2.5 3\n", "\"a\"\t\"b\"\n\"r 1\"\t1.5\t2\n\"r 2\"\t2.5\t3\n",
             "a;b\r\nx1;1,5;2\r\nx2;2,5;3\r\n", "sep=,\na,b\nr1,1.5,2\nr2,2.5,3\n"}) {
    auto const found = read(text);
    EXPECT_EQ(found.rows.size(), 2U) << text << found.refused;
    EXPECT_EQ(found.names.size(), 3U) << text;
    EXPECT_TRUE(found.row_names) << text;
    EXPECT_TRUE(has(found.taken, ", which has none for the row names, as R writes them")) << found.taken;
  }
  for (std::string const& text :
       texts{"a,b\n7,1,2\n9,3,4\n", "a,b\nx,1,2\nx,3,4\n", "a,b\n1,2,3\n", "a b\n0.5 1 2\n1.5 3 4\n",
             "a,b\n0,1,2\n1,3,4\n", "a;b\n2020-01-01;1;2\n2020-01-01;3;4\n"}) {
    auto const refused = read(text).refused;
    EXPECT_TRUE(has(refused, ":1: has names for 2 columns, but the rows have 3: the first column may be row names"))
        << refused;
    EXPECT_TRUE(has(refused, "col.names = NA")) << refused;
  }
  EXPECT_TRUE(has(read("petal length petal width kind\n1 2 3\n4 5 6\n").refused,
                  ":1: has names for 5 columns, but the rows have 3: quote a name that holds the delimiter"));
  EXPECT_TRUE(has(read("17:\n1,2,3\n4,5,6\n").refused, ":1: is an id alone, for the rows after it"));
  EXPECT_TRUE(has(read("a,b\n1,2,\n2,3,\n").refused, "if each row ends in a delimiter, take it out"));
  EXPECT_TRUE(
      has(read("a,b\n1,2,3,4\n2,3,4,5\n").refused, ":1: has names for 2 columns, but the rows have 4: add the other"));
  EXPECT_TRUE(has(read("x,x\nx,2,3\nx,3,4\n", {.header = false}).refused, ":2: 3 columns instead of 2 as in line 1"));
  EXPECT_TRUE(has(read("1,2\n1,2,0\n2,2,0\n").refused, ":2: 3 columns instead of 2 as in line 1"));
}

TEST(strange_tables, a_title_is_named) {
  for (auto const& [text, line] :
       {std::pair{"Report of 2020\n\na,b\n1,2\n3,4\n", ":1:"}, std::pair{"Sales\na,b\n1,2\n3,4\n", ":1:"},
        std::pair{"Sales\nmade by Ann\na;b\n1;2\n3;4\n5;6\n", ":1:"},
        std::pair{"# x\nmade, by, Ann\na,b\n1,2\n3,4\n", ":2:"}, std::pair{"Sales\n1,2,3\n3,4,5\n", ":1:"},
        std::pair{"Sales\r\na\tb\r\n1\t2\r\n3\t4\r\n", ":1:"}}) {
    auto const refused = read(text).refused;
    EXPECT_TRUE(has(refused, line)) << text << refused;
    EXPECT_TRUE(has(refused, "seems to be a title above the table") || has(refused, "has names for 1"))
        << text << refused;
  }
}

TEST(strange_tables, a_line_that_is_no_row_is_named) {
  std::string const rows = "a,b\n1,2\n3,4\n";
  for (auto const& [line, says] :
       {std::pair{"# new run", "a comment"}, std::pair{"# new, run", "a comment"}, std::pair{"% x", "a comment"},
        std::pair{"// x", "a comment"}, std::pair{"#1,2", "a comment"}, std::pair{"-----", "a line of dashes"},
        std::pair{"---,---", "a line of dashes"}, std::pair{"====", "a line of dashes"},
        std::pair{"---+---", "a line of dashes"}, std::pair{"***", "a line of dashes"},
        std::pair{"Total,30", "a total or a summary of the table"}, std::pair{"Total", "a total"},
        std::pair{"mean: 5", "a total"}, std::pair{"Grand total,4", "a total"}, std::pair{"\"Sum (all)\",4", "a total"},
        std::pair{"(2 rows)", "a total"}, std::pair{",", "a line of a spreadsheet without values"},
        std::pair{",,", "a line of a spreadsheet without values"}, std::pair{"made by Ann", "a remark"}}) {
    std::string const refused = read(rows + line + "\n").refused;
    EXPECT_TRUE(has(refused, ":4: ")) << line << refused;
    EXPECT_TRUE(has(refused, std::string{"the line seems to be "} + says)) << line << refused;
    EXPECT_TRUE(has(refused, ": delete it")) << refused;
    EXPECT_TRUE(has(read(rows + line + "\n5,6\n").refused, says)) << line;
  }
  for (std::string const& line : texts{"5,y", "5,", "5", "y,6", "5,6,7", "-,5", "NA,5"}) {
    std::string const refused = read(rows + line + "\n").refused;
    EXPECT_TRUE(has(refused, ":4: ")) << line << refused;
    EXPECT_FALSE(has(refused, "seems")) << line << refused;
  }
  EXPECT_TRUE(has(read("a,b\n[m],[s]\n1,2\n3,4\n").refused,
                  ":2: `[m]` is no number; the line seems to be a second line of names, or of units"));
  EXPECT_TRUE(has(read("|a|b|\n|--|--|\n|1|2|\n|3|4|\n").refused, "a line of dashes"));
}

}  // namespace
}  // namespace lull
