// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <lull/graph/csr/degrees.hpp>
#include <lull/graph/graph_sgd/rating_blocks.hpp>
#include <lull/graph/parallel.hpp>
#include <lull/host/error.hpp>
#include <numeric>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace lull {
namespace {

constexpr std::uint32_t max_block = rating_blocks::max_block;

/// A group for each of those that have so many ratings: the heaviest first, into the lightest group.
host_array<std::uint16_t> balanced(host_array<std::uint32_t> const& counts, std::uint32_t groups) {
  constexpr int group_bits = 12;
  static_assert(rating_blocks::max_groups == 1U << group_bits);
  // A heap with the lightest on top; its load and, below that, its number in one word, so that one comparison decides.
  std::vector<std::uint64_t> heap(groups);
  std::iota(heap.begin(), heap.end(), 0);
  host_array<std::uint16_t> found(counts.size());
  for (std::uint32_t const each : by_falling_degree(counts)) {
    found[each] = static_cast<std::uint16_t>(heap.front() & (rating_blocks::max_groups - 1));
    std::uint64_t const sum = heap.front() + (std::uint64_t{counts[each]} << group_bits);
    std::size_t at = 0;
    for (std::size_t next; (next = 2 * at + 1) < groups; at = next) {
      if (next + 1 < groups && heap[next + 1] < heap[next]) ++next;
      if (sum < heap[next]) break;
      heap[at] = heap[next];
    }
    heap[at] = sum;
  }
  return found;
}

/// The ratings must be in order of their items.
void find_places(std::span<placed_rating> block) {
  for (std::size_t at = 0; at < block.size(); ++at) {
    std::size_t user_place = 0;
    while (block[user_place].user != block[at].user) ++user_place;
    bool const same_item = at != 0 && block[at - 1].item == block[at].item;
    block[at].user_place = static_cast<std::uint16_t>(user_place);
    block[at].item_place = same_item ? block[at - 1].item_place : static_cast<std::uint16_t>(at);
  }
}

void sort_by_item(std::span<placed_rating> block) {
  constexpr std::size_t few = 32;  // are put where their rank is: a stable sort would take memory for each block
  auto const before = [](placed_rating const& a, placed_rating const& b) { return a.item < b.item; };
  if (block.size() > few) return std::stable_sort(block.begin(), block.end(), before);
  std::uint32_t items[few];
  placed_rating sorted[few];
  for (std::size_t at = 0; at < block.size(); ++at) items[at] = block[at].item;
  for (std::size_t at = 0; at < block.size(); ++at) {
    std::uint32_t rank = 0;  // added up without branches, which would go either way at random
    for (std::size_t other = 0; other < at; ++other) rank += items[other] <= items[at] ? 1 : 0;
    for (std::size_t other = at + 1; other < block.size(); ++other) rank += items[other] < items[at] ? 1 : 0;
    sorted[rank] = block[at];
  }
  std::copy_n(sorted, block.size(), block.data());
}

/// The ratings of a stratum, of which each group of users has those of one group of items.
class stratum {
 public:
  /// `begins`: (groups + 1,) of the whole blocks, which `sort` writes but for the first; `user_place` of each rating is
  /// its group until then.
  stratum(std::span<placed_rating> ordered, std::span<std::uint64_t> begins) : ordered_(ordered), begins_(begins) {}

  /// Puts the ratings in order, phase by phase.
  void sort() const {
    std::vector<std::uint64_t> ends(groups() + 1);  // of the blocks, one later; see make_csr
    for (placed_rating const& each : ordered_) ++ends[each.user_place + std::size_t{1}];
    for (std::uint64_t group = 0, before = 0; group < groups(); ++group)
      before += std::exchange(ends[group + 1], before);
    std::vector<placed_rating> blocks(ordered_.size());  // of the heap, which gives the next stratum the same memory
    for (placed_rating const& each : ordered_) blocks[ends[each.user_place + std::size_t{1}]++] = each;
    for (std::size_t group = 0; group < groups(); ++group) {
      begins_[group + 1] = begins_.front() + ends[group + 1];
      sort_by_item(std::span{blocks}.subspan(ends[group], ends[group + 1] - ends[group]));
    }
    auto* to = ordered_.data();
    each_block([&](std::uint64_t first, std::uint64_t count) {
      std::copy_n(blocks.data() + first - begins_.front(), count, to);
      find_places({to, count});
      to += count;
    });
  }

  std::uint64_t phases() const {
    std::uint64_t most = 0;
    for (std::size_t group = 0; group < groups(); ++group) most = std::max(most, begins_[group + 1] - begins_[group]);
    return (most + max_block - 1) / max_block;
  }

