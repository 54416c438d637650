// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>

namespace lull::detail {

/// Which workers one site gets while the host has not closed its bubble, and how long they may stay. The host may wait
/// for something of the trainer's own, as data or a checkpoint; then the bubble is idle time like another. Or it may
/// wait for the workers, as a device-wide synchronisation does; then each lease delays the trainer. A host that is
/// still inside when a lease has ended did not wait for that one, so another worker follows. Whether the host waits
/// somewhere else inside is learnt from how long it stays there with and without workers, and from closes that come
/// just after a lease (docs/decisions/host-stalls.md).
class open_lease {
 public:
  using nanoseconds = std::chrono::nanoseconds;
  static constexpr nanoseconds shortest = std::chrono::microseconds{200};
  /// The longest where the host stays inside: it may come to wait for the workers at any time.
  static constexpr nanoseconds max_inside = std::chrono::milliseconds{5};
  /// From a lease's end to the next launch. A host that waited for the workers leaves the bubble meanwhile.
  static constexpr nanoseconds look_after = std::chrono::microseconds{50};
  /// A close this soon after a lease may have waited for it: the next worker would not have come yet.
  static constexpr nanoseconds soon = 3 * look_after;
  /// A host that has been inside for this long while the bubble is open is likely to stay …
  static constexpr nanoseconds likely_stays = std::chrono::microseconds{300};
  /// … and for this long at a site of which it is not known how long the host stays without workers.
  static constexpr nanoseconds surely_stays = std::chrono::milliseconds{20};
  /// One bubble in this many gets no worker before its close, so that it stays known how long the host stays without.
  /// Where that varies or is not known well, more do.
  static constexpr std::uint64_t control_every = 128;

  /// Counts a new bubble; the questions below are about it.
  void begin_bubble() noexcept {
    ++bubbles_;
    if (off_ != 0) --off_;
    if (fixed_ != 0) --fixed_;
  }

  /// Returns whether workers may be launched before the close.
  bool allowed() const noexcept { return off_ == 0 && bubbles_ % controls() != 0; }
  /// Returns how long the host must have been inside the open bubble, where workers are not launched at its opening.
  nanoseconds patience() const noexcept { return knows_alone() ? likely_stays : surely_stays; }
  /// Returns the lease of the bubble's first worker. After a close that may have waited for a lease, the next one ends
  /// at another moment: a close that comes at the same moment as before did not wait for it.
  nanoseconds first() const noexcept { return closes_soon_ % 2 == 1 ? lease_ * 5 / 8 : lease_; }
  /// Returns the lease of the worker after one that has left by its lease, if the host has been inside for `inside`.
  nanoseconds after(nanoseconds before, nanoseconds inside) const noexcept {
    return fixed_ != 0 ? shortest : std::clamp(before * 2, shortest, std::max(lease_, may_risk(inside)));
  }

  /// What became of a bubble by the time of its close.
  struct stay {
    nanoseconds took{0};   // from when the host went on inside until it came to close it
    nanoseconds used{0};   // the longest lease of workers launched meanwhile; 0: none was
    nanoseconds ended{0};  // … of those whose lease was over; 0: none was
  };
  /// Notes a bubble that the host has closed. `max_lease`: the longest lease where the host does not stay.
  void end_bubble(stay const& was, nanoseconds max_lease) noexcept {
    if (was.used.count() == 0) {
      alone_.add(was.took);
      return;
    }
    if (was.took * 2 <= was.used) {
      longer_ = 0;
      lease_ = std::min(lease_ * 2, max_lease);
      return;
    }
    lease_ = std::min(lease_, max_inside);
    was_as_alone_ = false;
    if (was.ended.count() == 0 || !knows_alone()) return;
    bool const steady = is_steady();
    was_as_alone_ = steady && was.took <= alone_.part(16) + usual_spread();
    if (was.took <= (steady ? max_alone() : alone_.part(14) + was.ended / 2)) {
      longer_ = std::max(longer_ - 1, 0);
      on_trial_ = false;
      grow(was.took);
    } else if (steady || alone_.count() >= enough_alone) {
      if (++longer_ >= (!steady ? 12 : on_trial_ ? 1 : 2)) fall();  // a single one says little where the time varies
    }
  }

