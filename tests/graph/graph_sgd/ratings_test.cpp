// SPDX-License-Identifier: Apache-2.0
// Ratings: read from files, generated, and some held out.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <lull/graph/graph_sgd/ratings.hpp>
#include <lull/host/error.hpp>
#include <lull/tests/graph/graph_file.hpp>
#include <string>
#include <vector>

namespace lull {
namespace {

std::vector<rating> list(ratings const& from) { return {from.all.begin(), from.all.end()}; }

/// The message of the error, which must be of this kind; empty: none.
template <class Error = input_error>
std::string refusal(std::string const& path, rating_limits const& limits = {}) {
  try {
    read_ratings(path, limits);
  } catch (Error const& refused) {
    return refused.what();
  }
  return {};
}

TEST(read_ratings, takes_the_usual_separators) {
  test::test_folder const folder;
  std::vector<rating> const expected{{1, 1193, 5}, {0, 7, -2.5F}, {2, 7, 0.5F}};
  for (std::string const& text : {
           std::string{"1::1193::5::978300760\n0::7::-2.5::1\n2::7::.5::2\n"},
           std::string{"userId,movieId,rating,timestamp\n1,1193,5.0,12\n0,7,-25e-1,1\n2,7,0.5,\n"},
           std::string{"1\t1193\t5\t978300760\r\n\r\n0\t7\t-2.5\t0\r\n2\t7\t+.5\t"},
           std::string{"  1 1193 5\n0 7  -2.5\n\n2 7\t0.5 \n"},
           std::string{"1; 1193; 5;\n0; 7; -2.5;\n2; 7; 0.5;\n"},
           std::string{"1|1193|5\n0|7|-2.5\n2|7|0.5\n"},
       }) {
    ratings const read = read_ratings(folder.write("ratings.txt", text));
    EXPECT_EQ(list(read), expected) << text;
    EXPECT_EQ(read.users, 3U);
    EXPECT_EQ(read.items, 1194U);
  }
  EXPECT_EQ(list(read_ratings(folder.write("r.csv.gz", test::gzip("1,1193,5\n") + test::gzip("0,7,-2.5\n2,7,.5\n")))),
            expected);
}

TEST(read_ratings, reads_files_of_many_blocks_of_text) {
  test::test_folder const folder;
  std::string text;
  std::vector<rating> expected;
  for (std::uint32_t at = 0; at < 50'000; ++at) {
    expected.push_back({at % 1000, at * 7 % 613, static_cast<float>(at % 11) / 2});
    text += std::to_string(at % 1000) + "\t" + std::to_string(at * 7 % 613) + "\t" + std::to_string(at % 11 / 2) +
            (at % 2 == 1 ? ".5" : ".0") + "\t88125" + std::to_string(at) + "\n";
    expected.back().value = static_cast<float>(at % 11 / 2) + (at % 2 == 1 ? 0.5F : 0.0F);
  }
  EXPECT_EQ(list(read_ratings(folder.write("ratings.tsv", text))), expected);
}

/// Short values are read another way than long ones; each must be the float that is nearest.
TEST(read_ratings, reads_each_value_as_the_nearest_float) {
  test::test_folder const folder;
  std::vector<std::string> spelled{"0",           "5.",        "0.1",       "0.3",      ".7",        "3.14159",
                                   "1.000001",    "9999999",   "99999.99",  "16777217", "0.0000001", "0.000001",
                                   "123456.7",    "1234567.5", "1e1",       "2.5e-3",   "-0.1",      "+0.7",
                                   "000000000.3", "8388608.5", "0.12345678"};
  for (int at = 0; at < 2000; ++at) spelled.push_back(std::to_string(at * 7919 % 1000) + "." + std::to_string(at));
  for (int at = 0; at < 90; ++at) spelled.push_back("1." + std::to_string(10'000'019 * (at + 1)));  // too long
  std::string text;
  for (std::string const& each : spelled) text += "7 00000000000012 " + each + "\n";
  ratings const read = read_ratings(folder.write("values.txt", text));
  ASSERT_EQ(read.all.size(), spelled.size());
  for (std::size_t at = 0; at < spelled.size(); ++at) {
    EXPECT_EQ(read.all[at], (rating{7, 12, std::strtof(spelled[at].c_str(), nullptr)})) << spelled[at];
  }
}

TEST(read_ratings, says_what_is_wrong_and_where) {
  test::test_folder const folder;
  struct row {
    char const* text;
    char const* says;
  };
  for (row const& each : {
           row{"", "is empty"},
           row{"user item rating\n", "holds no ratings"},
           row{"1 1 2\nuser 1 2\n", "2: column 1: expected the id of a user"},
           row{"0 1 2\n-1 1 2\n", "2: column 1: expected the id of a user, a whole number from 0, got `-1`"},
           row{"0 1.5 2\n", "1: column 2: expected the id of an item"},
           row{"0 1\n", "1: 2 columns, but a rating has three"},
           row{"0\n", "1: 1 column, but a rating has three"},
           row{"0 1 nan\n", "1: column 3: expected a rating"},
           row{"0 1 inf\n", "1: column 3: expected a rating"},
           row{"0 1 1e99\n", "1: column 3: expected a rating"},
           row{"0 1 5x\n", "1: column 3: expected a rating"},
           row{"0 1 +-5\n", "1: column 3: expected a rating"},
           row{"0 99999999999999999999 5\n", "1: column 2: expected the id of an item"},
           row{"0 1 2\n0 1 2 3\n", "2: 4 columns instead of 3 as in line 1"},
           row{"0,1,2\n0,1\n", "2: 2 columns instead of 3 as in line 1"},
           row{"0,1,2\n0,,5\n", "2: column 2 is empty: expected the id of an item"},
           row{"0,1,2\n0,3,\n", "2: column 3 is empty: expected a rating"},
           row{"-5,3,4.5\n1,1,1\n", "1: column 1: expected the id of a user"},
           row{"0;1;2,5\n0;1;2.5\n", "2: column 3: expected a rating"},
           row{"0,1,\"2\"x\n", "1: column 3: text after the closing quote"},
           row{"0,1,2\n0,1,\"2\n", "2: a quoted field is not closed"},
           row{"0 134217728 5\n", "1: column 2: item 134217728 is not below the limit max_ids = 134217728"},
       }) {
    std::string const said = refusal(folder.write("ratings.txt", each.text));
    EXPECT_NE(said.find(each.says), std::string::npos) << each.text << " → " << said;
  }
  EXPECT_NE(refusal(folder.write("long.txt", "0 1 2" + std::string(70'000, ' ') + "\n")).find("more than 65536 bytes"),
            std::string::npos);
  EXPECT_NE(refusal(folder.at("none.txt")), "");
  EXPECT_NE(refusal(folder.write("cut.gz", test::gzip("0 1 2\n").substr(0, 20))), "");
}

TEST(read_ratings, keeps_its_limits) {
  test::test_folder const folder;
  auto const three = folder.write("three.txt", "0 0 1\n1 1 1\n2 2 1\n");
  EXPECT_NE(refusal(three, {.max_ratings = 2}).find("3: more ratings than the limit max_ratings = 2"),
            std::string::npos);
  EXPECT_EQ(refusal(three, {.max_ratings = 3}), "");
  EXPECT_NE(refusal(three, {.max_ids = 2}).find("user 2"), std::string::npos);
  EXPECT_NE(refusal(three, {.max_bytes = 10}), "");
  test::write_sparse(folder.at("large.txt"), "0 0 1\n1 1 1\n2 2 1\n", 1ULL << 34);
  EXPECT_NE(refusal<limit_error>(folder.at("large.txt"), {.memory = free_memory{1ULL << 20, "a test"}}), "");
}

TEST(generated_ratings, are_the_same_for_the_same_options) {
  generate_ratings_options const options{.users = 50, .items = 20, .count = 200'000};
  ratings const once = generate_ratings(options);
  EXPECT_EQ(list(once), list(generate_ratings(options)));
  auto other = options;
  other.seed = 2;
  EXPECT_NE(list(once), list(generate_ratings(other)));
  EXPECT_EQ(once.users, 50U);
  EXPECT_EQ(once.items, 20U);
  for (rating const& each : once.all) ASSERT_TRUE(each.user < 50 && each.item < 20 && std::isfinite(each.value));
}

TEST(generated_ratings, have_the_mean_the_spread_and_the_noise_asked_for) {
  ratings const made =
      generate_ratings({.users = 3000, .items = 1000, .count = 300'000, .rank = 4, .mean = 2, .noise = 0.5});
  double const mean = mean_of(made.all);
  double square = 0;
  for (rating const& each : made.all) square += std::pow(static_cast<double>(each.value) - mean, 2);
  EXPECT_NEAR(mean, 2, 0.1);
  EXPECT_NEAR(std::sqrt(square / 300'000), std::sqrt(1 + 0.25), 0.2);
  // The same matrix without noise is apart by it.
  ratings const exact =
      generate_ratings({.users = 3000, .items = 1000, .count = 300'000, .rank = 4, .mean = 2, .noise = 0});
  double apart = 0;
  for (std::size_t at = 0; at < 300'000; ++at)
    apart += std::pow(static_cast<double>(made.all[at].value) - static_cast<double>(exact.all[at].value), 2);
  EXPECT_NEAR(std::sqrt(apart / 300'000), 0.5, 0.01);
}

TEST(generated_ratings, have_few_popular_items) {
  ratings const made = generate_ratings({.users = 10, .items = 100, .count = 100'000});
  std::vector<int> count(100);
  for (rating const& each : made.all) ++count[each.item];
  EXPECT_NEAR(count[0], 10'000, 500);  // 1/√100
  EXPECT_NEAR(count[50], 707, 150);
}

TEST(generated_ratings, refuse_what_makes_none) {
  EXPECT_THROW(generate_ratings({.users = 0, .items = 1, .count = 1}), usage_error);
  EXPECT_THROW(generate_ratings({.users = 1, .items = 1, .count = 0}), usage_error);
  EXPECT_THROW(generate_ratings({.users = 1, .items = 1, .count = 1, .rank = 65}), usage_error);
  EXPECT_THROW(generate_ratings({.users = 1, .items = 1, .count = 1, .noise = -1}), usage_error);
}

TEST(hold_out, divides_them_by_chance_and_keeps_the_order) {
  ratings from = generate_ratings({.users = 50, .items = 20, .count = 20'000});
  std::vector<rating> const before = list(from);
  host_array<rating> const held = hold_out(from, 0.25, 3);
  EXPECT_NEAR(static_cast<double>(held.size()), 5000, 250);
  ASSERT_EQ(held.size() + from.all.size(), before.size());
  std::size_t kept = 0;
  std::size_t taken = 0;
  for (rating const& each : before) {
    if (kept < from.all.size() && from.all[kept] == each) {
      ++kept;
    } else {
      ASSERT_EQ(held[taken++], each);
    }
  }
  EXPECT_EQ(kept, from.all.size());
  EXPECT_TRUE(hold_out(from, 0, 3).empty());
}

}  // namespace
}  // namespace lull
