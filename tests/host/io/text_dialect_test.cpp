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
  for (std::string const& last :
       texts{"2.5\t3\t0\n", "0.125\t3\t0\n", "1234.567\t3\t0\n", "a,b\t3\t0\n", "1e-3\t3\t0\n"})
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

TEST(text_dialect, a_comment_may_name_the_columns) {
  for (auto const& [text, first] :
       {std::pair{"#,HP,Attack,legendary\n1,40,50,0\n2,41,52,1\n", ""},
        std::pair{"#label,x1,x2\n0,3,5\n1,6,7\n", "label"},
        std::pair{"# made in 2020\n# movieId,userId,rating\n1,2,3\n2,3,4\n", "movieId"},
        std::pair{"%a,%b,label\n0.5,1.5,0\n2.5,3.5,1\n", "a"}, std::pair{"# a b label\n0.5 1.5 0\n2.5 3.5 1\n", "a"},
        std::pair{"#\"a, b\";c\r\n1;2\r\n3;4\r\n", "a, b"}, std::pair{"# a\tb\r1\t2\r3\t4\r", "a"}}) {
    for (dialect_options const& given : {dialect_options{}, dialect_options{.header = true}}) {
      test::test_folder const folder;
      delimited_text reader{folder.write("rows.txt", text), given, {}};
      ASSERT_TRUE(reader.dialect().header) << text;
      EXPECT_EQ(reader.dialect().columns[0].name, first) << text;
      EXPECT_TRUE(has(to_string(reader.dialect()), "names in the comment before the rows")) << text;
      text_record record;
      std::uint64_t rows = 0;
      while (reader.next(record)) ++rows;
      EXPECT_EQ(rows, 2U) << text;
      EXPECT_EQ(reader.line(), 3U + (has(text, "2020") ? 1 : 0)) << text;
    }
    EXPECT_TRUE(has(read(text, {.header = false}).taken, "no line of names")) << text;
    EXPECT_EQ(read(text, {.header = false}).rows.size(), 2U) << text;
  }
  for (std::string const& text :
       texts{"# a,b\n1,2,3\n4,5,6\n", "# 1,2,3\n1,2,3\n", "# a,b,3\n1,2,3\n", "% bip weighted posweighted\n1 2 3\n",
             "% sym unweighted\n1 2\n", "# a,b,c\n\n1,2,3\n", "#\n1,2,3\n"})
    EXPECT_TRUE(has(read(text).taken, "no line of names")) << text;
  EXPECT_TRUE(has(read("# u,v,w\na,b,c\n1,2,3\n").taken, "names in the first line"));
  EXPECT_EQ(read("# u,v,w\na,b,c\n1,2,3\n", {.header = true}).rows.size(), 1U);
  EXPECT_EQ(read("# words\n3\n4\n", {.comments = comment_lines::anywhere}).rows.size(), 2U);
}

