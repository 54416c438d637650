// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>

#include <lull/device/slot.hpp>
#include <lull/host/bubble.hpp>

namespace lull {

/// Returns the lease of workers launched at close, where nothing depends on it for liveness: four times the longest
/// recent bubble, within 50 ms to 2 s; 2 s without a history. A trainer's host that stalls now and then makes a bubble
/// ten times as long as usual.
inline constexpr std::chrono::nanoseconds lease_at_close(std::chrono::nanoseconds longest) noexcept {
  using namespace std::chrono_literals;
  if (longest.count() == 0) return 2s;
  return std::clamp<std::chrono::nanoseconds>(longest * 4, 50ms, 2s);
}

/// Returns the longest lease of workers launched at open, where the host may still block after one.
inline constexpr std::chrono::nanoseconds max_lease_at_open(std::chrono::nanoseconds longest) noexcept {
  using namespace std::chrono_literals;
  return std::clamp<std::chrono::nanoseconds>(longest * 4, 5ms, 2s);
}

/// A site's bubbles that were held up: a kernel of the trainer seems to have waited for workers.
class hold_ups {
 public:
  /// Returns whether the close came so soon after the last block left that the bubble was held up, for a lease of that
  /// length.
  static constexpr bool is_one(std::chrono::nanoseconds behind, std::chrono::nanoseconds lease) noexcept {
    return behind.count() >= 0 && behind < lease / 8;
  }
  /// Call for each harvested bubble.
  void add(bool held_up) noexcept { in_a_row_ = held_up ? in_a_row_ % 2 + 1 : 0; }
  /// Returns whether the last bubble was the second in a row. A single one may be a pause of the trainer that ended
  /// just after a lease; a kernel that finds no SM waits again in the next bubble.
  bool twice() const noexcept { return in_a_row_ == 2; }

 private:
  int in_a_row_ = 0;
};

/// What a site learns from a bubble in which a worker was launched.
struct harvest_seen {
  std::chrono::nanoseconds length{0};  // zero: not known
  // the close may have come this much earlier: the last look was that long before
  std::chrono::nanoseconds since_look{0};
  std::chrono::nanoseconds start{0};                // opening → first chunk, mean over the blocks that found one
  std::uint64_t working = 0;                        // blocks that found a chunk
  std::uint64_t chunks = 0;                         // committed
  std::uint64_t handed_back = 0;                    // chunks
  std::optional<std::chrono::nanoseconds> drain{};  // from the first sight of the close until the last block had left
  bool came_late = false;                           // its workers came after it, or none could come before it was over
  bool at_open = false;                             // its site was known to be better launched at its opening
  bool inside = false;                              // a worker was launched before the host had closed it
  bool host_late = false;                           // the bubble had opened by then
};

/// What a runtime asks of every site.
struct site_limits {
  std::chrono::nanoseconds min_bubble = default_min_bubble;
  std::chrono::nanoseconds rest_before_close = default_rest_before_close;
  double training_worth = 0;  // as in runtime_tuning

  /// What the two edges of a bubble cost the trainer's stream (records `yield`: price_edges), and what a start and a
  /// drain take where none was measured.
  static constexpr std::chrono::nanoseconds edges = std::chrono::microseconds{4};
  static constexpr std::chrono::nanoseconds usual_start = std::chrono::microseconds{9};
  static constexpr std::chrono::nanoseconds usual_drain = std::chrono::microseconds{8};

