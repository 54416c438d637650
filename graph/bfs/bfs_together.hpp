// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <lull/device/side_task.hpp>
#include <lull/graph/bfs/bfs_together_pull.hpp>
#include <lull/graph/bfs/bfs_together_push.hpp>
#include <lull/graph/bfs/bfs_together_state.hpp>
#include <lull/graph/sweep.hpp>

namespace lull {

/// Breadth-first searches from up to 64 sources at once; more of them a group after the other. Depths and parents are
/// those of basic_bfs: of each vertex the lowest vertex of the depth before with an edge to it.
///
/// A vertex has words with a bit for each search: those by which it is seen, and those that reach it at a depth. One
/// visit of an edge does what it has to do in all searches. A frontier is that of all; a vertex is in it at each depth
/// at which a search reaches it. What a level costs, and so whether it is pushed or pulled, bfs_together_progress says.
///   push     an item is `Piece` edges that leave the frontier, and its vertices, which is a queue with the running sum
///            of both. For each search that the source has and the target is not seen by, the target's label becomes
///            the least of itself and (depth, source), atomically. The thread that finds it unreached, one alone, adds
///            the search to the target's word of the next depth; the thread that finds that word zero appends the
///            target to the next queue. Meanwhile the frontier becomes seen, and other items zero the words of the
///            depth before: a level is one phase. Where many searches are in one vertex, an item is fewer edges, each
///            for several threads.
///   small    a level of up to `Piece` edges and vertices is one item, which goes on with the next such level.
///   mark     before each level that is pulled: the frontier becomes seen, and the vertices that edges enter, but that
///            not all searches have reached, go to a queue.
///   pull     an item is `Piece` of the edges that enter those.
///   collect  after the last of some levels that are pulled: the frontier from its words to the queue.
/// Each is bounded whatever the graph: a fixed number of edges and vertices, each with at most 64 labels.
///
/// Results do not depend on timing, for the reasons that basic_bfs names: no item calls `leaving()`, all that a level
/// writes into labels has its depth, just one thread finds a label unreached, and what decides about the next phase are
/// sums and maxima of exact counts. The queues alone keep an order; `clean` overwrites them with zeros at the end. A
/// word of `seen` that an item reads a little early costs a look at a label, which then is of a lesser depth.
///
/// `Threads` of a team on a GPU, and `BlocksPerSm` of them on an SM, as in team_shape.
///
/// Sources: Then et al., "The more the merrier: efficient multi-source graph traversal", PVLDB 8(4), 2014, sections 3
/// and 4 (a bit a search); Liu, Huang, Hu, "iBFS: concurrent breadth-first search on GPUs", SIGMOD 2016, section 3 (one
/// frontier for all searches).
template <std::uint32_t Piece, int Threads = 256, int BlocksPerSm = 0>
struct basic_bfs_together {
  static constexpr std::uint32_t piece = Piece;
  static constexpr std::uint32_t small_levels = 2;  // of an item of small, at most
  static constexpr std::uint32_t max_at_once = 64;

  using pusher = detail::bfs_together_pusher<Piece>;
  using puller = detail::bfs_together_puller<Piece, Threads>;

  /// Of a team, for one item.
  union storage {
    typename pusher::storage push;
    typename puller::storage pull;
  };

  static constexpr team_shape shape{
      .threads = Threads, .steps = 1, .shared_bytes = sizeof(storage), .blocks_per_sm = BlocksPerSm};

  bfs_together_state on;

  LULL_HD std::uint64_t extent(position, std::uint64_t) const noexcept {
    bfs_together_progress const& now = *on.progress;
    switch (now.phase) {
      case bfs_together_phase::begin:
        return detail::parts(group_words(), swept);
      case bfs_together_phase::small:
        return 1;
      case bfs_together_phase::push:
        return pusher::pieces(now) + detail::parts(now.before, swept);
      case bfs_together_phase::mark:
      case bfs_together_phase::collect:
        return detail::parts(on.graph.vertices, puller::swept);
      case bfs_together_phase::pull:
        return detail::parts(now.range().edges(), Piece);
      case bfs_together_phase::clean:
        return detail::parts(now.used, swept);
      default:
        return finished;
    }
  }

