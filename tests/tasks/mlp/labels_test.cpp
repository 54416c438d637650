// SPDX-License-Identifier: Apache-2.0
// Labels as people write them: which column has them, which text is a class, and what is refused.
#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <tuple>
#include <vector>

#include <lull/host/error.hpp>
#include <lull/tasks/mlp/label_text.hpp>
#include <lull/tasks/mlp/labelled_rows.hpp>
#include <lull/tasks/mlp/mlp_file.hpp>
#include <lull/tests/graph/graph_file.hpp>

namespace lull {
namespace {

using test::test_folder;

using floats = std::vector<float>;
using labels = std::vector<std::uint32_t>;
using names = std::vector<std::string>;

class table_labels : public testing::Test {
 protected:
  labelled_rows train(std::string const& text, table_options const& table = {}) {
    return read_labelled_rows(folder_.write("rows.csv", text), {}, table);
  }
  labelled_rows ask(std::string const& text, std::uint64_t features, table_options const& table = {}) {
    return read_rows_to_class(folder_.write("rows.csv", text), features, {}, table);
  }
  /// Expects a refusal at the line that holds all of `says`.
  void refused(std::function<labelled_rows()> const& read, std::uint64_t line, names const& says) {
    try {
      labelled_rows const found = read();
      ADD_FAILURE() << says.front() << ": read, " << found.taken;
    } catch (input_error const& fault) {
      std::string const what = fault.what();
      EXPECT_EQ(fault.line(), line) << what;
      for (std::string const& each : says) EXPECT_NE(what.find(each), std::string::npos) << each << " → " << what;
      EXPECT_TRUE(is_utf8(what)) << what;
    }
  }

