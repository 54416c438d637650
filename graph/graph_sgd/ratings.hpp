// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <lull/graph/csr/csr.hpp>
#include <lull/host/io/host_memory.hpp>
#include <lull/host/io/text_dialect.hpp>
#include <optional>
#include <span>
#include <string>

namespace lull {

/// What a user gave an item: an edge of a bipartite graph, and its weight.
struct rating {
  std::uint32_t user;
  std::uint32_t item;
  float value;

  bool operator==(rating const&) const = default;
};

/// Ratings, in the order in which they came. One user may have rated an item several times.
struct ratings {
  host_array<rating> all;
  std::uint32_t users = 0;  // each below
  std::uint32_t items = 0;
  std::string taken{};  // from a file: how its columns were read, one line
};

/// What a file may ask of this machine. A file that asks for more is refused, with the name of the limit.
struct rating_limits {
  std::uint64_t max_ratings = 1ULL << 31;
  std::uint64_t max_ids = 1ULL << 27;    // of users, and of items
  std::uint64_t max_bytes = 1ULL << 36;  // of text, after decompression
  std::optional<free_memory> memory{};   // that the ratings may take; none: what is free
};

/// How a file of ratings is read, as far as a user says so.
struct rating_format {
  std::string columns{};  // of user, item and rating: "userId,movieId,rating" or "2,3,4"; empty: found
  dialect_options dialect{};
};

/// Reads a rating a row: delimited text, or a Matrix Market matrix of users and items, which counts both from 1. Ids in
/// delimited text are whole numbers from 0, and there are as many users as the highest id + 1 says.
///
/// The dialect is found from the first rows (find_dialect). A header says which columns are the user, the item and the
/// rating, as people name them; without one they are the first three. Other columns are not read. `taken` of the result
/// says all of this.
///
/// Throws input_error with file, line and column: an id or a value that is empty or no number, an infinity or NaN, a
/// row with another number of columns, names that do not tell the three, a line over 64 KiB, damaged or truncated gzip
/// data, a limit exceeded, a file without ratings. limit_error where memory does not suffice: before reading, where the
/// file's size and samples of its text tell, or else as soon as the ratings that were read tell.
ratings read_ratings(std::string const& path, rating_limits const& limits = {}, rating_format const& format = {});

struct generate_ratings_options {
  std::uint32_t users = 0;
  std::uint32_t items = 0;
  std::uint64_t count = 0;
  unsigned rank = 8;   // of the matrix without noise, 1 to 64
  double mean = 3.5;   // of all ratings
  double noise = 0.5;  // standard deviation around that matrix
  std::uint64_t seed = 1;
};

/// Ratings by random users of items of which few are popular: the item in place r of `items` has a share of about
/// 1 / (2 √(r × items)) of them. Without noise they are `mean` and a matrix of that rank, whose entries have a standard
/// deviation of 1. Random numbers come from a counter, so the same options give the same ratings everywhere. Throws
/// usage_error outside the limits, std::bad_alloc.
ratings generate_ratings(generate_ratings_options const& options);

/// Takes a share of the ratings out, each with that chance, drawn by counter_random{seed, 0x4845'4c44} for its place.
/// Both parts keep their order.
host_array<rating> hold_out(ratings& from, double share, std::uint64_t seed);

/// 0 for none.
double mean_of(std::span<rating const> given);

}  // namespace lull