  /// Notes of a bubble with workers whether they left by their lease and it was closed soon after that.
  void add_close(bool soon_after) noexcept {
    closes_soon_ = soon_after && !was_as_alone_ ? closes_soon_ + 1 : 0;
    if (closes_soon_ >= (lease_ <= 2 * shortest ? 6 : 3)) fall();  // short leases end all the time
  }

  nanoseconds lease() const noexcept { return lease_; }
  /// Returns whether the host usually stays for a while. Then the trainer's thread need not launch the first workers
  /// itself, which takes it some 30 µs.
  bool host_stays() const noexcept { return knows_alone() && alone_.part(8) > likely_stays; }

 private:
  static constexpr std::uint64_t min_alone = 4;
  static constexpr std::uint64_t enough_alone = 12;  // where the host's time varies
  static constexpr std::uint64_t first_pause = 64;   // bubbles; doubled each time
  static constexpr std::uint64_t max_pause = 1024;

  /// How long the host stayed in the last bubbles without workers. Sorted once a bubble, because `open` asks.
  class stays {
   public:
    void add(nanoseconds took) noexcept {
      recent_[count_++ % recent_.size()] = took;
      sorted_ = recent_;
      std::sort(sorted_.begin(), sorted_.begin() + static_cast<std::ptrdiff_t>(known()));
    }
    std::uint64_t count() const noexcept { return count_; }
    /// Returns the length that so many sixteenths of them do not exceed; of 0, the shortest. Some must be known.
    nanoseconds part(std::size_t sixteenths) const noexcept { return sorted_[(known() - 1) * sixteenths / 16]; }

   private:
    std::size_t known() const noexcept { return std::min<std::size_t>(count_, recent_.size()); }

    std::array<nanoseconds, 16> recent_{};
    std::array<nanoseconds, 16> sorted_{};
    std::uint64_t count_ = 0;
  };

  bool knows_alone() const noexcept { return alone_.count() >= min_alone; }
  /// Returns whether the host stays about as long each time.
  bool is_steady() const noexcept {
    return alone_.part(14) - alone_.part(0) < std::max(lease_ / 2, alone_.part(8) / 16);
  }
  /// Returns how long a host that stays about as long each time stays at most, if it does not wait for workers.
  nanoseconds max_alone() const noexcept { return alone_.part(16) + std::max(look_after, usual_spread()); }
  nanoseconds usual_spread() const noexcept { return std::max(alone_.part(16) - alone_.part(0), alone_.part(8) / 64); }
  std::uint64_t controls() const noexcept {
    if (!knows_alone()) return 2;
    if (is_steady()) return control_every;
    return alone_.count() < enough_alone ? 8 : 32;
  }
  /// Returns how long a lease may be. Where it would not show soon that the host waits for it, a small part of the
  /// host's time inside.
  nanoseconds may_risk(nanoseconds inside) const noexcept {
    if (knows_alone() && is_steady()) return max_inside;
    return std::clamp((knows_alone() ? alone_.part(8) : inside) / 32, shortest, max_inside);
  }

  void grow(nanoseconds took) noexcept {
    if (took <= lease_ || fixed_ != 0 || closes_soon_ != 0 || ++fine_ < 2) return;
    lease_ = std::min(lease_ * 2, may_risk(took));
    fine_ = 0;
    if (lease_ == max_inside) pause_ = first_pause;
  }

  /// The host waits for workers here: from long leases it falls to the shortest, from that to none, for a while.
  void fall() noexcept {
    bool const to_none = lease_ <= shortest || on_trial_;
    (to_none ? off_ : fixed_) = pause_;
    on_trial_ = to_none;
    pause_ = std::min(pause_ * 2, max_pause);
    lease_ = shortest;
    longer_ = closes_soon_ = fine_ = 0;
  }

  stays alone_;
  nanoseconds lease_ = shortest;
  std::uint64_t bubbles_ = 0;
  std::uint64_t off_ = 0;    // so many bubbles get no worker before their close
  std::uint64_t fixed_ = 0;  // … get the shortest leases alone
  std::uint64_t pause_ = first_pause;
  int longer_ = 0;       // bubbles in which the host stayed longer than without workers, less those in which it did not
  int closes_soon_ = 0;  // bubbles in a row that were closed soon after a lease
  int fine_ = 0;         // bubbles since the lease grew in which the host did not wait
  bool was_as_alone_ = false;  // the last bubble: the host stayed no longer than without workers
  bool on_trial_ = false;      // after none: the first longer stay tells
};

}  // namespace lull::detail
