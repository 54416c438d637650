// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <filesystem>
#include <limits>
#include <numeric>
#include <string>

#include <lull/host/error.hpp>
#include <lull/host/io/host_memory.hpp>
#include <lull/host/task/counter_random.hpp>
#include <lull/tasks/mlp/labelled_rows.hpp>
#include <lull/tests/graph/graph_file.hpp>

namespace lull {
namespace {

using test::gzip;
using test::test_folder;

using floats = std::vector<float>;
using labels = std::vector<std::uint32_t>;

void expect_refused(std::string const& path, std::uint64_t line, std::string const& expected,
                    labelled_limits const& limits = {}) {
  try {
    auto const found = read_labelled_rows(path, limits);
    ADD_FAILURE() << path << " was read, " << found.rows << " rows: " << expected;
  } catch (input_error const& error) {
    std::string const what = error.what();
    EXPECT_EQ(error.file(), path);
    EXPECT_EQ(error.line(), line) << what;
    EXPECT_EQ(what, path + (line == 0 ? "" : ":" + std::to_string(line)) + ": " + expected);
  }
}

TEST(labelled_rows, the_shipped_digits) {
  auto const digits = read_labelled_rows(LULL_DATA_FOLDER "/digits.csv.gz");
  EXPECT_EQ(digits.rows, 1797u);
  EXPECT_EQ(digits.features, 64u);
  EXPECT_EQ(digits.classes, 10u);
  ASSERT_EQ(digits.values.size(), 1797u * 64);
  ASSERT_EQ(digits.labels.size(), 1797u);
  EXPECT_TRUE(std::all_of(digits.values.begin(), digits.values.end(),
                          [](float pixel) { return pixel >= 0 && pixel <= 16 && pixel == std::floor(pixel); }));
  EXPECT_EQ(*std::max_element(digits.values.begin(), digits.values.end()), 16);
  EXPECT_EQ(std::accumulate(digits.values.begin(), digits.values.end(), 0.0), 561718);
  std::array<std::uint32_t, 10> images{};
  for (auto const label : digits.labels) ++images[label];
  EXPECT_EQ(images, (std::array<std::uint32_t, 10>{178, 182, 177, 183, 181, 182, 181, 179, 174, 180}));
  EXPECT_EQ(floats(digits.values.begin(), digits.values.begin() + 8), (floats{0, 0, 5, 13, 9, 1, 0, 0}));
  EXPECT_EQ(labels(digits.labels.end() - 3, digits.labels.end()), (labels{8, 9, 8}));
}

TEST(labelled_rows, reads_numbers_as_they_are_written) {
  test_folder const folder;
  std::string const text =
      "1,2.5,0\r\n"
      "\n"
      " -1e2 ,\t+0.125 , 3.000000e+00\n"
      "  \r\n"
      "1e-60,3.4028235e38,1\n"
      "1e-45,-0,01";
  for (auto const& path :
       {folder.write("rows.csv", text), folder.write("rows.csv.gz", gzip(text)), folder.write("plain.csv.gz", text)}) {
    auto const found = read_labelled_rows(path);
    EXPECT_EQ(found.rows, 4u);
    EXPECT_EQ(found.features, 2u);
    EXPECT_EQ(found.classes, 4u);  // 2 is without rows
    EXPECT_EQ(found.values, (floats{1, 2.5F, -100, 0.125F, 0, std::numeric_limits<float>::max(),
                                    std::numeric_limits<float>::denorm_min(), 0}));
    EXPECT_EQ(found.labels, (labels{0, 3, 1, 1}));
  }
}

TEST(labelled_rows, a_line_of_names_may_come_first) {
  test_folder const folder;
  for (std::string const names :
       {"width,height,class", "\xef\xbb\xbf\"width\",\"height\",\"class\"", "a,,1x", "\n\n width , b, c\r"}) {
    auto const found = read_labelled_rows(folder.write("rows.csv", names + "\n1,2,0\n3,4,1\n"));
    EXPECT_EQ(found.rows, 2u);
    EXPECT_EQ(found.values, (floats{1, 2, 3, 4}));
  }
  expect_refused(folder.write("rows.csv", "a,b,0\n1,2,0\n3,4,1\n"), 1, "`a` in column 1 is not a number");
  expect_refused(
      folder.write("rows.csv", "a,b,c\na,b,c\n3,4,1\n"), 2,
      "`a` in column 1 (a) is not a number; the line seems to be a second line of names, or of units: delete "
      "it");
  expect_refused(folder.write("rows.csv", "a,b\n1,2,0\n3,4,1\n"), 1,
                 "has names for 2 columns, but the rows have 3: the first column may be row names, or any name may be "
                 "missing: add the name (in R: write.table(…, col.names = NA))");
}

TEST(labelled_rows, what_is_no_row_is_refused_with_file_and_line) {
  using namespace std::string_literals;
  struct malformed {
    std::string text;
    std::uint64_t line;
    std::string expected;
  };
  std::string const good = "1,2,0\n3,4,1\n";
  std::vector<malformed> const table{
      {"", 0, "is empty"},
      {"\n \r\n", 0, "is empty"},
      {"a,b,c\n", 0, "holds a line of column names, but no rows"},
      {"1\n2\n", 1, "one column, but a row has at least one number and then, after a comma, its label"},
      {good + "\n5,6\n", 4, "2 columns instead of 3 as in line 1"},
      {good + "5,6,7,1\n", 3, "4 columns instead of 3 as in line 1"},
      {"\n" + good + "5,6\n", 4, "2 columns instead of 3 as in line 2"},
      {good + "5,six,1\n", 3, "`six` in column 2 is not a number"},
      {good + "5,,1\n", 3, "column 2 is empty"},
      {good + "5,6 7,1\n", 3, "`6 7` in column 2 is not a number"},
      {good + "5,0x10,1\n", 3, "`0x10` in column 2 is not a number"},
      {good + "5,+-1,1\n", 3, "`+-1` in column 2 is not a number"},
      {good + "5,++1,1\n", 3, "`++1` in column 2 is not a number"},
      {good + "5,1.5.2,1\n", 3, "`1.5.2` in column 2 is no number, but a date: write numbers alone, or give drop=2"},
      {good + "5,\"6\"x,1\n", 3, "column 2: text after the closing quote; a quote within is doubled"},
      {good + "5,6\0,1\n"s, 3, "holds a zero byte: the file is damaged, or no text"},
      {good + "5,6\r5,6,1\n", 3, "4 columns instead of 3 as in line 1"},
      {good + "nan,6,1\n", 3, "`nan` in column 1 is not a finite number"},
      {good + "5,-inf,1\n", 3, "`-inf` in column 2 is not a finite number"},
      {good + "5,Infinity,1\n", 3, "`Infinity` in column 2 is not a finite number"},
      {good + "5,3.5e38,1\n", 3, "`3.5e38` in column 2 does not fit a float"},
      {good + "5,1e999,1\n", 3, "`1e999` in column 2 does not fit a float"},
      {good + "5,1e-999,1\n", 3, "`1e-999` in column 2 does not fit a float"},
      {good + "5,6,-1\n", 3,
       "the label `-1` in column 3 is negative: classes count from 0, or are -1 and 1; another row has 0"},
      {good + "5,6,1.5\n", 3,
       "the label `1.5` in column 3 is not a whole number: labels are classes, 0, 1, 2 and so on, or text; "
       "label=NUMBER "
       "takes another column"},
      {good + "5,6,one\n", 3, "the label `one` in column 3 is not a number, as other labels are: mend it"},
      {good + "5,6,\n", 3,
       "the label in column 3 is empty: if each row ends in a delimiter, drop=-1 leaves that column out; or else leave "
       "the row out"},
      {good + "5,6,nan\n", 3, "the label `nan` in column 3 is a mark for a missing value: leave the row out"},
      {good + "5,6,inf\n", 3, "the label `inf` in column 3 is not a finite number"},
      {good + "5,6,1e999\n", 3, "the label `1e999` in column 3 is not a finite number"},
      {good + "5,6,65536\n", 3,
       "the label `65536` in column 3 is over the limit: max_classes = 65536 allows labels up to 65535"},
      {good + "5,6,1e30\n", 3,
       "the label `1e30` in column 3 is over the limit: max_classes = 65536 allows labels up to 65535"},
      {"1,2,3\n4,5,3\n", 0, "holds a single class: every label in column 3 is 3, so there is nothing to tell apart"},
      {good + std::string(2097153, ' ') + "\n", 3, "a line of more than 2097152 bytes"},
      {good + std::string(9 << 20, '1'), 3, "a line of more than 2097152 bytes"},
  };
  test_folder const folder;
  for (auto const& [text, line, expected] : table) {
    expect_refused(folder.write("rows.csv", text), line, expected);
    expect_refused(folder.write("rows.csv.gz", gzip(text)), line, expected);
  }
  EXPECT_NO_THROW(read_labelled_rows(folder.write("rows.csv", good)));
}

TEST(rows_to_class, need_no_labels) {
  test_folder const folder;
  auto const plain = read_rows_to_class(folder.write("rows.csv", "1,2\n3,4\n5,6\n"), 2);
  EXPECT_EQ(plain.rows, 3u);
  EXPECT_EQ(plain.features, 2u);
  EXPECT_EQ(plain.classes, 0u);
  EXPECT_EQ(plain.values, (floats{1, 2, 3, 4, 5, 6}));
  EXPECT_TRUE(plain.labels.empty());
  auto const labelled = read_rows_to_class(folder.write("rows.csv", "a,b,c\n1,2,3\n3,4,3\n"), 2);  // one class will do
  EXPECT_EQ(labelled.labels, (labels{3, 3}));
  EXPECT_EQ(labelled.classes, 4u);
  EXPECT_EQ(labelled.values, (floats{1, 2, 3, 4}));
  EXPECT_EQ(read_rows_to_class(folder.write("rows.csv", "1\n2\n"), 1).rows, 2u);
}

TEST(rows_to_class, of_another_width_are_refused) {
  test_folder const folder;
  auto const refused = [&](std::string const& text, std::uint64_t line, std::string const& expected) {
    auto const path = folder.write("rows.csv", text);
    try {
      read_rows_to_class(path, 2);
      ADD_FAILURE() << text;
    } catch (input_error const& error) {
      EXPECT_EQ(std::string{error.what()}, path + ":" + std::to_string(line) + ": " + expected);
    }
  };
  refused("1\n", 1, "1 columns, but rows to class have 2 numbers, with or without a label after them");
  refused("1,2,3,4\n", 1, "4 columns, but rows to class have 2 numbers, with or without a label after them");
  refused("1,2\n1,2,0\n", 2, "3 columns instead of 2 as in line 1");
}

TEST(labelled_rows, limits_hold) {
  test_folder const folder;
  auto const path = folder.write("rows.csv", "1,2,0\n3,4,5\n");
  EXPECT_EQ(read_labelled_rows(path, {.max_rows = 2, .max_features = 2, .max_classes = 6, .max_bytes = 12}).classes,
            6u);
  expect_refused(path, 2, "more rows than the limit max_rows = 1", {.max_rows = 1});
  expect_refused(path, 1, "2 numbers and a label, over the limit max_features = 1", {.max_features = 1});
  expect_refused(path, 2, "the label `5` in column 3 is over the limit: max_classes = 5 allows labels up to 4",
                 {.max_classes = 5});
  expect_refused(path, 0, "has more text than max_bytes: raise it or split the file", {.max_bytes = 11});
}

TEST(labelled_rows, the_widest_rows) {
  test_folder const folder;
  std::string row;
  for (int column = 0; column < 65'536; ++column) row += "-0.00000001234567890123456e+11,";  // 31 bytes
  auto const path = folder.write("wide.csv", row + "0\n" + row + "1\n" + row + "2\n");
  auto const found = read_labelled_rows(path);
  EXPECT_EQ(found.rows, 3u);
  EXPECT_EQ(found.features, 65'536u);
  EXPECT_EQ(found.values.back(), -1234.567890123456F);
  EXPECT_EQ(found.labels, (labels{0, 1, 2}));
  expect_refused(folder.write("wider.csv", std::string(65'537 * 2, ',') + "0\n"), 1,
                 "131074 numbers and a label, over the limit max_features = 65536");
}

TEST(labelled_rows, rows_across_blocks) {
  test_folder const folder;
  std::string text;
  constexpr std::uint32_t rows = 1'000'000;  // some three blocks
  for (std::uint32_t row = 0; row < rows; ++row) text += std::to_string(row) + ",5," + std::to_string(row % 7) + "\n";
  auto const path = folder.write("rows.csv", text);
  auto const found = read_labelled_rows(path);
  ASSERT_EQ(found.rows, rows);
  for (std::uint32_t row = 0; row < rows; ++row) {
    ASSERT_EQ(found.values[2 * row], static_cast<float>(row));
    ASSERT_EQ(found.labels[row], row % 7);
  }
  expect_refused(folder.write("rows.csv", text + "1,2\n"), rows + 1, "2 columns instead of 3 as in line 1");
}

TEST(labelled_rows, what_cannot_be_read_is_refused) {
  test_folder const folder;
  expect_refused(folder.at("missing.csv"), 0, "cannot be opened: No such file or directory");
  expect_refused(folder.at(""), 0, "is not a regular file");
  auto const packed = gzip("1,2,0\n3,4,1\n");
  for (std::size_t bytes = 2; bytes < packed.size(); ++bytes) {  // gzip begins with two bytes
    expect_refused(folder.write("cut.csv.gz", packed.substr(0, bytes)), 0,
                   "truncated: the gzip data ends before its end mark");
  }
  expect_refused(folder.write("cut.csv.gz", ""), 0, "is empty");
}

TEST(labelled_rows, truncated_at_every_byte_is_smaller_or_refused) {
  test_folder const folder;
  std::string const text = "a,b,c\n1,2.5,0\n-3e1,4,1\n5,6,12\n";
  for (std::size_t bytes = 0; bytes < text.size(); ++bytes) {
    auto const path = folder.write("cut.csv", text.substr(0, bytes));
    try {
      auto const found = read_labelled_rows(path);
      EXPECT_EQ(found.values.size(), std::size_t{found.rows} * found.features);
      EXPECT_EQ(found.features, 2u);
      EXPECT_GE(found.rows, 2u) << bytes;
      EXPECT_LE(found.classes, 13u);
    } catch (input_error const& error) {
      EXPECT_EQ(error.file(), path);
    }
  }
}

TEST(split_rows, holds_out_exactly_a_fifth) {
  for (std::uint32_t const rows : {0u, 1u, 4u, 5u, 9u, 10u, 1797u, 100'003u}) {
    for (std::uint64_t const seed : {0ULL, 1ULL, ~0ULL}) {
      auto const [training, held_out] = split_rows(rows, seed);
      EXPECT_EQ(held_out.size(), rows / 5);
      EXPECT_TRUE(std::is_sorted(training.begin(), training.end()));
      EXPECT_TRUE(std::is_sorted(held_out.begin(), held_out.end()));
      std::vector<std::uint32_t> all;
      std::merge(training.begin(), training.end(), held_out.begin(), held_out.end(), std::back_inserter(all));
      std::vector<std::uint32_t> every(rows);
      std::iota(every.begin(), every.end(), 0U);
      EXPECT_EQ(all, every);
    }
  }
}

/// Returns the reader's message if this much memory is free; empty: it reads the file.
std::string refusal(std::string const& path, std::uint64_t free_bytes, std::uint64_t max_bytes = 1ULL << 34) {
  try {
    read_labelled_rows(path, {.max_bytes = max_bytes, .memory = free_memory{free_bytes, "this computer"}});
    return {};
  } catch (limit_error const& refused) {
    return refused.what();
  }
}

std::string lines_of(std::string const& line, std::size_t bytes) {
  std::string text;
  while (text.size() < bytes) text += line + "0\n" + line + "1\n";
  return text;
}

// A number takes 4 bytes, and 4 more while rows grow or are copied; only the file shows how long its text is.
TEST(labelled_rows, reads_long_numbers_that_fit) {
  test_folder const folder;
  std::string const text = lines_of("0.12345678901234567,-1.2345678901234567,", 1UL << 20);
  EXPECT_EQ(refusal(folder.write("long.csv", text), text.size()), "");
}

TEST(labelled_rows, refuses_short_numbers_that_do_not_fit_before_it_reads_them) {
  test_folder const folder;
  std::string const text = lines_of("0,0,0,0,0,0,0,", 1UL << 20) + "not a number\n";  // reading would end with this
  std::string const path = folder.write("short.csv", text);
  EXPECT_EQ(refusal(path, 3 * text.size()),
            path +
                " needs about 4.0 MiB of memory, and this computer has 3.0 MiB free: take fewer rows, or a "
                "computer with more memory");
}

TEST(labelled_rows, reads_compressed_numbers_that_fit) {
  test_folder const folder;
  std::string text;
  counter_random const random{7, 0};
  for (std::uint64_t row = 0; row < 20'000; ++row)
    text += std::to_string(random.at(row)) + "," + std::to_string(row % 2) + "\n";
  std::string const packed = gzip(text);
  EXPECT_EQ(refusal(folder.write("packed.csv.gz", packed), 3 * packed.size()), "");
}

TEST(labelled_rows, refuses_compressed_numbers_that_do_not_fit_while_it_reads_them) {
  test_folder const folder;
  std::string const text = lines_of("0,0,0,0,0,0,0,", 16UL << 20);
  std::string const path = folder.write("packed.csv.gz", gzip(text));  // a thousandth
  EXPECT_EQ(refusal(path, text.size()).rfind(path + " needs about ", 0), 0U);
}

TEST(labelled_rows, refuses_a_file_that_does_not_fit_into_this_computers_memory) {
  std::uint64_t const free_bytes = free_host_memory().bytes;
  test_folder const folder;
  std::string const path = folder.at("large.csv");
  std::uint64_t const bytes = free_bytes / 2;  // at 4 bytes of memory each; the holes take no place on the disk
  test::write_sparse(path, lines_of("0,0,0,0,0,0,0,", 256UL << 10), bytes);
  try {
    read_labelled_rows(path, {.max_bytes = 2 * bytes});
    ADD_FAILURE();
  } catch (limit_error const& refused) {
    EXPECT_EQ(std::string{refused.what()}.rfind(path + " needs about ", 0), 0U) << refused.what();
  }
}

// As another program computed it, with integers of any length.
TEST(split_rows, is_the_same_on_every_machine) {
  EXPECT_EQ(split_rows(20, 7).held_out, (labels{4, 17, 18, 19}));
  EXPECT_EQ(split_rows(20, 8).held_out, (labels{5, 14, 17, 19}));
  auto const digits = split_rows(1797, 1).held_out;
  EXPECT_EQ(labels(digits.begin(), digits.begin() + 6), (labels{2, 3, 8, 11, 16, 18}));
  EXPECT_EQ(labels(digits.end() - 3, digits.end()), (labels{1756, 1760, 1793}));
}

TEST(split_rows, every_row_is_held_out_about_equally_often) {
  std::array<int, 50> times{};
  constexpr int seeds = 20'000;
  for (int seed = 0; seed < seeds; ++seed) {
    for (auto const row : split_rows(50, static_cast<std::uint64_t>(seed)).held_out) ++times[row];
  }
  for (int const count : times) EXPECT_NEAR(count, seeds / 5, 5 * std::sqrt(seeds * 0.2 * 0.8));
}

}  // namespace
}  // namespace lull
