// SPDX-License-Identifier: Apache-2.0
// An order of ratings in which the blocks of a phase have nothing in common.
#include <gtest/gtest.h>

#include <algorithm>
#include <lull/graph/graph_sgd/rating_blocks.hpp>
#include <lull/host/error.hpp>
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <vector>

namespace lull {
namespace {

std::multiset<std::tuple<std::uint32_t, std::uint32_t, float>> all_of(auto const& list) {
  std::multiset<std::tuple<std::uint32_t, std::uint32_t, float>> made;
  for (auto const& each : list) made.insert({each.user, each.item, each.value});
  return made;
}

/// By its own means: maps and sets.
void expect_sound(rating_blocks const& blocks, ratings const& from, std::string const& what) {
  EXPECT_EQ(all_of(blocks.ordered), all_of(from.all)) << what;
  ASSERT_EQ(blocks.begins.size(), std::size_t{blocks.phases} * blocks.groups + 1) << what;
  ASSERT_EQ(blocks.begins.front(), 0U) << what;
  ASSERT_EQ(blocks.begins.back(), blocks.ordered.size()) << what;
  for (std::uint32_t phase = 0; phase < blocks.phases; ++phase) {
    std::map<std::uint32_t, std::uint32_t> user_in;
    std::map<std::uint32_t, std::uint32_t> item_in;
    std::uint64_t in_phase = 0;
    for (std::uint32_t group = 0; group < blocks.groups; ++group) {
      std::uint64_t const block = std::uint64_t{phase} * blocks.groups + group;
      std::uint64_t const begin = blocks.begins[block];
      std::uint64_t const end = blocks.begins[block + 1];
      ASSERT_LE(begin, end) << what;
      ASSERT_LE(end - begin, rating_blocks::max_block) << what;
      in_phase += end - begin;
      std::map<std::uint32_t, std::uint64_t> first_user;
      std::map<std::uint32_t, std::uint64_t> first_item;
      for (std::uint64_t at = begin; at < end; ++at) {
        placed_rating const& each = blocks.ordered[at];
        ASSERT_EQ(user_in.try_emplace(each.user, group).first->second, group) << what << ", phase " << phase;
        ASSERT_EQ(item_in.try_emplace(each.item, group).first->second, group) << what << ", phase " << phase;
        ASSERT_EQ(each.user_place, first_user.try_emplace(each.user, at - begin).first->second) << what;
        ASSERT_EQ(each.item_place, first_item.try_emplace(each.item, at - begin).first->second) << what;
        ASSERT_TRUE(at == begin || blocks.ordered[at - 1].item <= each.item) << what;
      }
    }
    EXPECT_NE(in_phase, 0U) << what << ": phase " << phase << " is empty";
  }
}

ratings of_one_item(std::uint32_t count) {
  ratings made{{}, count, 1};
  for (std::uint32_t user = 0; user < count; ++user) made.all.push_back({user, 0, 1});
  return made;
}

TEST(rating_blocks, hold_each_rating_once_and_share_nothing_in_a_phase) {
  for (std::uint32_t const groups : {1U, 2U, 7U, 16U, 100U}) {
    for (std::uint64_t const count : {1ULL, 100ULL, 20'000ULL}) {
      ratings const from = generate_ratings({.users = 300, .items = 60, .count = count});
      expect_sound(make_rating_blocks(from, groups), from,
                   std::to_string(count) + " ratings, " + std::to_string(groups) + " groups");
    }
  }
}

/// Two ratings of one item keep their order, in blocks that are sorted one by one and in long ones.
TEST(rating_blocks, keep_the_order_of_ratings_of_an_item) {
  for (std::uint32_t const count : {20U, 2000U}) {
    ratings from{{}, count, 3};
    for (std::uint32_t user = 0; user < count; ++user) from.all.push_back({user, user * 7 % 3, 1});
    rating_blocks const blocks = make_rating_blocks(from, 1);
    for (std::size_t at = 1; at < count; ++at) {
      placed_rating const& before = blocks.ordered[at - 1];
      EXPECT_TRUE(before.item < blocks.ordered[at].item ||
                  (before.item == blocks.ordered[at].item && before.user < blocks.ordered[at].user))
          << at << " of " << count;
    }
  }
}

TEST(rating_blocks, take_a_popular_item_in_many_phases) {
  ratings const from = of_one_item(1000);
  rating_blocks const blocks = make_rating_blocks(from, 10);
  expect_sound(blocks, from, "one item");
  EXPECT_EQ(blocks.phases, 40U);  // ten strata, of which each has a hundred ratings in one block
}

TEST(rating_blocks, take_a_rating_that_is_given_again_and_again) {
  ratings from{{}, 1, 1};
  from.all.assign(100, {0, 0, 2});
  rating_blocks const blocks = make_rating_blocks(from, 1);
  expect_sound(blocks, from, "one rating");
  EXPECT_EQ(blocks.phases, 4U);
}

TEST(rating_blocks, are_filled_evenly) {
  ratings const from = generate_ratings({.users = 5000, .items = 5000, .count = 100'000});
  std::uint32_t const groups = suitable_groups(spread_of(from));
  rating_blocks const blocks = make_rating_blocks(from, groups);
  expect_sound(blocks, from, "suitable groups");
  // What the most popular item alone needs, and as much again.
  std::vector<std::uint64_t> count(5000);
  for (rating const& each : from.all) ++count[each.item];
  EXPECT_LE(blocks.phases, 2 * (*std::max_element(count.begin(), count.end()) / 32 + groups));
}

TEST(suitable_groups, are_few_where_one_item_has_most_ratings) {
  EXPECT_EQ(suitable_groups(spread_of(of_one_item(1000))), 1U);
  ratings from = of_one_item(1000);
  from.items = 500;
  for (std::uint32_t at = 0; at < 1000; ++at) from.all.push_back({at, 1 + at % 499, 1});
  EXPECT_EQ(suitable_groups(spread_of(from)), 4U);
  ratings const even = [] {
    ratings made{{}, 1000, 1000};
    for (std::uint32_t at = 0; at < 160'000; ++at) made.all.push_back({at % 1000, at * 7 / 1000 % 1000, 1});
    return made;
  }();
  EXPECT_EQ(suitable_groups(spread_of(even)), 100U);
}

TEST(rating_blocks, refuse_groups_that_cannot_be) {
  ratings const from = of_one_item(10);
  EXPECT_THROW(make_rating_blocks(from, 0), usage_error);
  EXPECT_THROW(make_rating_blocks(from, rating_blocks::max_groups + 1), usage_error);
}

}  // namespace
}  // namespace lull