  /// Returns how long a bubble must be whose workers take so long to leave, so that it brings as much as it costs.
  /// `times`: how many times `training_worth` training is worth.
  std::chrono::nanoseconds shortest_worth_it(std::chrono::nanoseconds drain = usual_drain,
                                             double times = 1) const noexcept {
    if (training_worth == 0) return min_bubble;
    auto const least = static_cast<double>((edges + drain).count()) * std::min(training_worth * times, 1e9);
    return std::max(min_bubble, usual_start + std::chrono::nanoseconds{static_cast<std::int64_t>(least)});
  }
};

/// What a site's bubbles were like recently. Decides whether the next one is worth harvesting, when its worker is
/// launched.
class history {
 public:
  /// A site that is passed over is measured again one time in this many.
  static constexpr std::uint64_t look_again = 64;
  /// As in `wants_length`.
  static constexpr std::uint64_t measure_every = 16;
  /// A shorter start is never late.
  static constexpr std::chrono::nanoseconds late_start = std::chrono::microseconds{50};

  enum class verdict { harvest, too_short, handed_back };

  explicit history(site_limits limits = {}) noexcept : limits_(limits) {}

  /// Returns how long this site's bubbles must be in the mean so that they are worth it; `times` as above.
  std::chrono::nanoseconds shortest_worth_it(double times = 1) const noexcept {
    return limits_.shortest_worth_it(drain_, times);
  }
  /// Returns what a harvested bubble costs the trainer's stream.
  std::chrono::nanoseconds price() const noexcept { return site_limits::edges + drain_; }

  void add_length(std::chrono::nanoseconds length, std::chrono::nanoseconds since_look = {}) noexcept {
    lengths_.add({length, since_look});
  }

  void add(harvest_seen const& seen) noexcept {
    if (seen.length.count() != 0) add_length(seen.length, seen.since_look);
    handed_back_.add(seen.chunks == 0 && seen.handed_back != 0);
    came_late_.add(seen.came_late);
    if (seen.drain) drain_ += (*seen.drain - drain_) / 8;
    if (seen.at_open) return;
    bool const half_gone =
        seen.inside || seen.working == 0 || (seen.start > late_start && seen.start * 2 > seen.length);
    host_behind_.add(seen.host_late && half_gone);
  }

  /// Returns zero if nothing was measured yet.
  std::chrono::nanoseconds longest() const noexcept { return lengths_.longest(); }

  /// Returns the usual length of the last 32 bubbles. They repeat where half of them may be alike: in order of length,
  /// each exceeds those before it by at most 200 us or a 64th. Nothing before eight were measured.
  usual_length usual_bubble() const noexcept { return lengths_.usual(); }

  /// Returns when workers rest because bubbles like this one have closed then. Nothing where they do not repeat
  /// closely: a rest takes at most an eighth of the bubble.
  rest_time rest() const noexcept {
    usual_length const usual = usual_bubble();
    auto const before = static_cast<std::uint64_t>(limits_.rest_before_close.count());
    if (before == 0 || usual.until_ns == 0 || usual.until_ns + usual_length::max_lateness_ns > ~std::uint32_t{0})
      return {};
    if (8 * (usual.until_ns - usual.from_ns + before) > usual.from_ns) return {};
    return {static_cast<std::uint32_t>(usual.from_ns - before),
            static_cast<std::uint32_t>(usual.until_ns + usual_length::max_lateness_ns)};
  }

  /// Counts a new bubble; the two questions below are about it. `times` as above.
  void begin_bubble(double times = 1) noexcept {
    times_ = times;
    if (usual() != verdict::harvest) ++not_worth_it_;
    if (judge() == verdict::harvest && host_behind_.always()) ++launched_early_;
  }

  /// Returns whether the next bubble should be measured by its edges, where workers do not tell its length: the first
  /// ones, one in `measure_every`, and each that is tried again.
  bool wants_length() noexcept {
    return !lengths_.full() || usual() != verdict::harvest || ++not_measured_ % measure_every == 0;
  }

  verdict judge() const noexcept { return not_worth_it_ % look_again != 0 ? usual() : verdict::harvest; }

  /// Returns whether the host enqueues the close so late that workers launched after it would find half of the bubble
  /// gone.
  bool better_at_open() const noexcept { return host_behind_.always() && launched_early_ % look_again != 0; }

