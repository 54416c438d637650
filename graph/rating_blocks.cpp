// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <functional>
#include <lull/graph/degrees.hpp>
#include <lull/graph/parallel.hpp>
#include <lull/graph/rating_blocks.hpp>
#include <lull/host/error.hpp>
#include <numeric>
#include <queue>
#include <string>
#include <utility>
#include <vector>

namespace lull {
namespace {

constexpr std::uint32_t max_block = rating_blocks::max_block;

struct degrees {
  std::vector<std::uint64_t> of_user;
  std::vector<std::uint64_t> of_item;
};

degrees degrees_of(ratings const& from) {
  degrees made{std::vector<std::uint64_t>(from.users), std::vector<std::uint64_t>(from.items)};
  for (rating const& each : from.all) {
    ++made.of_user[each.user];
    ++made.of_item[each.item];
  }
  return made;
}

/// A group for each of those that have so many ratings: the heaviest first, into the lightest group.
std::vector<std::uint32_t> balanced(std::vector<std::uint64_t> const& counts, std::uint32_t groups) {
  using load = std::pair<std::uint64_t, std::uint32_t>;
  std::priority_queue<load, std::vector<load>, std::greater<>> lightest;
  for (std::uint32_t group = 0; group < groups; ++group) lightest.push({0, group});
  std::vector<std::uint32_t> found(counts.size());
  for (std::uint32_t const each : by_falling_degree(counts)) {
    auto [sum, group] = lightest.top();
    lightest.pop();
    found[each] = group;
    lightest.push({sum + counts[each], group});
  }
  return found;
}

void find_places(std::span<placed_rating> block) {
  for (std::size_t at = 0; at < block.size(); ++at) {
    auto const first = [&](auto member) {
      std::size_t before = 0;
      while (block[before].*member != block[at].*member) ++before;
      return static_cast<std::uint16_t>(before);
    };
    block[at].user_place = first(&placed_rating::user);
    block[at].item_place = first(&placed_rating::item);
  }
}

/// The ratings of a stratum, of which each group of users has those of one group of items.
class stratum {
 public:
  /// `begins`: (groups + 1,) of the whole blocks.
  stratum(std::span<placed_rating> ordered, std::span<std::uint64_t const> begins)
      : ordered_(ordered), begins_(begins) {}

  std::uint64_t phases() const {
    std::uint64_t most = 0;
    for (std::size_t group = 0; group < groups(); ++group) most = std::max(most, begins_[group + 1] - begins_[group]);
    return (most + max_block - 1) / max_block;
  }

  /// Puts the ratings in order, phase by phase, and writes where each block begins: (phases × groups,).
  void cut(std::uint64_t* to) const {
    std::vector<placed_rating> const before = sorted();
    std::uint64_t at = begins_.front();
    for (std::uint64_t phase = 0, end = phases(); phase < end; ++phase) {
      for (std::size_t group = 0; group < groups(); ++group) {
        *to++ = at;
        std::uint64_t const first = std::min(begins_[group] + phase * max_block, begins_[group + 1]);
        std::uint64_t const count = std::min<std::uint64_t>(max_block, begins_[group + 1] - first);
        std::span<placed_rating> const block = ordered_.subspan(at, count);
        std::ranges::copy(std::span{before}.subspan(first - begins_.front(), count), block.begin());
        find_places(block);
        at += count;
      }
    }
  }

 private:
  std::size_t groups() const { return begins_.size() - 1; }

  /// Each whole block item by item.
  std::vector<placed_rating> sorted() const {
    auto const place = [&](std::uint64_t at) { return ordered_.begin() + static_cast<std::ptrdiff_t>(at); };
    for (std::size_t group = 0; group < groups(); ++group) {
      std::stable_sort(place(begins_[group]), place(begins_[group + 1]),
                       [](placed_rating const& a, placed_rating const& b) { return a.item < b.item; });
    }
    return {place(begins_.front()), place(begins_.back())};
  }

  std::span<placed_rating> ordered_;  // all
  std::span<std::uint64_t const> begins_;
};

}  // namespace

rating_spread spread_of(ratings const& from) {
  degrees const rated = degrees_of(from);
  std::uint64_t heaviest = 1;
  for (std::uint64_t const each : rated.of_user) heaviest = std::max(heaviest, each);
  for (std::uint64_t const each : rated.of_item) heaviest = std::max(heaviest, each);
  return {from.all.size(), heaviest, std::min(from.users, from.items)};
}

std::uint32_t suitable_groups(rating_spread const& of) {
  auto const count = static_cast<double>(of.count);
  double const wanted = std::min(std::sqrt(2 * count / max_block), 2 * count / static_cast<double>(of.heaviest));
  double const most = std::min<double>(static_cast<double>(of.ids), rating_blocks::max_groups);
  return static_cast<std::uint32_t>(std::max(1.0, std::min(wanted, most)));
}

std::uint64_t expected_phases(rating_spread const& of, std::uint32_t groups) {
  std::uint64_t const at_least = std::max<std::uint64_t>(groups, of.heaviest / max_block);
  return at_least + at_least / 4 + 1;
}

rating_blocks make_rating_blocks(ratings const& from, std::uint32_t groups) {
  constexpr std::uint64_t max_blocks = 1ULL << 30;
  if (groups == 0 || groups > rating_blocks::max_groups)
    throw usage_error{"blocks of ratings: " + std::to_string(groups) + " groups are outside 1 to " +
                      std::to_string(rating_blocks::max_groups)};
  degrees const rated = degrees_of(from);
  auto const user_group = balanced(rated.of_user, groups);
  auto const item_group = balanced(rated.of_item, groups);

  // By stratum and users' group. In stratum s users' group g meets items' group g + s.
  auto const block_of = [&](rating const& each) {
    std::uint64_t const row = user_group[each.user];
    std::uint64_t const turned = item_group[each.item] + groups - row;
    std::uint64_t const which = turned < groups ? turned : turned - groups;
    return which * groups + row;
  };
  std::vector<std::uint64_t> whole(std::size_t{groups} * groups + 2);
  for (rating const& each : from.all) ++whole[block_of(each) + 2];
  std::partial_sum(whole.begin(), whole.end(), whole.begin());
  rating_blocks made;
  made.groups = groups;
  made.ordered.resize(from.all.size());
  for (rating const& each : from.all)
    made.ordered[whole[block_of(each) + 1]++] = {each.user, each.item, each.value, 0, 0};

  auto const part = [&](std::size_t which) {
    return stratum{made.ordered, std::span{whole}.subspan(which * groups, std::size_t{groups} + 1)};
  };
  std::vector<std::uint64_t> first_phase(std::size_t{groups} + 1);
  for (std::size_t which = 0; which < groups; ++which)
    first_phase[which + 1] = first_phase[which] + part(which).phases();
  if (first_phase.back() > max_blocks / groups)
    throw limit_error{"blocks of ratings: " + std::to_string(first_phase.back()) + " phases of " +
                      std::to_string(groups) + " blocks are too many: take fewer groups"};
  made.phases = static_cast<std::uint32_t>(first_phase.back());
  made.begins.resize(std::uint64_t{made.phases} * groups + 1);
  made.begins.back() = from.all.size();
  detail::for_each_part(groups, detail::set_up_threads(0),
                        [&](std::size_t which) { part(which).cut(&made.begins[first_phase[which] * groups]); });
  return made;
}

}  // namespace lull
