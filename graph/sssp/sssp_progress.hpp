// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <lull/graph/edge_queue.hpp>
#include <lull/graph/load/edge_weights.hpp>

namespace lull {

/// How far a vertex is from the source: a whole number, or the bits of a float that is not negative. Either way the
/// lesser word is the lesser distance.
struct sssp_distance {
  static constexpr std::uint32_t unreached = ~std::uint32_t{0};

  /// As std::bit_cast, which nvcc does not call on a device.
  LULL_HD static float real(std::uint32_t bits) noexcept { return __builtin_bit_cast(float, bits); }

  /// Of a path of this length and an edge after it, of which `weight` is a whole number or the bits of a float. A
  /// whole sum that is too large for a distance is `unreached`.
  LULL_HD static std::uint32_t plus(weight_kind kind, std::uint32_t length, std::uint32_t weight) noexcept {
    if (kind == weight_kind::real) return __builtin_bit_cast(std::uint32_t, real(length) + real(weight));
    return weight < unreached - length ? length + weight : unreached;
  }
};

/// What a phase of shortest paths does.
enum class sssp_phase : std::uint64_t {
  begin,    // no vertex is reached
  relax,    // the edges that leave the frontier
  collect,  // the vertices of the next bucket, out of those that are far
  tree,     // hops and parents, a level of hops
  clean,    // the lists are overwritten
  end
};

/// What searches go by.
struct sssp_graph {
  std::uint64_t edges;
  std::uint32_t vertices;
  std::uint32_t searches;
  weight_kind kind;
  std::uint32_t delta;  // of a bucket, as a weight

  /// Where a bucket ends that begins at `distance`: after it, however small delta is beside it.
  LULL_HD std::uint32_t end_of_bucket(std::uint32_t distance) const noexcept {
    std::uint32_t const end = sssp_distance::plus(kind, distance, delta);
    return end > distance ? end : distance + 1;
  }
};

/// Where the searches of a job stand. One team writes it between two phases, but for `tail`, `far_tail`, `far_min` and
/// `too_far`. At the end all is zero but the phase, the number of searches and `too_far`: how many waves and buckets it
/// takes depends on timing.
struct sssp_progress {
  using element = std::uint64_t;  // all that it is made of

  sssp_phase phase;
  std::uint64_t search;   // the number of the source
  std::uint64_t depth;    // of the frontier, in tree
  std::uint64_t wave;     // number of the frontier, from 1 on
  std::uint64_t bucket;   // its number, from 1 on
  std::uint64_t settled;  // where the one before it ended: what is nearer has been relaxed
  std::uint64_t limit;    // where it ends: nothing from there on is relaxed yet
  queue_range range;      // the frontier, in its queue
  std::uint64_t turned;   // which queue it is; the other one is for the next
  std::uint64_t tail;     // where the other queue ends
  std::uint64_t far_turned;
  std::uint64_t far;       // vertices in their list when the phase began
  std::uint64_t far_tail;  // where the list ends that is appended to: in collect the other one
  std::uint64_t far_min;   // the least distance of what was appended
  std::uint64_t too_far;   // 1: a search has met a vertex whose distance is too large a number

  LULL_HD void begin_at_source(sssp_graph const& graph, queue_mark source) noexcept {
    depth = 0;
    wave = 1;
    bucket = 1;
    settled = 0;
    limit = graph.end_of_bucket(0);
    far_turned = 0;
    far = 0;
    far_tail = 0;
    far_min = sssp_distance::unreached;
    begin_with(source);
    phase = sssp_phase::relax;
  }

  /// The frontier is what stands in the first queue.
  LULL_HD void begin_with(queue_mark source) noexcept {
    turned = 0;
    range = {{}, source};
    tail = 0;
  }

  /// The frontier is what was appended.
  LULL_HD void turn() noexcept {
    range = {{}, {tail}};
    tail = 0;
    turned = 1 - turned;
  }

  LULL_HD void wave_ended() noexcept {
    turn();
    wave += 1;
  }
  LULL_HD void level_ended() noexcept {
    turn();
    depth += 1;
  }

  /// Where the frontier is empty and some vertices are far: the nearest of them begins the next bucket.
  LULL_HD void begin_collect(sssp_graph const& graph) noexcept {
    phase = sssp_phase::collect;
    settled = limit;
    limit = graph.end_of_bucket(static_cast<std::uint32_t>(far_min));
    far_min = sssp_distance::unreached;
    far = far_tail;
    far_tail = 0;
    bucket += 1;
  }
  LULL_HD void collect_ended() noexcept {
    far_turned = 1 - far_turned;
    phase = sssp_phase::relax;
    wave_ended();
  }

  LULL_HD void end_search(sssp_graph const& graph) noexcept {
    search += 1;
    phase = search < graph.searches ? sssp_phase::begin : sssp_phase::clean;
  }
  LULL_HD void end() noexcept {
    sssp_progress ended{};
    ended.phase = sssp_phase::end;
    ended.search = search;
    ended.too_far = too_far;
    *this = ended;
  }
};

}  // namespace lull