 private:
  static constexpr std::size_t remembered = 8;

  class lengths {
   public:
    struct seen {
      std::chrono::nanoseconds max;
      std::chrono::nanoseconds since_look;

      std::chrono::nanoseconds min() const noexcept { return max - since_look; }
      auto operator<=>(seen const&) const = default;
    };

    void add(seen const& length) noexcept {
      recent_[count_++ % recent_.size()] = length;
      if (full()) learn();
    }
    bool full() const noexcept { return count_ >= remembered; }
    std::chrono::nanoseconds longest() const noexcept {
      std::chrono::nanoseconds found{0};
      for (std::uint64_t back = 1; back <= std::min<std::uint64_t>(count_, remembered); ++back)
        found = std::max(found, recent_[(count_ - back) % recent_.size()].max);
      return found;
    }
    std::chrono::nanoseconds mean() const noexcept {
      std::chrono::nanoseconds sum{0};
      for (std::uint64_t back = 1; back <= remembered; ++back) sum += recent_[(count_ - back) % recent_.size()].max;
      return sum / static_cast<std::int64_t>(remembered);
    }
    usual_length const& usual() const noexcept { return usual_; }

   private:
    /// Learns the usual length from many bubbles: of random lengths, each ninth is shorter than the eight before it. A
    /// close may have come at any time since the look before it was seen. If the seen lengths were used as they are,
    /// those that repeat would differ by as much as pieces are long: nothing would be delayed, and closes would still
    /// be seen late.
    void learn() noexcept {
      auto sorted = recent_;
      auto const begin = sorted.begin();
      auto const end = begin + static_cast<std::ptrdiff_t>(std::min<std::uint64_t>(count_, sorted.size()));
      std::sort(begin, end);
      auto const ns = [](std::chrono::nanoseconds length) { return static_cast<std::uint64_t>(length.count()); };
      auto const far = std::max<std::chrono::nanoseconds>(std::chrono::microseconds{200}, begin->max / 64);
      usual_ = {ns(begin->max), ns(begin[3 * (end - begin) / 4 - 1].max - begin->max)};
      for (auto first = begin; 2 * (end - first) >= end - begin; ++first) {
        std::chrono::nanoseconds until = first->max;  // by then all similar bubbles may have closed
        std::ptrdiff_t alike = 0;
        for (auto each = first; each != end; ++each) {
          if (each->min() > until + far) continue;
          until = std::max(until, each->min());
          ++alike;
        }
        if (2 * alike < end - begin) continue;
        usual_ = {ns(begin->max), ns(until - first->max), ns(first->max), ns(until)};
        return;
      }
    }

    std::array<seen, 32> recent_{};
    std::uint64_t count_ = 0;
    usual_length usual_;  // zeros while too few are known
  };

  /// Whether something held for each of the last bubbles.
  class streak {
   public:
    void add(bool so) noexcept { length_ = so ? length_ + 1 : 0; }
    bool always() const noexcept { return length_ >= remembered; }

   private:
    std::uint64_t length_ = 0;
  };

  verdict usual() const noexcept {
    bool const brings_little = limits_.training_worth != 0 && lengths_.mean() < shortest_worth_it(times_);
    if (lengths_.full() && (brings_little || longest() < limits_.min_bubble)) return verdict::too_short;
    if (came_late_.always()) return verdict::too_short;
    return handed_back_.always() ? verdict::handed_back : verdict::harvest;
  }

  site_limits limits_;
  std::chrono::nanoseconds drain_ = site_limits::usual_drain;  // recent ones weigh more
  lengths lengths_;
  streak handed_back_;
  streak came_late_;
  streak host_behind_;
  double times_ = 1;
  std::uint64_t not_worth_it_ = 0;  // bubbles of a site that is not worth it
  std::uint64_t launched_early_ = 0;
  std::uint64_t not_measured_ = 0;
};

}  // namespace lull
