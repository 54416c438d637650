// SPDX-License-Identifier: Apache-2.0
// Tables as people write them: names of columns, labels by name, text as labels.
#include <gtest/gtest.h>

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
  EXPECT_EQ(read_labelled_rows(path).class_names, (std::vector<std::string>{"a", "b", "c"}));
  auto const asked = read_rows_to_class(path, 2, {}, {.classes = {"c", "b", "a"}});
  EXPECT_EQ(asked.labels, (labels{1, 0, 2}));
  EXPECT_THROW(read_rows_to_class(path, 2, {}, {.classes = {"a", "b"}}), input_error);
  EXPECT_THROW(read_labelled_rows(path, {.max_classes = 2}), input_error);
  EXPECT_THROW(read_labelled_rows(folder.write("rows.csv", "6,0.5,b\n7,1.5,\n5,2.5,a\n")), input_error);
  EXPECT_THROW(read_labelled_rows(folder.write("rows.csv", "6,0.5,b\n7,1.5,b\n")), input_error);
}

}  // namespace
}  // namespace lull