  test_folder folder_;
};

/// `count` rows: what `field` returns for each, and then the rest of the line.
std::string rows_of(int count, std::function<std::string(int)> const& field, std::string const& rest) {
  std::string text;
  for (int at = 0; at < count; ++at) text += field(at) + "," + rest + std::to_string(at % 2) + "\n";
  return text;
}

TEST_F(table_labels, of_text_are_refused_where_the_classes_of_the_model_are_numbers) {
  for (auto const& [text, key] : {
           std::pair<std::string, std::string>{"a,b,species\n1,2,setosa\n3,4,virginica\n", "drop=species"},
           {"species,a,b\nsetosa,1,2\nvirginica,3,4\n", "drop=species"},
           {"a,b,the species\n1,2,setosa\n3,4,virginica\n", "drop=3"},
           {"1,2,yes\n3,4,no\n", "drop=3"},
           {"1;2,5;yes\n3;4,5;no\n", "drop=3"},
       })
    refused([&] { return ask(text, 2); }, text.find("species") == text.npos ? 1 : 2,
            {"is text, but the model's classes are numbers", key});
  refused(
      [&] {
        return ask("b,label,a\n1,x,2\n", 2, {.names = {.values = {"a", "b"}, .label = "label"}});
      },
      2, {"the label `x` in column 2 (label) is text", "drop=label"});
  EXPECT_TRUE(ask("a,b,species\n1,2,setosa\n3,4,virginica\n", 2, {.drop = "species"}).labels.empty());
  EXPECT_EQ(ask("1,2,0\n3,4,2\n", 2).labels, (labels{0, 2}));
}

TEST_F(table_labels, that_the_model_has_not_are_refused) {
  for (auto const& [text, line, label] : {std::tuple{"1,2,0\n3,4,3\n", 2U, "3"},
                                          {"1,2,477\n3,4,1\n", 1U, "477"},
                                          {"a,b,y\n1,2,0\n3,4,2\n5,6,4.0\n", 4U, "4.0"},
                                          {"y,a,b\n70000,2,0\n3,4,2\n", 2U, "70000"}}) {
    auto const path = folder_.write("rows.csv", text);
    refused([&] { return read_rows_to_class(path, 2, {.max_classes = 3}); }, line,
            {"the label `" + std::string{label} + "` in column ", "is no class of the model, which has 3", "drop="});
  }
}

TEST_F(table_labels, are_read_after_values_and_what_is_no_value_is_told) {
  for (auto const& [field, says] :
       {std::pair<std::string, std::string>{
            "?", "is a mark for a missing value: leave the row out, or the column with drop=b"},
        {"NA", "is a mark for a missing value: leave the row out, or the column with drop=b"},
        {"\"1,100\"", "is no number, but a number with signs between its thousands"},
        {"1:30", "is no number, but a time"},
        {"50%", "is no number, but a percentage"}})
    refused([&] { return train("a,b,y\n1,2,0\n3,4,1\n5,6,1\n1," + field + ",1\n"); }, 5, {"in column 2 (b) " + says});
}

TEST_F(table_labels, that_are_no_utf8_are_refused) {
  for (std::string const label :
       {"p\xeaz", "\xe8", "s\xfc\xdf", "a\xc3", "\xed\xa0\x80", "\xc0\xaf", "\xf5\x80\x80\x80"}) {
    std::string const text = "a,b,class\n1,2,x\n3,4," + label + "\n";
    names const says{"in column 3 (class) is not UTF-8: save the file as UTF-8"};
    refused([&] { return train(text); }, 3, says);
    refused([&] { return ask(text, 2, {.names = {.classes = {"x", "y"}}}); }, 3, says);
  }
  names const good{"pêche", "ß", "\xe2\x82\xac", "\xf0\x9f\x8d\x91", "日本"};
  std::string text;
  for (std::string const& each : good) text += "1,2," + each + "\n";
  EXPECT_EQ(train(text).classes, good.size());
}

TEST_F(table_labels, and_names_of_columns_must_be_utf8) {
  for (auto const& [header, at] : {std::pair<std::string, std::string>{"l\xe4nge,b,class", "column 1"},
                                   {"a,gr\xf6z,class", "column 2"},
                                   {"a,b,kla\xdfz", "column 3"},
                                   {"\xff,b,class", "column 1"},
                                   {"a,b\xe2\x82,class", "column 2"}}) {
    std::string const text = header + "\n1,2,x\n3,4,y\n";
    names const says{"of " + at + " is not UTF-8: save the file as UTF-8"};
    refused([&] { return train(text); }, 1, says);
    refused([&] { return ask(text, 2, {.names = {.classes = {"x", "y"}, .values = {"a", "b"}}}); }, 1, says);
  }
  EXPECT_EQ(train("länge,größe,class\n1,2,x\n3,4,y\n").names.values, (names{"länge", "größe"}));
  auto const older = ask("länge,b\n1,2\n", 2, {.names = {.values = {"l\xef\xbf\xbdnge", "b"}}});
  EXPECT_NE(older.taken.find("by their order, as the model's names were not UTF-8"), std::string::npos) << older.taken;
}

TEST_F(table_labels, with_line_ends_or_tabs_are_refused) {
  for (auto const& [label, what] : {std::pair<std::string, std::string>{"new\nyork", "a line end"},
                                    {"new\r\nyork", "a line end"},
                                    {"a\rb", "a line end"},
                                    {"new\tyork", "a tab"},
                                    {"bell\x07s", "a control character"}}) {
    refused([&, each = label] { return train("a,b,class\n1,2,x\n3,4,\"" + each + "\"\n"); }, 3,
            {"in column 3 (class) holds " + what, "give the class another name"});
  }
}

TEST_F(table_labels, are_not_taken_from_a_column_of_values_that_is_text) {
  auto const day = [](int at) { return "2020-01-" + std::string(at < 9 ? "0" : "") + std::to_string(at + 1); };
  auto const two = [](char const* one, char const* other) { return [=](int at) { return at % 2 ? one : other; }; };
  struct value_case {
    std::function<std::string(int)> field;
    std::string kind;
  };
  for (value_case const& each : {
           value_case{day, "a date"},
           {two("1/2/2020", "13/12/2020"), "a date"},
           {two("31.12.2020", "1.1.2021"), "a date"},
           {two("2020-01-01 10:00:00", "2020-01-01T11:00:00Z"), "a date"},
           {two("10:30", "9:15 PM"), "a time"},
           {two("10%", "12.5 %"), "a percentage"},
           {two("$5", "$1.50"), "an amount of money"},
           {two("\"$1,100\"", "\"$1,200\""), "an amount of money"},
           {two("5 €", "-7 €"), "an amount of money"},
           {two("\"1,234,567\"", "\"7,234,567\""), "a number with signs between its thousands"},
           {two("1'234", "2'345"), "a number with signs between its thousands"},
           {two("NA", "?"), "a mark for a missing value"},
       }) {
    std::string const text = "when,a,b,sold\n" + rows_of(30, each.field, "2,3,");
    refused([&] { return train(text); }, 2,
            {"column 1 (when) is text, and no label was given; ", " looks like " + each.kind,
             ": give label=NAME or drop=when"});
    EXPECT_EQ(train(text, {.drop = "when"}).classes, 2U);
    std::string const named = "when,a,b,label\n" + rows_of(30, each.field, "2,3,");
    refused([&] { return train(named); }, 2, {"in column 1 (when) is ", each.kind + ": ", "drop=when"});
  }
  EXPECT_EQ(train("day,a,b\n2020-01-01,1,2\n2020-01-02,1,2\n", {.label = "day"}).classes, 2U);  // as asked for
}

TEST_F(table_labels, are_not_taken_from_a_column_with_a_text_for_each_row) {
  for (std::function<std::string(int)> const& field : {
           std::function<std::string(int)>{[](int at) { return "P" + std::to_string(at); }},
           {[](int at) { return "Smith J" + std::to_string(at); }},
           {[](int at) { return "SN-" + std::to_string(at) + "-x"; }},
           {[](int at) { return std::to_string(at) + " Main Street"; }},
           {[](int at) { return "mail" + std::to_string(at % 20) + "@example.org"; }},
       }) {
    refused([&] { return train("id,a,b,sold\n" + rows_of(30, field, "2,3,")); }, 1,
            {"column 1 (id) is text, and no label was given; it has ", " different values in 30 rows", "drop=id"});
    refused([&] { return train(rows_of(30, field, "2,3,")); }, 1, {"column 1 is text", "label=NUMBER or drop=1"});
    EXPECT_EQ(train("id,a,b,outcome\n" + rows_of(30, field, "2,3,"), {.drop = "id"}).classes, 2U);
  }
  EXPECT_EQ(train("a,kind\n1,x\n2,y\n3,z\n").classes, 3U);
  EXPECT_EQ(train(rows_of(
                      30, [](int at) { return "class " + std::to_string(at % 15); }, "2,3,"))
                .classes,
            15U);
}

TEST_F(table_labels, are_where_a_name_says_so_before_the_only_column_of_text) {
  for (std::string const name : {"label", "Labels", "target", "CLASS", "outcome"}) {
    auto const found = train("species,a," + name + "\nx,1,0\ny,2,1\n", {.drop = "species"});
    EXPECT_NE(found.taken.find("label is column 3"), std::string::npos) << found.taken;
    refused([&] { return train("species,a," + name + "\nx,1,0\ny,2,1\n"); }, 2, {"`x` in column 1 (species)"});
  }
}

TEST_F(table_labels, that_are_marks_for_missing_values_are_refused) {
  for (std::string const mark : {"NA", "?", "nan", "null", "None", "N/A", "NaN", "<NA>"}) {
    names const says{"the label `" + mark + "` in column 3 (class) is a mark for a missing value: leave the row out"};
    refused([&] { return train("a,b,class\n1,2,cat\n3,4,dog\n5,6," + mark + "\n"); }, 4, says);
    refused([&] { return train("a,b,class\n1,2,0\n3,4,1\n5,6," + mark + "\n"); }, 4, says);
    refused(
        [&] {
          return ask("a,b,class\n1,2,cat\n5,6," + mark + "\n", 2, {.names = {.classes = {"cat", "dog"}}});
        },
        3, says);
  }
}

TEST_F(table_labels, are_told_with_their_rows) {
  auto const ends = [&](std::string const& text, std::string const& said) {
    auto const found = train(text);
    EXPECT_TRUE(found.taken.ends_with(said)) << found.taken;
  };
  ends("1,cat\n2,dog\n3,cat\n", "; 2 classes by name, in the order of the alphabet, and their rows: `cat` 2, `dog` 1");
  ends("1,0\n2,2\n3,1\n", "; 3 classes by number");
  ends("1,100\n2,200\n3,130\n", "; 201 classes by number, 3 of them with rows");
  std::string many;
  for (int at = 0; at < 100; ++at) many += std::to_string(at) + "," + static_cast<char>('a' + at % 20) + "\n";
  ends(many, "`o` 5, `p` 5, …");
  std::string wide = "1,";
  for (int at = 0; at < 30; ++at) wide += "é";
  auto const found = train(wide + "\n2,x\n");
  EXPECT_TRUE(is_utf8(found.taken)) << found.taken;
}

TEST_F(table_labels, minus_one_and_one_are_two_classes) {
  for (std::string const text : {"5,-1\n6,1\n7,1\n8,-1\n", "5,1\n6,+1\n7,-1.0\n8,-1\n", "5;1,0\n6;-1,0\n7;1\n8;-1\n",
                                 "y,a\n-1,5\n1,6\n1,7\n-1,8\n", "a,label\n5,-1e0\n6,1e0\n7,1\n8,-1\n"}) {
    auto const found = train(text);
    EXPECT_EQ(found.classes, 2U) << text;
    EXPECT_EQ(found.names.classes, (names{"-1", "1"}));
    EXPECT_NE(found.taken.find("`-1` 2, `1` 2"), std::string::npos) << text << found.taken;
    auto const again = ask(text, 1, {.names = found.names});
    EXPECT_EQ(again.labels, found.labels) << text;
  }
  refused([&] { return train("5,1\n6,-1\n7,0\n"); }, 2,
          {"the label `-1` in column 2 is negative", "another row has 0"});
  refused([&] { return train("5,1\n6,-1\n7,2\n"); }, 2, {"the label `-1` in column 2 is negative"});
  refused([&] { return train("5,1\n6,-2\n"); }, 2, {"the label `-2` in column 2 is negative"});
  refused([&] { return train("5,-1\n6,-1\n"); }, 0, {"a single class: every label in column 2 is `-1`"});
  refused([&] { return ask("5,-1\n", 1); }, 1, {"the label `-1` in column 2 is negative"});
}

TEST_F(table_labels, are_found_again_at_the_place_that_the_model_knows) {
  struct place_case {
    std::string text;
    table_options table;
  };
  for (place_case const& each : {
           place_case{"1,6,7\n0,8,9\n2,4,5\n", {.label = "1"}},
           {"6,1,7\n8,0,9\n4,2,5\n", {.label = "2"}},
           {"6,7,1\n8,9,0\n4,5,2\n", {}},
           {"kind,a,a\n1,6,7\n0,8,9\n2,4,5\n", {.label = "kind"}},
           {"index,kind,a,b\n0,1,6,7\n1,0,8,9\n2,2,4,5\n", {.label = "kind"}},
           {"y,a,b\n6,7,1\n8,9,0\n4,5,2\n", {.label = "-1"}},
       }) {
    auto const found = train(each.text, each.table);
    auto const again = ask(each.text, 2, {.names = found.names});
    EXPECT_EQ(again.labels, found.labels) << each.text << again.taken;
    EXPECT_EQ(again.values, found.values) << each.text;
  }
}

TEST_F(table_labels, of_a_model_are_those_that_it_was_trained_with) {
  layer_values const layer{2, 2, {1, 0, 0, 1}, {0, 0}};
  for (std::string const text : {"1,6,7\n-1,8,9\n", "yes,6,7\nno,8,9\n", "kind,b,b\n1,6,7\n0,8,9\n"}) {
    auto const found = train(text, {.label = "1"});
    write_mlp(folder_.at("m.safetensors"), {.layers = {layer}, .names = found.names});
    table_names const kept = read_mlp(folder_.at("m.safetensors")).names;
    EXPECT_EQ(kept.label_place, 1U);
    EXPECT_EQ(kept.label, found.names.label);
    auto const again = ask(text, 2, {.names = kept});
    EXPECT_EQ(again.labels, found.labels) << text;
    EXPECT_EQ(again.values, found.values) << text;
  }
  write_mlp(folder_.at("m.safetensors"), {.layers = {layer}});  // as of an older version
  EXPECT_EQ(read_mlp(folder_.at("m.safetensors")).names.label_place, 0U);
}

TEST_F(table_labels, say_what_to_do_about_an_empty_last_column) {
  refused([&] { return train("1,2,0,\n3,4,1,\n"); }, 1, {"the label in column 4 is empty", "drop=-1"});
  refused([&] { return train("a,b,label,\n1,2,0,\n3,4,1,\n"); }, 2, {"column 4 is empty", "drop=-1"});
  refused([&] { return train("a,b,label\n1,2,0\n3,4,\n"); }, 3,
          {"the label in column 3 (label) is empty", "fill it in"});
  EXPECT_EQ(train("1,2,0,\n3,4,1,\n", {.drop = "-1"}).labels, (labels{0, 1}));
}

TEST_F(table_labels, an_unknown_column_is_refused_with_those_that_are_there) {
  refused([&] { return train("a,b,y\n1,2,0\n", {.label = "species"}); }, 1,
          {"label=species: there is no column `species`; the file has 3 columns: `a`, `b`, `y`"});
  refused([&] { return train("a,b,y\n1,2,0\n", {.drop = "a,z"}); }, 1, {"there is no column `z`", "`a`, `b`, `y`"});
  refused([&] { return train("1,2,0\n", {.label = "y"}); }, 1, {"3 columns and no line of names"});
  std::string header = "y";
  std::string row = "0";
  for (int at = 0; at < 30; ++at) header += ",c" + std::to_string(at), row += ",1";
  refused([&] { return train(header + "\n" + row + "\n", {.label = "z"}); }, 1, {"31 columns: `y`, `c0`", "`c10`, …"});
}

TEST_F(table_labels, a_matrix_market_file_is_no_table) {
  for (std::string const banner :
       {"%%MatrixMarket matrix coordinate real general", "%%MatrixMarket matrix array real"}) {
    std::string const text = banner + "\n% of somebody\n3 3 2\n1 2 1\n2 3 0\n";
    refused([&] { return train(text); }, 1, {"is a Matrix Market matrix", "write it as CSV"});
    refused([&] { return ask(test::gzip(text), 2); }, 1, {"is a Matrix Market matrix"});
  }
  EXPECT_EQ(train("%% of somebody\n3,3,2\n1,2,1\n").rows, 2U);
}

TEST(column_key, names_a_column_as_options_find_it) {
  auto const of = [](std::string const& text, std::size_t column) {
    return column_key(find_dialect(text, {}), column);
  };
  std::string const rows = "1,2,3\n4,5,6\n7,8,9\n";
  EXPECT_EQ(of("a,b,c\n" + rows, 1), "b");
  EXPECT_EQ(of("a,b b,c\n" + rows, 1), "2");
  EXPECT_EQ(of("a,\"b,b\",c\n" + rows, 1), "2");
  EXPECT_EQ(of("a,a,c\n" + rows, 1), "2");
  EXPECT_EQ(of("x,none,c\n" + rows, 1), "2");
  EXPECT_EQ(of(rows, 2), "3");
  EXPECT_EQ(of(",1,2,x\n1,2,3,4\n2,2,4,4\n", 0), "-4");
}

}  // namespace
}  // namespace lull