  LULL_HD void operator()(chunk c, auto const& team) const noexcept {
    bfs_together_phase const phase = on.progress->phase;
    auto& shared = *static_cast<storage*>(team.shared());
    pusher const pushing{on};
    puller const pulling{on};
    for (std::uint64_t item = c.begin; item < c.end; ++item) {
      switch (phase) {
        case bfs_together_phase::begin:
          begin(item, team);
          break;
        case bfs_together_phase::small:
          pushing.template push_small<small_levels>(shared.push, team);
          break;
        case bfs_together_phase::push:
          push(item, shared.push, team);
          break;
        case bfs_together_phase::mark:
          pulling.mark(item, shared.pull.piece.reserved, team);
          break;
        case bfs_together_phase::pull:
          pulling.pull(item, shared.pull, team);
          break;
        case bfs_together_phase::collect:
          pulling.collect(item, shared.pull.piece.reserved, team);
          break;
        default:
          clean(item, team);
      }
      team.sync();  // before the team's storage is used again
    }
  }

  LULL_HD void advance(position, auto const& team) const noexcept {
    bfs_together_progress& now = *on.progress;
    bfs_together_phase const ended = now.phase;
    team.sync();  // all have read it
    if (ended == bfs_together_phase::begin) {
      reach_sources(static_cast<storage*>(team.shared())->push.piece.reserved, team);
      team.sync();
    }
    if (team.rank() != 0) return;
    switch (ended) {
      case bfs_together_phase::begin:
        return now.begin_ended(on.graph);
      case bfs_together_phase::push:
        now.push_ended();
        return now.choose(on.graph, true);
      case bfs_together_phase::small:
        return now.choose(on.graph, true);
      case bfs_together_phase::mark:
        return now.mark_ended(on.graph);
      case bfs_together_phase::pull:
        return now.pull_ended(on.graph);
      case bfs_together_phase::collect:
        return now.collect_ended(on.graph);
      default:
        now.phase = bfs_together_phase::end;
    }
  }

 private:
  static constexpr std::uint32_t swept = 16 * Threads;  // words of an item of begin, and places of queues in others

  /// Labels of the group, and words with a bit for each search.
  LULL_HD std::uint64_t group_words() const noexcept { return std::uint64_t{on.graph.vertices} * (on.searches() + 4); }

  LULL_HD void begin(std::uint64_t item, auto const& team) const noexcept {
    bfs_together_labels const labels = on.group_labels();
    std::uint64_t const of_labels = std::uint64_t{on.graph.vertices} * labels.searches;
    detail::for_each_of<swept>(item, group_words(), team, [&](std::uint64_t at) {
      if (at < of_labels) {
        labels.first[at] = bfs_label::unreached;
      } else {
        on.words[at - of_labels] = 0;
      }
    });
  }

  LULL_HD void push(std::uint64_t item, typename pusher::storage& shared, auto const& team) const noexcept {
    bfs_together_progress& now = *on.progress;
    std::uint64_t const pieces = pusher::pieces(now);
    if (item < pieces) return pusher{on}.push(item, shared, now, team);
    std::uint64_t const begin = (item - pieces) * swept;
    pusher{on}.forget(begin, begin + swept < now.before ? begin + swept : now.before, now, team);
  }

  LULL_HD void clean(std::uint64_t item, auto const& team) const noexcept {
    detail::for_each_of<swept>(item, on.progress->used, team, [&](std::uint64_t at) {
      for (std::uint64_t depth = 0; depth < 3; ++depth) {
        on.queue(depth).vertex[at] = 0;
        on.queue(depth).first_edge[at] = 0;
      }
    });
  }

  /// Collective: the first frontier. Several searches may have one source.
  LULL_HD void reach_sources(queue_mark& reserved, auto const& team) const noexcept {
    bfs_together_progress& now = *on.progress;
    bfs_together_labels const labels = on.group_labels();
    auto const size = static_cast<std::uint32_t>(team.size());
    std::uint64_t pairs = 0;
    for (std::uint32_t at = 0; at < labels.searches; at += size) {
      std::uint32_t const search = at + static_cast<std::uint32_t>(team.rank());
      queue_entry source[1];
      if (search < labels.searches) {
        std::uint32_t const vertex = on.sources[on.first_search() + search];
        labels.of(vertex, search) = bfs_label::of(0, vertex);
        std::uint64_t const bit = std::uint64_t{1} << search;
        std::uint64_t const before = atomic_integer{on.reached_at(0)[vertex]}.fetch_add(bit);
        if (before == 0) source[0] = {vertex, on.degree(vertex) + 1};
        detail::note_crowd(now.crowded, before | bit);
        pairs += on.degree(vertex);
      }
      on.queue(0).append(now.tail, source, reserved, team);
    }
    pairs = team.sum(pairs);
    if (team.rank() == 0) now.reached = pairs;
  }
};

using bfs_together = basic_bfs_together<1024, 256, 4>;

static_assert(is_side_task<bfs_together>() && has_advance<bfs_together>);

}  // namespace lull
