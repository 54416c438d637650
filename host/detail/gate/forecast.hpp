// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <optional>

namespace lull::detail {

/// When a site's next bubble will open, learnt from how long after the previous bubble the last ones opened. A hint: a
/// wrong one costs a little harvest or a little waiting, never correctness. Times are of the device's clock.
class forecast {
 public:
  /// A timer's lateness plus a launch.
  static constexpr std::chrono::nanoseconds min_launch = std::chrono::microseconds{100};
  static constexpr std::chrono::nanoseconds max_launch = std::chrono::microseconds{2'000};
  /// The error of expectations until some are known.
  static constexpr std::chrono::nanoseconds unknown_error = std::chrono::microseconds{1'000};
  /// Added after a missed bubble.
  static constexpr std::chrono::nanoseconds longer_by = std::chrono::microseconds{50};
  static constexpr int shorter_after = 64;  // bubbles in a row that were not missed

  /// Returns by how much a steady trainer's bubble may open earlier than expected, for one expected after `distance`.
  /// The time that its kernels take varies by about a percent (docs/decisions/armed-late.md).
  static constexpr std::chrono::nanoseconds max_error(std::chrono::nanoseconds distance) noexcept {
    std::chrono::nanoseconds const least = std::chrono::milliseconds{2};
    return std::clamp(distance / 32, least, 125 * least);
  }
  /// Returns the longest time that a worker may wait on the device for its bubble: a sixteenth of what the trainer
  /// computes before it, since kernels may start later meanwhile. Less than 0.2 ms is too short for a launch.
  static constexpr std::chrono::nanoseconds max_ahead(std::chrono::nanoseconds distance) noexcept {
    return std::max<std::chrono::nanoseconds>(2 * min_launch, distance / 16);
  }
  /// Returns the error after a pause: the host's lead over the device varies by some per cent.
  static constexpr std::chrono::nanoseconds call_error(std::chrono::nanoseconds after_call) noexcept {
    return after_call / 8;
  }

  /// Adds a bubble that opened. `before` identifies the site of the previous bubble; four such sites are kept.
  void add(void const* before, std::chrono::nanoseconds after_opening,
           std::optional<std::chrono::nanoseconds> after_close) noexcept {
    auto at = std::find_if(after_.begin(), after_.end(), [&](auto const& each) { return each.before == before; });
    if (at == after_.end()) {
      at = after_.begin() + static_cast<std::ptrdiff_t>(next_++ % after_.size());
      *at = {before, {}, {}};
    }
    auto const expected = after_close ? at->closes.median() : at->openings.median();
    if (expected) early_.add(*expected - (after_close ? *after_close : after_opening));
    at->openings.add(after_opening);
    if (after_close) at->closes.add(*after_close);
  }

  /// Adds a bubble before which the trainer paused: measured from the host's call, because the previous bubble says
  /// nothing.
  void add_after_pause(std::chrono::nanoseconds after_call) noexcept { calls_.add(after_call); }
  std::optional<std::chrono::nanoseconds> after_call() const noexcept { return calls_.median(1); }  // pauses are rare

  /// Returns the times from the previous bubble's opening and close; nothing where not known.
  std::optional<std::chrono::nanoseconds> after_opening(void const* before) const noexcept {
    return of(before, &after::openings);
  }
  std::optional<std::chrono::nanoseconds> after_close(void const* before) const noexcept {
    return of(before, &after::closes);
  }

  /// Notes whether a worker was enqueued before its bubble opened. Each miss adds to the lead; `shorter_after` hits in
  /// a row take away a quarter of what exceeds the minimum. So about one bubble in that many is missed, however long
  /// launches take.
  void note(bool in_time) noexcept {
    if (!in_time) {
      launch_ = std::min(launch_ + longer_by, max_launch);
      hits_ = 0;
    } else if (++hits_ == shorter_after) {
      launch_ -= (launch_ - min_launch) / 4;
      hits_ = 0;
    }
  }
  /// Returns how long before the expected opening a worker should be enqueued: the time of a launch, plus how much
  /// earlier than expected bubbles opened recently. `distance`: from the moment that the expectation counts from.
  std::chrono::nanoseconds ahead(std::chrono::nanoseconds distance) const noexcept {
    auto const error = early_.greatest(3).value_or(unknown_error);
    auto const wanted = launch_ + std::clamp(error, std::chrono::nanoseconds{0}, max_error(distance));
    return std::min(wanted, max_ahead(distance));
  }
  /// The same for an opening that is counted from the host's call.
  std::chrono::nanoseconds ahead_of_call(std::chrono::nanoseconds after_call) const noexcept {
    return launch_ + call_error(after_call);
  }

 private:
  /// The most recent values.
  template <std::size_t Count>
  class recent {
   public:
    void add(std::chrono::nanoseconds value) noexcept { values_[count_++ % values_.size()] = value; }
    /// Returns nothing for fewer than `fewest` values. Of two in the middle it returns the smaller: a worker that comes
    /// too early waits, one that comes too late may lose its bubble.
    std::optional<std::chrono::nanoseconds> median(std::size_t fewest = 2) const noexcept {
      std::size_t const known = std::min(count_, values_.size());
      if (known < fewest) return std::nullopt;
      auto sorted = values_;
      auto const middle = sorted.begin() + static_cast<std::ptrdiff_t>((known - 1) / 2);
      std::nth_element(sorted.begin(), middle, sorted.begin() + static_cast<std::ptrdiff_t>(known));
      return *middle;
    }

    std::optional<std::chrono::nanoseconds> greatest(std::size_t fewest) const noexcept {
      if (count_ < fewest) return std::nullopt;
      return *std::max_element(values_.begin(),
                               values_.begin() + static_cast<std::ptrdiff_t>(std::min(count_, values_.size())));
    }

   private:
    std::array<std::chrono::nanoseconds, Count> values_{};
    std::size_t count_ = 0;
  };

  using lengths = recent<8>;
  struct after {
    void const* before = nullptr;
    lengths openings;
    lengths closes;
  };

  std::optional<std::chrono::nanoseconds> of(void const* before, lengths after::*which) const noexcept {
    auto const at = std::find_if(after_.begin(), after_.end(), [&](auto const& each) { return each.before == before; });
    return at != after_.end() ? ((*at).*which).median() : std::nullopt;
  }

  std::array<after, 4> after_{};
  lengths calls_;
  std::size_t next_ = 0;
  // Of n errors that vary by chance the next exceeds all with probability 1 in n + 1; a bubble whose worker is late may
  // be lost whole.
  recent<32> early_;
  std::chrono::nanoseconds launch_{250'000};
  int hits_ = 0;
};

/// The device's clock as the host sees it. The host learns of each moment of the device only afterwards, so the
/// smallest difference of the last seconds is the best estimate. Older ones are forgotten, because clocks drift.
/// Thread-safe.
class device_clock {
 public:
  using time_point = std::chrono::steady_clock::time_point;

  /// Notes that `device_ns` had passed at `now`.
  void note(std::uint64_t device_ns, time_point now) noexcept {
    auto const ahead_by = now.time_since_epoch() - std::chrono::nanoseconds{device_ns};
    std::lock_guard const lock{mutex_};
    if (now - window_began_ >= window) {
      before_ = now - window_began_ < 2 * window ? current_ : std::nullopt;
      current_ = std::nullopt;
      window_began_ = now;
    }
    if (!current_ || ahead_by < *current_) current_ = ahead_by;
  }
  /// Returns the host's time for a moment of the device; nothing while unknown.
  std::optional<time_point> at(std::uint64_t device_ns) const noexcept {
    auto const least = difference();
    if (!least) return std::nullopt;
    return time_point{std::chrono::duration_cast<time_point::duration>(*least + std::chrono::nanoseconds{device_ns})};
  }

 private:
  static constexpr std::chrono::seconds window{1};

  std::optional<std::chrono::nanoseconds> difference() const noexcept {
    std::lock_guard const lock{mutex_};
    if (current_ && before_) return std::min(*current_, *before_);
    return current_ ? current_ : before_;
  }

  mutable std::mutex mutex_;
  time_point window_began_{};
  std::optional<std::chrono::nanoseconds> current_{};
  std::optional<std::chrono::nanoseconds> before_{};
};

}  // namespace lull::detail
