// SPDX-License-Identifier: Apache-2.0
// Hosts that stay inside their bubbles, in simulated time: how much of the idle time the workers get, and what they
// cost the trainer.
#include <chrono>
#include <cstdint>
#include <functional>
#include <random>
#include <utility>

#include <gtest/gtest.h>

#include <lull/host/detail/gate/open_lease.hpp>

namespace lull::detail {
namespace {

using namespace std::chrono_literals;
using std::chrono::nanoseconds;

/// What the host does inside a bubble, if no worker is there: how long it stays, and when it waits for whatever works
/// on the device.
struct host_stay {
  nanoseconds length{0};
  nanoseconds waits_at = nanoseconds::max();
};

struct outcome {
  double share = 0;     // of the idle time in which workers worked
  nanoseconds late{0};  // a bubble, by which the host closed later than it would have without workers
  nanoseconds worst{0};
  std::uint64_t with_workers = 0;  // bubbles
};

class simulated_site {
 public:
  using host = std::function<host_stay(std::uint64_t)>;
  explicit simulated_site(bool at_open, nanoseconds next_look = 60us) : at_open_(at_open), next_look_(next_look) {}

  outcome run(std::uint64_t bubbles, host const& is) {
    outcome sum;
    nanoseconds idle{0};
    nanoseconds worked{0};
    nanoseconds late{0};
    for (std::uint64_t b = 0; b < bubbles; ++b) {
      host_stay const own = is(b);
      nanoseconds const before = worked;
      nanoseconds const closed = bubble(own, worked);
      idle += own.length;
      late += closed - own.length;
      sum.worst = std::max(sum.worst, closed - own.length);
      sum.with_workers += worked != before ? 1U : 0U;
    }
    sum.share = static_cast<double>(worked.count()) / static_cast<double>(idle.count());
    sum.late = late / static_cast<std::int64_t>(bubbles);
    return sum;
  }

 private:
  /// Returns when the host closes.
  nanoseconds bubble(host_stay const& own, nanoseconds& worked) {
    lease_.begin_bubble();
    bool const at_open = at_open_ && ++bubbles_ > 8;      // a site must be known first
    nanoseconds at = at_open ? 10us : lease_.patience();  // of the next launch
    nanoseconds length = own.length;                      // of what the host does by itself
    nanoseconds lease = lease_.first();
    nanoseconds used{0};
    nanoseconds left{0};
    nanoseconds ended{0};
    bool saw = false;
    bool waited = false;
    for (; lease_.allowed() && at < length; lease = lease_.after(lease, at)) {
      used = std::max(used, lease);
      left = at + lease;
      if (!waited && own.waits_at >= at && own.waits_at < left) {  // the host waits until they have left
        waited = true;
        length += left - own.waits_at;
      }
      saw = left >= length;
      worked += std::min(left, length) - at;
      if (saw) break;
      ended = std::max(ended, lease);
      at = left + next_look_;
    }
    lease_.end_bubble({length, used, ended}, 2s);
    if (used.count() != 0) lease_.add_close(!saw && length - left < open_lease::soon);
    return length;
  }