  /// Writes where each block begins: (phases × groups,).
  void cut(std::uint64_t* to) const {
    std::uint64_t at = begins_.front();
    each_block([&](std::uint64_t, std::uint64_t count) { *to++ = std::exchange(at, at + count); });
  }

 private:
  std::size_t groups() const { return begins_.size() - 1; }

  /// Calls see(first, count) for each block, phase by phase: which ratings it has where each whole block is in one
  /// piece.
  template <class See>
  void each_block(See const& see) const {
    for (std::uint64_t phase = 0, end = phases(); phase < end; ++phase) {
      for (std::size_t group = 0; group < groups(); ++group) {
        std::uint64_t const first = std::min(begins_[group] + phase * max_block, begins_[group + 1]);
        see(first, std::min<std::uint64_t>(max_block, begins_[group + 1] - first));
      }
    }
  }

  std::span<placed_rating> ordered_;  // those of the stratum
  std::span<std::uint64_t> begins_;
};

}  // namespace

rating_degrees degrees_of(ratings const& from) {
  rating_degrees made;
  made.of_user.assign(from.users, 0);
  made.of_item.assign(from.items, 0);
  for (rating const& each : from.all) {
    ++made.of_user[each.user];
    ++made.of_item[each.item];
  }
  return made;
}

rating_spread spread_of(rating_degrees const& degrees) {
  rating_spread made{0, 1, std::min(degrees.of_user.size(), degrees.of_item.size())};
  for (std::uint64_t const each : degrees.of_user) {
    made.count += each;
    made.heaviest = std::max(made.heaviest, each);
  }
  for (std::uint64_t const each : degrees.of_item) made.heaviest = std::max(made.heaviest, each);
  return made;
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

rating_blocks make_rating_blocks(ratings const& from, rating_degrees const& degrees, std::uint32_t groups) {
  constexpr std::uint64_t max_blocks = 1ULL << 30;
  if (groups == 0 || groups > rating_blocks::max_groups)
    throw usage_error{"blocks of ratings: " + std::to_string(groups) + " groups are outside 1 to " +
                      std::to_string(rating_blocks::max_groups)};
  auto const user_group = balanced(degrees.of_user, groups);
  auto const item_group = balanced(degrees.of_item, groups);

  // In stratum s users' group g meets items' group g + s.
  auto const stratum_of = [&](rating const& each) {
    std::uint32_t const turned = item_group[each.item] + groups - user_group[each.user];
    return turned < groups ? turned : turned - groups;
  };
  std::vector<std::uint64_t> ends(std::size_t{groups} + 1);  // of strata, one later
  for (rating const& each : from.all) ++ends[stratum_of(each) + std::size_t{1}];
  for (std::uint64_t which = 0, before = 0; which < groups; ++which) before += std::exchange(ends[which + 1], before);
  rating_blocks made;
  made.groups = groups;
  made.ordered.resize(from.all.size());
  for (rating const& each : from.all)
    made.ordered[ends[stratum_of(each) + std::size_t{1}]++] = {each.user, each.item, each.value, user_group[each.user],
                                                               0};

  // The whole blocks' begins, of stratum s from s × (groups + 1) on: a stratum's end is not shared, so that threads
  // sort side by side.
  host_array<std::uint64_t> whole(std::size_t{groups} * (groups + std::size_t{1}));
  auto const part = [&](std::size_t which) {
    return stratum{std::span{made.ordered}.subspan(ends[which], ends[which + 1] - ends[which]),
                   std::span{whole}.subspan(which * (groups + std::size_t{1}), groups + std::size_t{1})};
  };
  unsigned const threads = detail::set_up_threads(0);
  detail::for_each_part(groups, threads, [&](std::size_t which) {
    whole[which * (groups + std::size_t{1})] = ends[which];
    part(which).sort();
  });
  std::vector<std::uint64_t> first_phase(std::size_t{groups} + 1);
  for (std::size_t which = 0; which < groups; ++which)
    first_phase[which + 1] = first_phase[which] + part(which).phases();
  if (first_phase.back() > max_blocks / groups)
    throw limit_error{"blocks of ratings: " + std::to_string(first_phase.back()) + " phases of " +
                      std::to_string(groups) + " blocks are too many: take fewer groups"};
  made.phases = static_cast<std::uint32_t>(first_phase.back());
  made.begins.resize(std::uint64_t{made.phases} * groups + 1);
  made.begins.back() = from.all.size();
  detail::for_each_part(groups, threads,
                        [&](std::size_t which) { part(which).cut(&made.begins[first_phase[which] * groups]); });
  return made;
}

}  // namespace lull
