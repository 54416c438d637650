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
  directive next;  // the piece under way
  claimer<World> claims;
  bubble_record* record;
  worker_params params;
  gated_graph graph;
  std::uint64_t launched_ns;  // the piece under way
  std::uint32_t segment;      // that it begins with; or the one that comes next
  std::uint32_t segments;     // that it holds
  std::uint32_t failures;     // of launches, one after another

  /// The segment behind the piece under way.
  LULL_HD std::uint32_t behind() const noexcept { return segment + segments < graph.count ? segment + segments : 0; }
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

/// Takes a gated graph through a bubble, a segment at a time. It runs in one thread of a kernel behind each segment:
/// notes that the segment is done, looks at gate, lease and slot, and launches the next one or leaves. Nothing of the
/// graph is launched before the look, so behind a close the segment at hand alone goes on.
///
/// What is known of the site's bubbles is a hint (`usual_length`). While the end is far, a stretch is launched where
/// one fits. Where half of the lengths are alike, a segment that would outlast these is put off until the bubble has
/// closed, or lasts longer than they did. The first piece in a bubble is never put off: else one that outlasts all
/// bubbles would never run.
///
/// `Launcher`: bool operator()(void* executable) enqueues it behind the calling kernel; false: the device could not.
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
    kept& books = *static_cast<kept*>(graph.kept);
    books.claims = until_known.claims;
    books.record = until_known.record;
    books.params = params;
    books.graph = graph;
    conductor here{books.params, books, launch};
    here.begin_step(here.next_step());
  }

  /// Behind each piece. What nearly every look finds stands here, and nothing else (what that gains, and what noise is:
  /// docs/decisions/gated-graphs.md).
  LULL_HD static void proceed(kept& books, Launcher launch) noexcept {
    conductor here{books.params, books, launch};
    std::uint64_t const now_ns = World::now_ns();
    graph_piece& done = here.piece_under_way();
    books.segment = books.behind();
    books.failures = 0;
    // Read ahead: it is what comes next, but at the end of a step, which costs more anyway.
    plan const ahead = here.choose(now_ns, false);
    directive const next = books.claims.next_alone(books.next, ahead.nodes, here.words());
    if (next.count != 0 && ahead.not_before_ns == 0) {
      done.note(now_ns - books.launched_ns);
      here.start(next, ahead.segments);
    } else {
      proceed_apart(books, launch, next, ahead, done, now_ns);
    }
  }

  /// Launches the piece that was claimed last, where that has been put off; looks once more before.
  LULL_HD static void launch_claimed(kept& books, Launcher launch) noexcept {
    conductor here{books.params, books, launch};
    if (books.claims.has_ended(here.words())) {
      books.claims.give_back(books.next);
      here.leave();
    } else {
      here.launch();
    }
  }

 private:
  /// What comes next.
  struct plan {
    std::uint32_t segments;
    std::uint32_t nodes;
    std::uint64_t not_before_ns;  // unless the bubble closes first; 0: at once
  };

  LULL_HD conductor(worker_params const& params, kept& books, Launcher launch) noexcept
      : base(params, single_thread{&books}), launch_(launch) {}

  LULL_HD graph_piece& piece_under_way() const noexcept {
    graph_segment& first = kept_.graph.segments[kept_.segment];
    return kept_.segments > 1 ? first.stretch : first.one;
  }

  LULL_HD plan choose(std::uint64_t now_ns, bool is_first) const noexcept {
    graph_segment const first = kept_.graph.segments[kept_.segment];
    plan const one{1, first.one.nodes, 0};
    usual_length const usual = kept_.params.usual;
    if (usual.min_ns == 0 || kept_.graph.max_spread_ns == 0) return one;
    std::uint64_t const opened_ns = kept_.claims.account().opened_ns;
    if (first.stretch.nodes != 0 && now_ns + first.stretch.took_ns + usual.spread_ns <= opened_ns + usual.min_ns)
      return {first.stretched, first.stretch.nodes, 0};
    if (is_first || !repeats(usual)) return one;
    std::uint64_t const late_ns = opened_ns + usual.until_ns + usual_length::max_lateness_ns;
    bool const outlasts = now_ns + first.one.took_ns > opened_ns + usual.from_ns && now_ns < late_ns;
    return outlasts ? plan{1, first.one.nodes, late_ns} : one;
  }

  /// Closely enough, beside segments or beside the bubble, that to wait for the end costs little.
  LULL_HD bool repeats(usual_length const& usual) const noexcept {
    if (usual.until_ns == 0 || usual.spread_ns > usual.min_ns / 4) return false;
    return usual.spread_ns <= kept_.graph.max_spread_ns || usual.spread_ns <= usual.from_ns / 16;
  }

  /// Everything that a look can find but the next piece of a step that is under way: opens the step that is due.
  LULL_HD directive next_step() noexcept { return kept_.claims.next(words(), kept_.graph); }

  /// A step has ended, or the stay, or what comes next must wait.
  LULL_HD LULL_COLD static void proceed_apart(kept& books, Launcher launch, directive next, plan ahead,
                                              graph_piece& done, std::uint64_t now_ns) noexcept {
    conductor here{books.params, books, launch};
    bool const in_step = next.count != 0;
    if (!in_step && next.what != action::leave) next = here.next_step();
    if (books.claims.account().why == leave_reason::closed) {
      ++done.closed;  // how long it took says nothing: the trainer's kernels ran beside it
      books.claims.note_since_look(now_ns - books.launched_ns);  // some microseconds less than since that look
    } else {
      done.note(now_ns - books.launched_ns);
    }
    if (in_step) {
      here.run(next, ahead);
    } else {
      here.begin_step(next);
    }
  }

  LULL_HD void begin_step(directive next) noexcept {
    if (next.what == action::leave) {
      leave();
      return;
    }
    plan const ahead = choose(World::now_ns(), kept_.claims.account().chunks == 0);
    kept_.claims.claim_more(next, ahead.nodes);
    run(next, ahead);
  }

  LULL_HD void run(directive const& next, plan const& ahead) noexcept {
    while (ahead.not_before_ns != 0 && World::now_ns() < ahead.not_before_ns) {
      if (kept_.claims.has_ended(words())) {
        kept_.claims.give_back(next);
        leave();
        return;
      }
      World::pause();
    }
    start(next, ahead.segments);
  }

  LULL_HD void start(directive const& next, std::uint32_t segments) noexcept {
    kept_.next = next;
    kept_.segments = segments;
    this->launch();
  }

  /// The piece that is claimed.
  LULL_HD void launch() noexcept {
    kept_.launched_ns = World::now_ns();
    if (!launch_(piece_under_way().executable)) fail_apart(kept_, launch_);
  }

  LULL_HD LULL_COLD static void fail_apart(kept& books, Launcher launch) noexcept {
    conductor here{books.params, books, launch};
    books.claims.give_back(books.next);
    if (++books.failures == max_failures) books.claims.fail(failure::no_launch);
    here.leave();
  }

  Launcher launch_;
};

}  // namespace lull
