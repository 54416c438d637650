// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <lull/graph/csr/csr.hpp>
#include <lull/graph/graph_sgd/ratings.hpp>
#include <span>

namespace lull {

/// A rating in its block. `user_place` is that of the block's first rating by the same user, `item_place` that of the
/// first of the same item.
struct alignas(16) placed_rating {
  std::uint32_t user;
  std::uint32_t item;
  float value;
  std::uint16_t user_place;
  std::uint16_t item_place;
};

/// Ratings in an order in which many may be worked on at a time. Users fall into `groups` groups, and so do items, each
/// with about as many ratings as any other. A block holds the ratings of one group of users for one of items, at most
/// `max_block` of them; what is more comes in further phases. In a phase no two blocks share a group, so no two of them
/// share a user or an item. All ratings are in one block each.
///
/// Source: Gemulla, Nijkamp, Haas, Sismanis, "Large-scale matrix factorization with distributed stochastic gradient
/// descent", KDD 2011 (strata of interchangeable blocks).
struct rating_blocks {
  static constexpr std::uint32_t max_block = 32;
  static constexpr std::uint32_t max_groups = 4096;

  std::uint32_t groups = 0;
  std::uint32_t phases = 0;
  host_array<placed_rating> ordered;  // phase by phase, block by block; in a block item by item
  host_array<std::uint64_t> begins;   // (phases × groups + 1,) of each block; that of users' group g is number g
};

/// How many ratings each user has, and each item: of fewer than 2³² ratings.
struct rating_degrees {
  host_array<std::uint32_t> of_user;
  host_array<std::uint32_t> of_item;
};
rating_degrees degrees_of(ratings const& from);

/// What decides how ratings fall into blocks.
struct rating_spread {
  std::uint64_t count;
  std::uint64_t heaviest;  // ratings of the user or item that has most
  std::uint64_t ids;       // of users or of items, whichever are fewer
};
rating_spread spread_of(rating_degrees const& degrees);
inline rating_spread spread_of(ratings const& from) { return spread_of(degrees_of(from)); }

/// How many groups suit these ratings: blocks of half of `max_block`, on average; but where one user or item has h of n
/// ratings, which come one after the other, not above 2 n / h, for more blocks would stay emptier and end no earlier.
std::uint32_t suitable_groups(rating_spread const& of);
/// About how many phases so many groups have, rather more than fewer.
std::uint64_t expected_phases(rating_spread const& of, std::uint32_t groups);

/// The same ratings give the same blocks everywhere. `degrees` are those of the ratings. Takes 16 bytes a rating, 6 a
/// user and item, and 24 a block. Throws usage_error for no groups or more than max_groups, limit_error where the
/// blocks of so many groups would be too many (their phases need 32 bits, and all blocks at most 8 GiB),
/// std::bad_alloc.
rating_blocks make_rating_blocks(ratings const& from, rating_degrees const& degrees, std::uint32_t groups);
inline rating_blocks make_rating_blocks(ratings const& from, std::uint32_t groups) {
  return make_rating_blocks(from, degrees_of(from), groups);
}

}  // namespace lull
