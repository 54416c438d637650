// SPDX-License-Identifier: Apache-2.0
// Tables as people write them: names of columns, labels by name, text as labels.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdio>
#include <iterator>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include <lull/host/error.hpp>
#include <lull/tasks/mlp/labelled_rows.hpp>
#include <lull/tests/graph/graph_file.hpp>

namespace lull {
namespace {

using test::test_folder;

using floats = std::vector<float>;
using labels = std::vector<std::uint32_t>;

struct table_case {
  std::string text;
  std::string says;  // is part of `taken`
  table_options table{};
};

/// Each of these is the rows (6, 0.5), (7, 1.5), (5, 2.5) of the classes 1, 2, 0.
void expect_the_rows(table_case const& each) {
  test_folder const folder;
  try {
    auto const found = read_labelled_rows(folder.write("rows.csv", each.text), {}, each.table);
    EXPECT_EQ(found.values, (floats{6, 0.5F, 7, 1.5F, 5, 2.5F})) << each.text;
    EXPECT_EQ(found.labels, (labels{1, 2, 0})) << each.text;
    EXPECT_NE(found.taken.find(each.says), std::string::npos) << each.text << " → " << found.taken;
  } catch (error const& refused) {
    ADD_FAILURE() << each.text << " → " << refused.what();
  }
}

std::string const three = "6,0.5,1\n7,1.5,2\n5,2.5,0\n";

TEST(tables, numbers_may_name_columns) {
  for (table_case const& each : {
           table_case{three, "no line of names; 2 numbers a row, label is column 3"},
           table_case{"0,1,2\n" + three, "names in the first line"},
           table_case{"0,1,target\n" + three, "label is column 3 (target)"},
           table_case{",0,1,target\n0,6,0.5,1\n1,7,1.5,2\n2,5,2.5,0\n", "left out: column 1"},
           table_case{",a,b,y\n57,6,0.5,1\n3,7,1.5,2\n9,5,2.5,0\n", "left out: column 1"},
           table_case{"Unnamed: 0,a,b,y\n57,6,0.5,1\n3,7,1.5,2\n9,5,2.5,0\n", "left out: column 1 (Unnamed: 0)"},
           table_case{",0,1,2\n0,6,0.5,1\n1,7,1.5,2\n2,5,2.5,0\n", "left out: column 1"},
           table_case{"index,a,b,class\n0,6,0.5,1\n1,7,1.5,2\n2,5,2.5,0\n", "left out: column 1 (index)"},
           table_case{"Unnamed: 0,a,b,y\n0,6,0.5,1\n1,7,1.5,2\n2,5,2.5,0\n", "left out: column 1 (Unnamed: 0)"},
           table_case{"Id,a,b,y\n1,6,0.5,1\n2,7,1.5,2\n3,5,2.5,0\n", "left out: column 1 (Id)"},
           table_case{"1,2,3\n" + three, "names in the first line"},
           table_case{"\xef\xbb\xbf" + three, "no line of names"},
           table_case{"\"a\",\"b\",\"y\"\n\"6\",\"0.5\",\"1\"\n\"7\",\"1.5\",\"2\"\n\"5\",\"2.5\",\"0\"\n",
                      "label is column 3 (y)"},
           table_case{"a;b;y\n6;0,5;1\n7;1,5;2\n5;2,5;0\n", "decimal commas"},
           table_case{"6 0.5 1\r7 1.5 2\r5 2.5 0\r", "separated by blanks"},
       })
    expect_the_rows(each);
  test_folder const folder;
  auto const digits = read_labelled_rows(folder.write("rows.csv", "0,1,2\n3,4,1\n"));
  EXPECT_EQ(digits.rows, 2U);
  EXPECT_NE(digits.taken.find("if it names the columns, give header=yes"), std::string::npos) << digits.taken;
}

TEST(tables, the_label_is_where_its_name_or_the_user_says) {
  for (table_case const& each : {
           table_case{"label,a,b\n1,6,0.5\n2,7,1.5\n0,5,2.5\n", "label is column 1 (label)"},
           table_case{"a,Target,b\n6,1,0.5\n7,2,1.5\n5,0,2.5\n", "label is column 2 (Target)"},
           table_case{"y,a,class\n6,0.5,1\n7,1.5,2\n5,2.5,0\n", "label is column 3 (class)"},
           table_case{"kind,a,b\n1,6,0.5\n2,7,1.5\n0,5,2.5\n", "", {.label = "kind"}},
           table_case{"1,6,0.5\n2,7,1.5\n0,5,2.5\n", "label is column 1", {.label = "1"}},
           table_case{"6,0.5,1\n7,1.5,2\n5,2.5,0\n", "label is column 3", {.label = "-1"}},
           table_case{"t,a,b,y\n9,6,0.5,1\n9,7,1.5,2\n8,5,2.5,0\n", "left out: column 1 (t)", {.drop = "t"}},
           table_case{"9,6,0.5,x,1\n9,7,1.5,x,2\n8,5,2.5,y,0\n", "left out: column 1", {.drop = "1,4"}},
           table_case{"x,y,z\n6,0.5,1\n7,1.5,2\n5,2.5,0\n", "label is column 3 (z)"},
           table_case{"x,y,ring\n6,0.5,b\n7,1.5,c\n5,2.5,a\n", "label is column 3 (ring)"},
           table_case{"y,a,b\n1,6,0.5\n2,7,1.5\n0,5,2.5\n", "label is column 1 (y)"},
           table_case{"a,species,b\n6,b,0.5\n7,c,1.5\n5,a,2.5\n", "label is column 2 (species)"},
           table_case{"6,b,0.5\n7,c,1.5\n5,a,2.5\n", "label is column 2"},
           table_case{"b 6 0.5\nc 7 1.5\na 5 2.5\n", "label is column 1"},
           table_case{"index,a,y\n6,0.5,1\n7,1.5,2\n5,2.5,0\n", "2 numbers a row"},
           table_case{"0,1,2\n" + three, "names in the first line", {.dialect = {.header = true}}},
       })
    expect_the_rows(each);
  test_folder const folder;
  auto const path = folder.write("rows.csv", "a,b,y\n" + three);
  for (auto const& [table, says] : {std::pair{table_options{.label = "z"}, "label=z: there is no column `z`"},
                                    std::pair{table_options{.drop = "a,z"}, "drop=a,z: there is no column `z`"},
                                    std::pair{table_options{.drop = "a,b"}, "no column is left but the label"}}) {
    try {
      read_labelled_rows(path, {}, table);
      ADD_FAILURE() << says;
    } catch (input_error const& refused) {
      EXPECT_NE(std::string{refused.what()}.find(says), std::string::npos) << refused.what();
      EXPECT_EQ(refused.line(), 1U);
    }
  }
}

TEST(tables, labels_may_be_text) {
  for (table_case const& each : {
           table_case{"6,0.5,b\n7,1.5,c\n5,2.5,a\n", "3 classes by name"},
           table_case{"x,z,kind\n6,0.5,b b\n7,1.5,c\n5,2.5,a\n", "label is column 3 (kind)"},
           table_case{"6,0.5,\"b, b\"\n7,1.5,\"c\"\n5,2.5,\"a\"\n", "3 classes by name"},
           table_case{"label,a,b\nno,6,0.5\nyes,7,1.5\nmaybe,5,2.5\n", "label is column 1 (label)"},
           table_case{"6;0,5;b\n7;1,5;c\n5;2,5;a\n", "3 classes by name"},
       })
    expect_the_rows(each);
  test_folder const folder;
  auto const path = folder.write("rows.csv", "6,0.5,b\n7,1.5,c\n5,2.5,a\n");
  EXPECT_EQ(read_labelled_rows(path).names.classes, (std::vector<std::string>{"a", "b", "c"}));
  auto const asked = read_rows_to_class(path, 2, {}, {.names = {.classes = {"c", "b", "a"}}});
  EXPECT_EQ(asked.labels, (labels{1, 0, 2}));
  EXPECT_THROW(read_rows_to_class(path, 2, {}, {.names = {.classes = {"a", "b"}}}), input_error);
  EXPECT_THROW(read_labelled_rows(path, {.max_classes = 2}), input_error);
  EXPECT_THROW(read_labelled_rows(folder.write("rows.csv", "6,0.5,b\n7,1.5,\n5,2.5,a\n")), input_error);
  EXPECT_THROW(read_labelled_rows(folder.write("rows.csv", "6,0.5,b\n7,1.5,b\n")), input_error);
}

TEST(tables, a_model_takes_columns_by_their_names) {
  test_folder const folder;
  std::string const by_name = "numbers by the model's names";
  for (table_case const& each : {
           table_case{"a,b\n6,0.5\n7,1.5\n5,2.5\n", "no label; " + by_name},
           table_case{"b,a\n0.5,6\n1.5,7\n2.5,5\n", "no label; " + by_name},
           table_case{"id,a,b\n57,6,0.5\n3,7,1.5\n9,5,2.5\n", "no label; left out: column 1 (id); " + by_name},
           table_case{"index,b,a\n0,0.5,6\n1,1.5,7\n2,2.5,5\n", "left out: column 1 (index); " + by_name},
           table_case{"a,b,sort\n6,0.5,x\n7,1.5,y\n5,2.5,x\n", "left out: column 3 (sort); " + by_name},
           table_case{"b,c,label,a\n0.5,9,1,6\n1.5,9,2,7\n2.5,9,0,5\n",
                      "label is column 3 (label); left out: column 2"},
           table_case{"a,c,b\n6,1,0.5\n7,2,1.5\n5,0,2.5\n", "label is column 2 (c)", {.label = "c"}},
           table_case{"sort,b,a,KIND\n9,0.5,6,1\n9,1.5,7,2\n8,2.5,5,0\n",
                      "label is column 4 (KIND); left out: column 1"},
           table_case{"u,v\n6,0.5\n7,1.5\n5,2.5\n", "numbers by their order"},
           table_case{"6,0.5\n7,1.5\n5,2.5\n", "numbers by their order"},
           table_case{"6,0.5,1\n7,1.5,2\n5,2.5,0\n", "label is column 3; numbers by their order"},
       }) {
    table_options table = each.table;
    table.names = {.values = {"a", "b"}, .label = "kind"};
    auto const found = read_rows_to_class(folder.write("rows.csv", each.text), 2, {}, table);
    EXPECT_EQ(found.values, (floats{6, 0.5F, 7, 1.5F, 5, 2.5F})) << each.text;
    EXPECT_NE(found.taken.find(each.says), std::string::npos) << each.text << " → " << found.taken;
    if (found.classes != 0) {
      EXPECT_EQ(found.labels, (labels{1, 2, 0})) << each.text;
    }
  }
  try {
    read_rows_to_class(folder.write("rows.csv", "a,c\n6,0.5\n"), 2, {}, {.names = {.values = {"a", "b"}}});
    ADD_FAILURE();
  } catch (input_error const& refused) {
    EXPECT_NE(std::string{refused.what()}.find("rows.csv:1: the model takes a column `b`, which is not there"),
              std::string::npos)
        << refused.what();
  }
  EXPECT_EQ(read_labelled_rows(folder.write("rows.csv", "a,b,y\n" + three)).names.values,
            (std::vector<std::string>{"a", "b"}));
  for (std::string const header : {"", "a,a,y\n", "a,,y\n", "a,\"b\tb\",y\n"})
    EXPECT_TRUE(read_labelled_rows(folder.write("rows.csv", header + three)).names.values.empty()) << header;
}

/// A number as programs write them, of one digit up to many.
std::string spelt_number(std::mt19937_64& random) {
  char text[64];
  double const value = (static_cast<double>(random() % 2'000'001) - 1e6) / std::pow(10, random() % 8);
  char const* const formats[] = {"%.0f", "%.1f", "%.4f", "%g", "%.9g", "%.17g", "%.3e", "%+.2f"};
  std::snprintf(text, sizeof text, formats[random() % std::size(formats)], value);
  return text;
}

/// Rows without quotes are read at sight, those with quotes by the reader of fields: both must come to the same.
TEST(tables, rows_read_at_sight_are_those_of_the_reader_of_fields) {
  test_folder const folder;
  std::mt19937_64 random{3};
  for (std::string const delimiter : {",", ";", "\t", "|"}) {
    for (std::string const end : {"\n", "\r\n", "\r"}) {
      for (std::size_t const label : {0U, 2U, 4U}) {
        std::string plain;
        std::string quoted;
        for (int row = 0; row < 500; ++row) {
          for (std::size_t column = 0; column < 5; ++column) {
            std::string const field = column == label ? std::to_string(random() % 12)
                                      : column == 3   ? "text " + std::to_string(random() % 9)
                                                      : spelt_number(random);
            plain += (column == 0 ? "" : delimiter) + field;
            quoted += (column == 0 ? "" : delimiter) + "\"" + field + "\"";
          }
          plain += end;
          quoted += end;
        }
        table_options const table{.label = std::to_string(label + 1), .drop = "4"};
        auto const at_sight = read_labelled_rows(folder.write("plain.csv", plain), {}, table);
        auto const by_field = read_labelled_rows(folder.write("quoted.csv", quoted), {}, table);
        EXPECT_EQ(at_sight.rows, 500U);
        EXPECT_EQ(at_sight.values, by_field.values) << delimiter << label;
        EXPECT_EQ(at_sight.labels, by_field.labels) << delimiter << label;
      }
    }
  }
}

TEST(tables, faults_after_rows_read_at_sight_have_their_line) {
  test_folder const folder;
  std::string rows;
  for (int row = 0; row < 40'000; ++row) rows += "1.5,-2,a," + std::to_string(row % 3) + "\n";
  for (auto const& [last, says] : {
           std::pair<std::string, std::string>{"1.5,,a,1\n", "column 2 is empty"},
           {"1.5,x,a,1\n", "`x` in column 2 is not a number"},
           {"1.5,nan,a,1\n", "`nan` in column 2 is not a finite number"},
           {"1.5,1e39,a,1\n", "`1e39` in column 2 does not fit a float"},
           {"1.5,2,a,-1\n", "the label `-1` in column 4 is negative"},
           {"1.5,2,a,70000\n", "the label `70000` in column 4 is over the limit"},
           {"1.5,2,a,1.5\n", "the label `1.5` in column 4 is not a whole number"},
           {"1.5,2,a,\n", "the label in column 4 is empty"},
           {"1.5,2,a\n", "3 columns instead of 4"},
           {"1.5,2,a,1,1\n", "5 columns instead of 4"},
           {"1.5,2,\"a,1\n", "a quoted field is not closed"},
           {"1.5,2 3,a,1\n", "`2 3` in column 2 is not a number"},
           {std::string(3 << 20, '1') + ",2,a,1\n", "a line of more than"},
       }) {
    try {
      read_labelled_rows(folder.write("rows.csv", rows + last), {}, {.drop = "3"});
      ADD_FAILURE() << says;
    } catch (input_error const& refused) {
      EXPECT_EQ(refused.line(), 40'001U) << refused.what();
      EXPECT_NE(std::string{refused.what()}.find(says), std::string::npos) << refused.what();
    }
  }
  auto const read =
      read_labelled_rows(folder.write("rows.csv", rows + "\n\"1\" , +2 ,\"a,b\",1.0\n7,8,a,2\n"), {}, {.drop = "3"});
  EXPECT_EQ(read.rows, 40'002U);
  EXPECT_EQ(floats(read.values.end() - 4, read.values.end()), (floats{1, 2, 7, 8}));
  EXPECT_EQ(labels(read.labels.end() - 2, read.labels.end()), (labels{1, 2}));
  EXPECT_EQ(read_labelled_rows(folder.write("rows.csv", rows), {.max_rows = 40'000}, {.drop = "3"}).rows, 40'000U);
  EXPECT_THROW(read_labelled_rows(folder.write("rows.csv", rows), {.max_rows = 39'999}, {.drop = "3"}), input_error);
}

}  // namespace
}  // namespace lull
