// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <lull/graph/graph_sgd/ratings.hpp>
#include <lull/graph/parallel.hpp>
#include <lull/host/error.hpp>
#include <lull/host/task/counter_random.hpp>
#include <numbers>
#include <string>
#include <vector>

namespace lull {
namespace {

constexpr unsigned max_rank = 64;
constexpr std::size_t part_ratings = 1U << 16;
enum stream : std::uint64_t { user_stream, item_stream, rating_stream };

/// Uniform in (0, 1].
double uniform(counter_random const& random, std::uint64_t index) {
  return static_cast<double>((random.at(index) >> 11) + 1) * 0x1p-53;
}

/// Normal, by Box and Muller (Annals of Mathematical Statistics 29, 1958), from two numbers.
double normal(counter_random const& random, std::uint64_t index) {
  return std::sqrt(-2 * std::log(uniform(random, 2 * index))) *
         std::cos(2 * std::numbers::pi * uniform(random, 2 * index + 1));
}

/// (count, rank), such that the product of a row of users and one of items has a variance of 1.
std::vector<double> true_factors(std::uint64_t seed, stream which, std::uint64_t count, unsigned rank) {
  counter_random const random{seed, which};
  double const scale = std::pow(rank, -0.25);
  std::vector<double> made(count * rank);
  for (std::size_t at = 0; at < made.size(); ++at) made[at] = scale * normal(random, at);
  return made;
}

void check(generate_ratings_options const& options) {
  auto const refuse = [](std::string const& message) { throw usage_error{"generating ratings: " + message}; };
  if (options.users == 0 || options.items == 0 || options.count == 0) refuse("there are no users, items or ratings");
  if (options.rank == 0 || options.rank > max_rank)
    refuse("a rank of " + std::to_string(options.rank) + " is outside 1 to " + std::to_string(max_rank));
  if (!(options.noise >= 0) || !std::isfinite(options.noise) || !std::isfinite(options.mean))
    refuse("mean and noise must be numbers, and noise not below 0");
}

}  // namespace

ratings generate_ratings(generate_ratings_options const& options) {
  check(options);
  auto const users = true_factors(options.seed, user_stream, options.users, options.rank);
  auto const items = true_factors(options.seed, item_stream, options.items, options.rank);
  counter_random const random{options.seed, rating_stream};
  ratings made{.all = host_array<rating>(options.count), .users = options.users, .items = options.items};
  std::size_t const parts = (options.count + part_ratings - 1) / part_ratings;
  detail::for_each_part(parts, detail::set_up_threads(0), [&](std::size_t part) {
    for (std::uint64_t at = part * part_ratings; at < std::min<std::uint64_t>((part + 1) * part_ratings, options.count);
         ++at) {
      auto const user = static_cast<std::uint32_t>(random.below(4 * at, options.users));
      double const place = 1 - uniform(random, 4 * at + 1);  // in [0, 1): squared, small ones are likelier
      auto const item = static_cast<std::uint32_t>(place * place * options.items);
      double value = options.mean + options.noise * normal(random, 2 * at + 1);
      for (unsigned f = 0; f < options.rank; ++f)
        value += users[std::uint64_t{user} * options.rank + f] * items[std::uint64_t{item} * options.rank + f];
      made.all[at] = {user, item, static_cast<float>(value)};
    }
  });
  return made;
}

}  // namespace lull