TEST(text_dialect, a_zero_byte_is_refused_in_any_row) {
  std::string const zero(1, '\0');
  for (auto const& [text, line] :
       {std::pair{"a,b\n1,2\n5" + zero + ",6\n", ":3:"}, std::pair{"1,2,x\n3,4,y\n5,6,x" + zero + "\n7,8,y\n", ":3:"},
        std::pair{"1,2\n3,4\n" + zero + zero + "\n", ":3:"}, std::pair{"1,2\r3,4\r\"5\"" + zero + ",6\r", ":3:"},
        std::pair{"1,\"a\n" + zero + "\"\n3,4\n", ":2:"},
        std::pair{repeated(200'000, "1,2\n") + "3," + zero + "\n", ":200001:"}}) {
    std::string const refused = read(text).refused;
    EXPECT_TRUE(has(refused, line)) << refused;
    EXPECT_TRUE(has(refused, "zero byte")) << refused;
  }
}

TEST(text_dialect, a_line_longer_than_a_block_is_refused) {
  for (std::size_t const bytes : {70'000UL, 262'143UL, 262'144UL, 600'000UL, 3'000'000UL}) {
    std::string const refused = read("1,2\n" + std::string(bytes, '9') + ",2\n3,4\n").refused;
    EXPECT_TRUE(has(refused, ":2: a line of more than 65536 bytes")) << bytes << refused;
    EXPECT_NE(read(std::string(bytes, '9') + ",2\n3,4\n").refused, "") << bytes;
  }
}

bool is_header(std::string const& text) { return read(text).taken.find("names in the first line") != text.npos; }

TEST(text_dialect, names_may_be_numbers_that_do_not_count) {
  std::string const spectra = "0.5,0.6,0.7,a\n0.4,0.6,0.8,b\n0.5,0.5,0.7,a\n0.5,0.5,0.7,b\n";
  for (std::string const& text :
       texts{"400,402,404,label\n" + spectra, "400.5,402.5,404.5,Class\n" + spectra,
             "900,880,860,species\n" + replaced(spectra, ".", ""), "400,402,404,sort\n" + spectra,
             "0,1,2,target\n" + spectra, std::string{"country,1990,1991\na,5,6\nb,7,8\na,5,6\nb,5,5\n"},
             std::string{"400;402;404;label\n"} + replaced(replaced(spectra, ",", ";"), ".", ","),
             std::string{"400,402,404,label\n1.5,2.5,3.5,0\n2.5,3.5,4.5,1\n"}})
    EXPECT_TRUE(is_header(text)) << text << read(text).taken;
  EXPECT_TRUE(has(read("400,402,404,sort\n" + spectra).taken, "header=no"));
  EXPECT_FALSE(has(read("400,402,404,label\n" + spectra).taken, "header=no"));
  for (std::string const& text : texts{std::string{"1.5,2.5,y\n0.5,2,x\n3,4,y\n"},  // classes y and x
                                       "0.5,0.1,0.7,a\n" + spectra, std::string{"3,1,2,rare\n"} + spectra})
    EXPECT_FALSE(is_header(text)) << text << read(text).taken;
  EXPECT_TRUE(is_header("id,country,1990,1991\n7,a,5,6\n8,b,7,8\n"));
  EXPECT_FALSE(is_header("a,b,0\n1,2,0\n3,4,1\n"));
  EXPECT_FALSE(has(read("2020-01-01,3,4\n2020-01-02,5,6\n").taken, "header="));
  for (std::string const& text : texts{"Ann,3,4\nBob,5,6\nEve,1,2\n", "400,402,first\n1,2,a\n3,4,b\n"}) {
    EXPECT_FALSE(is_header(text)) << text;
    EXPECT_TRUE(has(read(text).taken, "if it names the columns, give header=yes")) << text << read(text).taken;
  }
}

TEST(text_dialect, a_missing_value_is_no_name) {
  for (std::string const& missing : texts{"NA", "nan", "?", "-", "null", "None", "N/A", "NaN", "\"\"", "#N/A"}) {
    for (std::string const& rows : texts{",1\n3.2,0\n", ",1,2,3,4\n0.5,1.5,2,0,1\n", ",0,1\n0.3,2,0\n"}) {
      if (missing.starts_with('#') && rows.size() > 30) continue;
      EXPECT_FALSE(is_header(missing + rows)) << missing + rows;
    }
  }
  EXPECT_FALSE(is_header("0.5,NA,1\n3.2,1,0\n"));
  EXPECT_FALSE(is_header("NA,nan,?\n3.2,1,0\n"));
  EXPECT_FALSE(is_header("?,-\n"));
  EXPECT_FALSE(is_header(",0,1\n0.3,2,0\n1.5,2,1\n"));
  EXPECT_TRUE(is_header(",0,1\n0,2,5\n1,2,7\n"));
  EXPECT_TRUE(is_header(",0,1\nx,2,5\ny,2,7\n"));
  EXPECT_TRUE(is_header("Na,Mg,Al\n1,2,3\n4,5,6\n"));
}

TEST(text_dialect, a_colon_within_fields_divides_nothing) {
  for (auto const& [text, sign] :
       {std::pair{"1:30,2:40,0\n1:31,2:41,1\n", ","}, std::pair{"lap1,lap2,won\n1:30,2:40,0\n1:31,2:41,1\n", ","},
        std::pair{"10:10:00,0\n10:11:00,1\n", ","}, std::pair{"1:30;2:40\n1:31;2:41\n", ";"},
        std::pair{"10:10:00\t1\t5:5\n10:11:00\t2\t6:6\n", "\t"}, std::pair{"1:2|3:4\n5:6|7:8\n", "|"},
        std::pair{"1:2:3\n4:5:6\n", ":"}, std::pair{"1:2:a\n4:5:b, c\n", ":"}})
    EXPECT_EQ(find_dialect(text, {}).delimiter, sign) << text;
}

TEST(text_dialect, names_are_one_line_of_clean_text) {
  auto const named = [](std::string const& name) {
    return column_text(find_dialect("\"" + name + "\",b\n1,2\n3,4\n", {.header = true}), 0);
  };
  EXPECT_EQ(named("la\nbel \x1b[31mred"), "column 1 (la?bel ?[31mred)");
  EXPECT_EQ(named("a\r\nb\tc\x7f"), "column 1 (a?\?b?c?)");
  EXPECT_EQ(named("gr\xc3\xb6\xc3\x9f"
                  "e"),
            "column 1 (gr\xc3\xb6\xc3\x9f"
            "e)");
  EXPECT_EQ(named("gr\xf6\xdf"
                  "e"),
            "column 1 (gr?\?e)")
      << "no UTF-8";
  EXPECT_EQ(named("\xc2\x9b"
                  "31m\xe2\x80\xa8x\xe2\x80\xae"),
            "column 1 (?31m?x?)")
      << "control signs of Unicode";
  EXPECT_EQ(named("\xed\xa0\x80\xc0\xaf"), "column 1 (?\?\?\?\?)") << "what UTF-8 forbids";
  EXPECT_EQ(named(repeated(39, "x") + "\xc3\xbc"), "column 1 (" + repeated(39, "x") + "…)");
  EXPECT_EQ(named(repeated(38, "x") + "\xc3\xbc"), "column 1 (" + repeated(38, "x") + "\xc3\xbc)");
  EXPECT_EQ(named(repeated(50, "x")), "column 1 (" + repeated(40, "x") + "…)");
}

}  // namespace
}  // namespace lull
