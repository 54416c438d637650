// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include <lull/device/claimer.hpp>
#include <lull/device/gated_graph.hpp>
#include <lull/device/slot_occupant.hpp>

namespace lull {

/// What a conductor keeps in device memory from one segment to the next.
template <class World>
struct kept_conducting {
  directive next;  // the piece under way
  claimer<World> claims;
  bubble_record* record;
  worker_params params;
  gated_graph graph;
  std::uint64_t launched_ns;  // the piece under way
  std::uint32_t segment;      // first of the piece under way; or the one that comes next
  std::uint32_t segments;     // of the piece under way
  std::uint32_t failures;     // of launches, in a row

  /// Returns the segment after the piece under way.
  LULL_HD std::uint32_t following() const noexcept { return segment + segments < graph.count ? segment + segments : 0; }
};

/// The single thread of a conductor as a machine. Its storage is in device memory, because the thread ends with each
/// segment.
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

/// Takes a gated graph through a bubble, one segment at a time. It runs in one thread of a kernel that is launched with
/// each segment. The thread notes that the segment is done, looks at gate, lease and slot, and launches the next
/// segment or leaves. Nothing of the graph is launched before the look, so after a close only the current segment
/// finishes.
///
/// The lengths of the site's last bubbles are a hint (`usual_length`). While the end is far, the conductor launches a
/// stretch where one fits. If half of the lengths agree, it delays a segment that would outlast them until the bubble
/// has closed or has lasted longer. It never delays the first piece in a bubble: otherwise a segment longer than every
/// bubble would never run.
///
/// `Launcher`: bool operator()(void* executable) enqueues the executable after the calling kernel; false: the device
/// could not.
template <class World, class Launcher>
class conductor : slot_occupant<World, kept_conducting<World>, single_thread> {
  using base = slot_occupant<World, kept_conducting<World>, single_thread>;
  using kept = kept_conducting<World>;
  using base::enter, base::kept_, base::leave, base::words;
  static constexpr std::uint32_t max_failures = 3;  // the next bubble tries again

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

  /// Called after each piece. The common case is inline here, and nothing else (docs/decisions/gated-graphs.md says
  /// what that gains).
  LULL_HD static void proceed(kept& books, Launcher launch) noexcept {
    conductor here{books.params, books, launch};
    std::uint64_t const now_ns = World::now_ns();
    graph_piece& done = here.piece_under_way();
    books.segment = books.following();
    books.failures = 0;
    // Chosen early: it is right except at the end of a step, which costs more anyway.
    plan const ahead = here.choose(now_ns, false);
    directive const next = books.claims.next_alone(books.next, ahead.nodes, here.words());
    if (next.count != 0 && ahead.not_before_ns == 0) {
      done.note(now_ns - books.launched_ns);
      here.start(next, ahead.segments);
    } else {
      proceed_apart(books, launch, next, ahead, done, now_ns);
    }
  }

  /// Launches the claimed piece after a delay; looks once more before.
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
  /// The next piece and when it may start.
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

  /// Returns whether the lengths agree so closely, compared with segments or the bubble, that waiting for the end costs
  /// little.
  LULL_HD bool repeats(usual_length const& usual) const noexcept {
    if (usual.until_ns == 0 || usual.spread_ns > usual.min_ns / 4) return false;
    return usual.spread_ns <= kept_.graph.max_spread_ns || usual.spread_ns <= usual.from_ns / 16;
  }

  /// Handles everything except the next piece of the current step: opens the step that is due.
  LULL_HD directive next_step() noexcept { return kept_.claims.next(words(), kept_.graph); }

  /// Handles the end of a step, the end of the stay, and a piece that must wait.
  LULL_HD LULL_COLD static void proceed_apart(kept& books, Launcher launch, directive next, plan ahead,
                                              graph_piece& done, std::uint64_t now_ns) noexcept {
    conductor here{books.params, books, launch};
    bool const in_step = next.count != 0;
    if (!in_step && next.what != action::leave) next = here.next_step();
    if (books.claims.account().why == leave_reason::closed) {
      ++done.closed;  // its time is not used: the trainer's kernels ran beside it
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

  /// Launches the claimed piece.
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
