// SPDX-License-Identifier: Apache-2.0
// Ratings as programs and people write them: each text below is the same three ratings.
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <iterator>
#include <lull/graph/graph_sgd/ratings.hpp>
#include <lull/host/error.hpp>
#include <lull/tests/graph/graph_file.hpp>
#include <string>
#include <string_view>
#include <vector>

namespace lull {
namespace {

std::vector<rating> const three{{14, 3, 3}, {13, 19, 2.5F}, {5, 29, 4}};

std::vector<rating> list(ratings const& from) { return {from.all.begin(), from.all.end()}; }

void expect_three(std::string const& text, std::string const& said = "", rating_format const& format = {}) {
  test::test_folder const folder;
  try {
    ratings const read = read_ratings(folder.write("ratings", text), {}, format);
    EXPECT_EQ(list(read), three) << text;
    EXPECT_NE(read.taken.find(said), std::string::npos) << text << " → " << read.taken;
  } catch (error const& refused) {
    ADD_FAILURE() << text << " → " << refused.what();
  }
}

std::string refusal(std::string const& text, rating_format const& format = {}) {
  test::test_folder const folder;
  try {
    read_ratings(folder.write("ratings", text), {}, format);
  } catch (error const& refused) {
    return refused.what();
  }
  return {};
}

void expect_refused(std::string const& text, std::string const& says, rating_format const& format = {}) {
  std::string const said = refusal(text, format);
  EXPECT_NE(said.find(says), std::string::npos) << text << " → " << said;
}

std::string const plain = "14,3,3\n13,19,2.5\n5,29,4\n";

std::string replaced(std::string text, std::string const& from, std::string const& to) {
  for (std::size_t at = 0; (at = text.find(from, at)) != std::string::npos; at += to.size())
    text.replace(at, from.size(), to);
  return text;
}

TEST(rating_formats, a_byte_order_mark_is_no_header) {
  std::string const mark = "\xef\xbb\xbf";
  expect_three(mark + plain, "no line of names");
  expect_three(mark + "user,item,rating\n" + plain, "names in the first line");
  expect_three(mark + "\"user\",\"item\",\"rating\"\n" + plain, "names in the first line");
  expect_three(mark + replaced(plain, "\n", "\r\n"));
  expect_three(mark + replaced(plain, ",", "\t"), "separated by tabs");
  expect_refused("\xff\xfe" + plain, "UTF-16");
}

TEST(rating_formats, lines_end_as_they_do) {
  expect_three(replaced(plain, "\n", "\r\n"));
  expect_three(replaced(plain, "\n", "\r"));
  expect_three("user,item,rating\r" + replaced(plain, "\n", "\r"), "names in the first line");
  expect_three(plain.substr(0, plain.size() - 1));
  expect_three(replaced(plain, "\n", "\r").substr(0, plain.size() - 1));
  expect_three(replaced(plain, "\n", "\n\n"));
  expect_refused("14,3,3\n13,19,2.5\r5,29,4\n", ":2: 5 columns instead of 3");
}

TEST(rating_formats, returns_end_the_lines_of_long_files) {
  test::test_folder const folder;
  std::string text;
  for (int row = 0; row < 100'000; ++row) text += std::to_string(row) + "," + std::to_string(row % 7) + ",3.5\r";
  ratings const read = read_ratings(folder.write("ratings.csv", text));
  EXPECT_EQ(read.all.size(), 100'000U);
  EXPECT_EQ(read.all[99'999], (rating{99'999, 99'999 % 7, 3.5F}));
}

TEST(rating_formats, a_comma_is_a_decimal_sign_beside_another_delimiter) {
  std::string const comma = replaced(replaced(plain, ",", ";"), ".", ",");
  expect_three(comma, "separated by semicolons, decimal commas");
  expect_three("\"user\";\"item\";\"rating\"\n" + comma, "decimal commas");
  expect_three(replaced(comma, ";", "\t"), "separated by tabs, decimal commas");
  expect_three(replaced(comma, ";", " "), "separated by blanks, decimal commas");
  expect_three(replaced(comma, ";", "|"), "separated by bars, decimal commas");
  expect_three(replaced(plain, ",", ";"), "separated by semicolons");
  expect_three("14;3;\"3\"\n13;19;\"2,5\"\n5;29;\"4,0\"\n", "decimal commas");
  std::string late;  // the sign comes after the first rows
  for (int row = 0; row < 200; ++row) late += "1;2;3\n";
  expect_refused(late + "1;2;3,5\n1;2;4,5\n", ":201: column 3: `3,5`");
  expect_refused(late + "1;2;3,5\n1;2;4,5\n", "give decimal=");
  EXPECT_EQ(refusal(late + "1;2;3,5\n1;2;4,5\n", {.dialect = {.decimal = ','}}), "");
  EXPECT_NE(refusal(late + "1;2;3.5\n1;2;4,5\n").find(":202: column 3"), std::string::npos);
  expect_refused("user\titem\trating\n" + replaced(late, ";", "\t") + "3\t4\t1,200\n", ":202: column 3 (rating)");
}

TEST(rating_formats, an_empty_field_is_told_with_its_place) {
  std::string const header = "userId,movieId,rating,timestamp\n";
  expect_refused(header + "5,,3,964982703\n14,3,3,964982703\n", ":2: column 2 (movieId) is empty");
  expect_refused(header + "5,1,3,9\n,3,3,9\n", ":3: column 1 (userId) is empty");
  expect_refused(header + "5,1,3,9\n4,3,,9\n", ":3: column 3 (rating) is empty");
  expect_refused(header + "5,1,3,9\n4,3,\"\",9\n", ":3: column 3 (rating) is empty");
  expect_refused("1;2;3\n1; ;3\n", ":2: column 2 is empty");
  expect_refused("1::2::3\n1::::3\n", ":2: column 2 is empty");
  expect_refused("1\t2\t3\n\t2\t3\n", ":2: column 1 is empty");
}

TEST(rating_formats, the_names_say_which_column_is_which) {
  expect_three(",userId,movieId,rating\n0,14,3,3\n1,13,19,2.5\n2,5,29,4\n", "user is column 2 (userId)");
  expect_three("timestamp,userId,movieId,rating\n9,14,3,3\n8,13,19,2.5\n9,5,29,4\n", "not read: column 1 (timestamp)");
  expect_three("rating,item_id,USER ID\n3,3,14\n2.5,19,13\n4,29,5\n", "item is column 2 (item_id)");
  expect_three("Unnamed: 0,user,item,rating\n0,14,3,3\n1,13,19,2.5\n2,5,29,4\n", "user is column 2 (user)");
  expect_three("stars\tbook_id\tuid\n3\t3\t14\n2.5\t19\t13\n4\t29\t5\n", "rating is column 1 (stars)");
  expect_three(",0,1,2\n0,14,3,3\n1,13,19,2.5\n2,5,29,4\n", "user is column 2 (0)");
  expect_refused("a,b,c,d\n1,2,3,4\n", "which columns are the user, the item and the rating? The names are `a`, `b`");
  expect_refused("userId,b,rating\n1,2,3\n", ":1: which columns");
}

TEST(rating_formats, three_columns_of_unknown_names_are_asked_for) {
  for (std::string const names :
       {"a,b,c", "Note,Nutzer,Buch", "utente,pellicola,voto", "date,Nutzer,Buch", "x,y,rating"})
    expect_refused(names + "\n" + plain, ":1: which columns are the user, the item and the rating? The names are `");
  expect_refused("# Note,Nutzer,Buch\n" + plain, "header=no");
  expect_three("a,b,c\n" + plain, "user is column 1 (a)", {.columns = "a,b,c"});
}

/// What a shell makes of the advice, without the ellipsis.
std::string pasted(std::string const& message) {
  std::size_t const begin = message.find("\"…,");
  std::size_t const end = message.find('"', begin + 1);
  if (begin == message.npos || end == message.npos) return "no advice: " + message;
  test::test_folder const folder;
  std::string const to = (folder.path() / "said").string();
  std::string const command = "printf %s " + message.substr(begin, end + 1 - begin) + " > " + to;
  if (std::system(command.c_str()) != 0) return "the shell refuses: " + command;
  std::ifstream file{to};
  std::string const said{std::istreambuf_iterator<char>{file}, {}};
  return said.substr(std::string_view{"…,"}.size());
}

TEST(rating_formats, advice_may_be_pasted_into_a_shell) {
  for (std::string const names :
       {"a,b,c", "the user,the film,how good", "\"a,b\",\"c,d\",e", "it's,\"say \"\"x\"\"\",$HOME", "`a`,b;c,d\\"}) {
    std::string const text = names + "\n" + plain;
    EXPECT_EQ(pasted(refusal(text)), "columns='1,2,3'") << text;
    expect_three(text, "user is column 1", {.columns = "1,2,3"});
  }
  test::test_folder const folder;
  std::string const counted = read_ratings(folder.write("ratings", "1,14,3,3\n2,13,19,2.5\n3,5,29,4\n"), {}, {}).taken;
  EXPECT_EQ(pasted(counted), "columns='2,3,4'");
}

TEST(rating_formats, ids_that_are_text_are_refused_with_what_to_do) {
  for (std::string const id :
       {"user_17", "3f2504e0-4f89-11d3-9a0c-0305e82c3301", "A1", "tt0111161", "17a", "Ann Lee"}) {
    expect_refused("user,item,rating\n" + id + ",3,3\n5,29,4\n",
                   ":2: column 1 (user): expected the id of a user, a whole");
    expect_refused("user,item,rating\n" + id + ",3,3\n5,29,4\n", "; number ids that are text, for example: ");
    expect_refused("user,item,rating\n3," + id + ",3\n5,29,4\n", "t[NAME] = pandas.factorize(t[NAME])[0]");
  }
  for (std::string const id : {"2.5", "-1", "", "1e3"}) {
    std::string const said = refusal("user,item,rating\n" + id + ",3,3\n5,29,4\n");
    EXPECT_NE(said.find("expected the id of a user"), said.npos) << id;
    EXPECT_EQ(said.find("factorize"), said.npos) << id;
  }
}

TEST(rating_formats, better_known_names_go_first) {
  expect_three("i,user,item,rating\n0,14,3,3\n1,13,19,2.5\n2,5,29,4\n", "item is column 3 (item)");
  expect_three("user_id,item_id,weight,rating\n14,3,1,3\n13,19,1,2.5\n5,29,1,4\n", "rating is column 4 (rating)");
  expect_three("userId,movie,movieId,rating\n14,A,3,3\n13,B,19,2.5\n5,C,29,4\n", "item is column 3 (movieId)");
  expect_three("u,r,value,item,userID\n1,9,3,3,14\n2,9,2.5,19,13\n3,9,4,29,5\n", "rating is column 3 (value)");
  expect_three("user,user_id,book,rating\nx,14,3,3\ny,13,19,2.5\nz,5,29,4\n", "user is column 2 (user_id)");
  expect_three("\"User-ID\";\"ISBN\";\"Book-Rating\"\n14;3;3\n13;19;2.5\n5;29;4\n", "item is column 2 (ISBN)");
  expect_three("reviewerID,asin,overall,reviewTime\n14,3,3,9\n13,19,2.5,9\n5,29,4,9\n", "item is column 2 (asin)");
}

TEST(rating_formats, a_comment_may_name_the_columns) {
  expect_three("# movieId,userId,rating\n3,14,3\n19,13,2.5\n29,5,4\n", "user is column 2 (userId)");
  expect_three("# user item rating\n" + replaced(plain, ",", " "), "names in the comment before the rows");
  expect_three("# item user rating\n" + replaced(plain, ",", " "), "no line of names", {.dialect = {.header = false}});
  expect_refused("#userId\tmovieId\trating\n1\t2\tx\n", ":2: column 3 (rating): expected a rating");
}

TEST(rating_formats, a_zero_byte_is_refused_with_its_line) {
  std::string const zero(1, '\0');
  expect_refused("user,item,rating\n1,2,3\n1,2" + zero + ",3\n", ":3: holds a zero byte");
  expect_refused("1,2,3,x\n1,2,3," + zero + "\n", ":2: holds a zero byte");
}

TEST(rating_formats, columns_are_given_by_name_or_number) {
  std::string const text = "when,who,what,how\n9,14,3,3\n8,13,19,2.5\n7,5,29,4\n";
  expect_three(text, "user is column 2 (who)", {.columns = "who,what,how"});
  expect_three(text, "", {.columns = "2,3,4"});
  expect_three(text, "", {.columns = "-3, -2, -1"});
  expect_three("0,14,3,3\n1,13,19,2.5\n2,5,29,4\n", "not read: column 1", {.columns = "2,3,4"});
  expect_refused(text, "there is no column `whom`", {.columns = "whom,what,how"});
  expect_refused(text, "names one column twice", {.columns = "who,who,how"});
  expect_refused(text, "names 2 columns", {.columns = "who,what"});
  expect_refused(plain, "there is no column `4`; the file has 3 columns", {.columns = "4,1,2"});
}

TEST(rating_formats, the_dialect_is_given) {
  expect_three("14,3,3\n" + plain, "names in the first line", {.dialect = {.header = true}});
  expect_refused("a,b,c\n" + plain, ":1: column 1: expected the id of a user", {.dialect = {.header = false}});
  expect_refused(plain, "1 column, but a rating has three", {.dialect = {.delimiter = ";"}});
  expect_three("\"14\",\"3\",\"3\"\n13,19,\"2,5\"\n5,29,4\n", "decimal commas", {.dialect = {.decimal = ','}});
  expect_refused("13,19,\"2,5\"\n", "column 3: expected a rating");
}

TEST(rating_formats, what_could_be_read_in_two_ways_is_told) {
  test::test_folder const folder;
  auto const taken = [&](std::string const& text) { return read_ratings(folder.write("r", text)).taken; };
  EXPECT_NE(taken("0,1,2\n5,3,4\n").find("if it names the columns, give header=yes"), std::string::npos);
  EXPECT_NE(taken("0,1,2\n5,3,4.0\n6,3,2.5\n").find("names in the first line"), std::string::npos);
  EXPECT_NE(taken("0,14,3,3\n1,13,19,2\n2,5,29,4\n").find("column 1 counts the rows"), std::string::npos);
}

TEST(rating_formats, quotes_are_those_of_rfc_4180) {
  expect_three("\"userId\",\"movieId\",\"rating\"\n\"14\",\"3\",\"3.0\"\n\"13\",\"19\",\"2.5\"\n\"5\",\"29\",\"4\"\n");
  std::string const header = "userId,title,movieId,rating\n";
  expect_three(header + "14,\"Up, up\",3,3\n13,\"\"\"Q\"\"\",19,2.5\n5,,29,4\n", "not read: column 2 (title)");
  expect_three(header + "14,\"two\nlines\",3,3\n13,x,19,2.5\n5,\"and\r\n\r\nmore\",29,4\n");
  expect_three("userId,movieId,rating,title\n14,3,3,\"a \"\"b\"\"\"\n13,19,2.5,\"c,d\"\n5,29,4,\"e\nf\"\n");
  expect_three("14,\"3\" , 3\n13,19,\"2.5\"\n\"5\",29,4\n");
  expect_refused(header + "14,\"two\nlines\",3,3\n13,x,,2.5\n", ":4: column 3 (movieId) is empty");
  expect_refused(header + "14,\"open,3,3\n13,x,2,2.5\n", ":2: a quoted field is not closed");
}

TEST(rating_formats, quoted_fields_go_across_blocks_of_text) {
  test::test_folder const folder;
  std::string text = "userId,movieId,rating,comment\n";
  for (int row = 0; row < 30'000; ++row)
    text += std::to_string(row) + ",1,2.5,\"a comment\nof two lines, number " + std::to_string(row) + "\"\n";
  ratings const read = read_ratings(folder.write("ratings.csv", text));
  ASSERT_EQ(read.all.size(), 30'000U);
  for (std::uint32_t row = 0; row < 30'000; ++row) ASSERT_EQ(read.all[row], (rating{row, 1, 2.5F}));
  try {
    read_ratings(folder.write("ratings.csv", text + "x,1,2,\n"));
    ADD_FAILURE();
  } catch (input_error const& refused) {
    EXPECT_EQ(refused.line(), 60'002U);
  }
  expect_refused("1,2,3,\"" + std::string(300'000, 'x') + "\n", "more than 65536 bytes");
  expect_refused("1,2,3,\"" + std::string(100'000, '\n'), "a quoted field is not closed within 65536 bytes");
}

TEST(rating_formats, lines_of_comments_come_first) {
  expect_three("% bip weighted posweighted\n" + replaced(plain, ",", " "));
  expect_three("# user item rating\n# of 2020\n\n" + replaced(plain, ",", "\t"));
  EXPECT_NE(refusal("# one\n# two\n1,2,3\n1,x,3\n").find(":4: column 2"), std::string::npos);
}

TEST(rating_formats, a_matrix_counts_from_one) {
  std::string const banner = "%%MatrixMarket matrix coordinate real general\n";
  std::string const rows = "15 4 3.0\n14 20 2.5\n6 30 4\n";
  expect_three(banner + "60 40 3\n" + rows, "a Matrix Market matrix");
  expect_three(banner + "% a comment\n%\n60 40 3\n" + rows);
  expect_three("\xef\xbb\xbf" + banner + "60 40 3\n" + rows);
  expect_three(replaced(banner + "60 40 3\n" + rows, "\n", "\r\n"));
  expect_three(replaced(banner, "real", "Integer") + "60 40 3\n" + rows);
  test::test_folder const folder;
  EXPECT_EQ(read_ratings(folder.write("m.mtx", banner + "60 40 3\n" + rows)).users, 60U);
  EXPECT_EQ(read_ratings(folder.write("m.mtx.gz", test::gzip(banner + "60 40 3\n" + rows))).items, 40U);
  expect_refused(banner + "60 40 4\n" + rows, "declares 4 entries, but holds 3");
  expect_refused(banner + "60 40 1\n0 1 2\n", ":3: column 1: expected the id of a user, a whole number from 1");
  expect_refused(banner + "60 40 1\n1 41 2\n", ":3: column 2: 41 is larger than the declared number of columns");
  expect_refused(banner + "60 40 3\n" + rows, "is for delimited text", {.columns = "1,2,3"});
}

TEST(rating_formats, a_symmetric_matrix_holds_one_triangle) {
  std::string const banner = "%%MatrixMarket matrix coordinate integer symmetric\n";
  test::test_folder const folder;
  std::vector<rating> const both{{0, 0, 5}, {1, 0, 4}, {2, 1, 3}, {0, 1, 4}, {1, 2, 3}};
  std::vector<rating> const other{{0, 0, 5}, {0, 1, 4}, {1, 2, 3}, {1, 0, 4}, {2, 1, 3}};
  for (std::string const end : {"\n", "\r\n", "\r"}) {
    auto const lower =
        read_ratings(folder.write("l.mtx", replaced(banner + "3 3 3\n1 1 5\n2 1 4\n3 2 3\n", "\n", end)));
    EXPECT_EQ(list(lower), both);
    EXPECT_NE(lower.taken.find("symmetric: entries beside the diagonal count both ways"), std::string::npos);
  }
  EXPECT_EQ(list(read_ratings(folder.write("u.mtx", banner + "3 3 3\n1 1 5\n1 2 4\n2 3 3\n"))), other);
  EXPECT_EQ(list(read_ratings(folder.write("d.mtx", banner + "3 3 1\n2 2 5\n"))), (std::vector<rating>{{1, 1, 5}}));
  expect_refused(banner + "3 3 2\n2 1 5\n1 3 4\n", "has entries on both sides of the diagonal");
  expect_refused(banner + "3 4 1\n2 1 5\n", ":2: a symmetric matrix has as many rows as columns");
  expect_refused(banner + "3 3 2\n2 1 5\n", "declares 2 entries, but holds 1");
  auto const path = folder.write("s.mtx", banner + "3 3 2\n2 1 5\n3 1 5\n");
  EXPECT_EQ(read_ratings(path, {.max_ratings = 4}).all.size(), 4U);
  EXPECT_THROW(read_ratings(path, {.max_ratings = 3}), input_error);
}

TEST(rating_formats, matrices_without_one_value_an_entry_are_refused) {
  std::string const banner = "%%MatrixMarket matrix ";
  expect_refused(banner + "coordinate pattern general\n60 40 1\n1 1\n", ":1: a pattern has no values");
  expect_refused(banner + "coordinate pattern symmetric\n60 60 1\n1 1\n", ":1: a pattern has no values");
  expect_refused(banner + "coordinate complex general\n60 40 1\n1 1 1 0\n", ":1: complex values are not supported");
  expect_refused(banner + "coordinate complex hermitian\n60 60 1\n1 1 1 0\n", ":1: complex values are not");
  expect_refused(banner + "coordinate real skew-symmetric\n60 60 1\n2 1 1\n", ":1: skew-symmetric matrices are not");
  expect_refused(banner + "array real general\n2 2\n1\n2\n3\n4\n", ":1: a dense matrix (`array`) is not read");
  expect_refused(banner + "coordinate double general\n2 2 1\n1 1 1\n", ":1: expected `%%MatrixMarket");
  expect_refused(banner + "coordinate real general\n% no size\n", ":2: the file ends where the line `ROWS");
  expect_refused(banner + "coordinate real general\n2 x 1\n", ":2: the number of columns `x` is not a whole number");
}

}  // namespace
}  // namespace lull
