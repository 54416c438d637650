// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include <lull/device/claimer.hpp>
#include <lull/device/gated_graph.hpp>
#include <lull/device/stay.hpp>

namespace lull {

/// What a conductor keeps from one segment to the next, in memory of the device.
template <class World>
struct kept_conducting {
  directive next;  // the segment under way
  claimer<World> claims;
  bubble_record* record;
  worker_params params;
  gated_graph graph;
  std::uint32_t segment;        // the one that comes next; gated_graph::count: the first again
  std::uint32_t failures;       // of launches, one after another
  std::uint32_t failed_launch;  // what the device said of the last that failed
};

/// The one thread of a conductor as a machine, with its storage in memory of the device, for it ends with each segment.
class single_thread {
 public:
  LULL_HD explicit single_thread(void* kept) noexcept : kept_(kept) {}

  LULL_HD static constexpr int rank() noexcept { return 0; }
  LULL_HD static constexpr int size() noexcept { return 1; }
  LULL_HD static constexpr std::uint64_t blocks() noexcept { return 1; }
  LULL_HD static void sync() noexcept {}
  LULL_HD static void* shared() noexcept { return nullptr; }
  template <class T>
  LULL_HD T broadcast(T value) const noexcept {
    return value;
  }
  LULL_HD static std::uint32_t count_in(sm_filter const&) noexcept { return 0; }
  LULL_HD static bool may_stay(sm_filter const&, std::uint32_t) noexcept { return true; }
  LULL_HD static bool may_stay_now(sm_filter const&) noexcept { return true; }
  LULL_HD static void count_out(sm_filter const&) noexcept {}
  LULL_HD static void await_launch_order() noexcept {}
  template <class T>
  LULL_HD T& keep() const noexcept {
    return *static_cast<T*>(kept_);
  }

 private:
  void* kept_;
};

/// Takes a gated graph through a bubble, a segment at a time. It runs in a kernel of one thread behind each segment:
/// notes that the segment is done, looks at gate, lease and slot, and launches the next one or leaves. Nothing of the
/// graph is launched before the look, so behind a close the segment at hand alone goes on.
/// `Launcher`: std::uint32_t operator()(void* executable) enqueues it behind the calling kernel; 0: it is enqueued.
template <class World, class Launcher>
class conductor : stay<World, kept_conducting<World>, single_thread> {
  using base = stay<World, kept_conducting<World>, single_thread>;
  using kept = kept_conducting<World>;
  using base::enter, base::kept_, base::leave, base::words;
  static constexpr std::uint32_t max_failures = 3;  // the next bubble tries again, so often

 public:
  /// The first call in a bubble.
  LULL_HD static void begin(worker_params const& params, Launcher launch) noexcept {
    kept until_known;  // whose graph it is
    conductor entering{params, until_known, launch};
    if (!entering.enter()) return;
    gated_graph const graph = task_in<gated_graph>(*params.slot);
    kept& stays = *static_cast<kept*>(graph.kept);
    stays.claims = until_known.claims;
    stays.record = until_known.record;
    stays.params = params;
    stays.graph = graph;
    conductor{stays.params, stays, launch}.go_on(stays.claims.next(entering.words(), graph));
  }

  /// Behind each segment.
  LULL_HD static void proceed(kept& stays, Launcher launch) noexcept {
    conductor here{stays.params, stays, launch};
    // Read ahead: it is what comes next, but at the end of a step, which costs more anyway.
    graph_segment const ahead = stays.graph.segments[here.segment_ahead()];
    directive const next = stays.claims.next_alone(stays.next, ahead.nodes, here.words());
    if (next.count != 0) {
      here.run(next, ahead.executable);
    } else if (next.what == action::leave) {
      here.leave();
    } else {
      here.go_on(stays.claims.next(here.words(), stays.graph));
    }
  }

  /// Launches the segment that was claimed last, where that has been put off; looks once more before.
  LULL_HD static void launch_claimed(kept& stays, Launcher launch) noexcept {
    conductor here{stays.params, stays, launch};
    stays.segment -= 1;
    if (stays.claims.has_ended(here.words())) {
      stays.claims.give_back(stays.next);
      here.leave();
    } else {
      here.run(stays.next, stays.graph.segments[stays.segment].executable);
    }
  }

 private:
  LULL_HD conductor(worker_params const& params, kept& stays, Launcher launch) noexcept
      : base(params, single_thread{&stays}), launch_(launch) {}

  LULL_HD std::uint32_t segment_ahead() const noexcept { return kept_.segment < kept_.graph.count ? kept_.segment : 0; }

  /// What the first look in a bubble finds, or one between two steps.
  LULL_HD void go_on(directive next) noexcept {
    while (next.what == action::advance) {
      kept_.claims.open_next(kept_.graph);
      next = kept_.claims.next(words(), kept_.graph);
    }
    if (next.what == action::leave) {
      leave();
      return;
    }
    graph_segment const first = kept_.graph.segments[segment_ahead()];
    kept_.claims.claim_more(next, first.nodes);
    run(next, first.executable);
  }

  LULL_HD void run(directive next, void* executable) noexcept {
    std::uint32_t const segment = segment_ahead();
    kept_.next = next;
    kept_.segment = segment + 1;
    std::uint32_t const failed = launch_(executable);
    if (failed == 0) {
      kept_.failures = 0;
      return;
    }
    kept_.failed_launch = failed;
    kept_.segment = segment;
    kept_.claims.give_back(next);
    if (++kept_.failures == max_failures) kept_.claims.fail(failure::no_launch);
    leave();
  }

  Launcher launch_;
};

}  // namespace lull