  bool const at_open_;
  nanoseconds const next_look_;
  std::uint64_t bubbles_ = 0;
  open_lease lease_;
};

outcome of(host_stay const& each, bool at_open, std::uint64_t bubbles = 1'000) {
  return simulated_site{at_open}.run(bubbles, [&](std::uint64_t) { return each; });
}

TEST(open_lease, a_host_that_waits_for_something_else_leaves_the_bubble_to_workers) {
  EXPECT_GT(of({1ms}, true).share, 0.75);
  EXPECT_GT(of({5ms}, true).share, 0.94);
  EXPECT_GT(of({50ms}, true).share, 0.965);
  EXPECT_GT(of({400ms}, true).share, 0.97);
  EXPECT_GT(of({400ms}, false).share, 0.97) << "launched once the host has been inside for a while";
}

TEST(open_lease, a_single_stall_of_a_second_is_used_as_it_is) { EXPECT_GT(of({1s}, false, 1).share, 0.96); }

TEST(open_lease, a_host_that_does_not_wait_for_workers_is_not_late) {
  for (auto const length : {300us, 1'000us, 5'000us, 77'000us}) EXPECT_EQ(of({length}, true).late, 0ns);
}

TEST(open_lease, random_stalls_are_used_too) {
  std::mt19937_64 random{1};
  std::lognormal_distribution<double> length{0, 1};
  for (auto const& [scale, least] : {std::pair{1ms, 0.6}, {10ms, 0.75}, {100ms, 0.9}}) {
    outcome const found = simulated_site{true}.run(2'000, [&](std::uint64_t) {
      return host_stay{
          nanoseconds{static_cast<std::int64_t>(length(random) * static_cast<double>(nanoseconds{scale}.count()))}};
    });
    EXPECT_GT(found.share, least) << scale.count();
    EXPECT_EQ(found.late, 0ns);
  }
}

/// A device-wide synchronisation in a step of 158 us: the host is there early, late, or with work of its own after it.
TEST(open_lease, a_host_that_waits_for_workers_does_so_a_few_times_only) {
  for (auto const waits_at : {15us, 60us, 100us}) {
    for (auto const length : {160us, 300us, 2'000us}) {
      if (waits_at > length) continue;
      outcome const found = of({length, waits_at}, true);
      EXPECT_LE(static_cast<double>(found.late.count()), 0.02 * static_cast<double>(nanoseconds{length}.count()))
          << waits_at.count() << " of " << length.count();
    }
  }
}

TEST(open_lease, a_host_that_waits_for_workers_late_in_a_long_bubble_is_held_up_by_short_leases) {
  for (std::chrono::microseconds const waits_at : {7ms, 13ms, 19ms}) {
    outcome const found = of({20ms, waits_at}, true);
    EXPECT_LE(found.late, 200us) << waits_at.count();
    EXPECT_LE(found.worst, open_lease::max_inside);
  }
}

TEST(open_lease, a_host_that_waits_at_random_moments_is_held_up_for_a_lease_at_most) {
  std::mt19937_64 random{2};
  outcome const found = simulated_site{true}.run(2'000, [&](std::uint64_t) {
    nanoseconds const length{static_cast<std::int64_t>(20e6 + random() % 10'000'000)};
    return host_stay{length, nanoseconds{static_cast<std::int64_t>(random() % 20'000'000)}};
  });
  EXPECT_LE(found.worst, open_lease::max_inside);
  EXPECT_LE(found.late, 1ms);
}

TEST(open_lease, a_close_at_the_same_moment_as_ever_did_not_wait_for_a_lease) {
  // The first leases end at 210 us; this host closes just after that, by itself.
  outcome const found = of({230us}, true);
  EXPECT_EQ(found.late, 0ns);
  EXPECT_GT(found.share, 0.5);
}

TEST(open_lease, a_site_that_waits_no_longer_is_used_again) {
  outcome const found = simulated_site{true}.run(2'000, [](std::uint64_t b) {
    return b < 200 ? host_stay{1ms, 20us} : host_stay{1ms};
  });
  EXPECT_GT(found.share, 0.5);
}

TEST(open_lease, one_bubble_in_many_has_no_workers_so_that_the_host_alone_stays_known) {
  outcome const found = of({5ms}, true, 10 * open_lease::control_every);
  EXPECT_EQ(found.with_workers, 10 * (open_lease::control_every - 1) - 4) << "of the first eight, four";
}

TEST(open_lease, a_host_that_leaves_at_once_gets_workers_with_long_leases) {
  open_lease site;
  for (int i = 0; i < 20; ++i) {
    site.begin_bubble();
    site.end_bubble({20us, site.first()}, 40ms);
  }
  EXPECT_EQ(site.lease(), 40ms);
  site.begin_bubble();
  site.end_bubble({25ms, site.first()}, 40ms);
  EXPECT_EQ(site.lease(), open_lease::max_inside) << "it has stayed";
}

}  // namespace
}  // namespace lull::detail
