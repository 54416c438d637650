// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cmath>
#include <cstdint>
#include <lull/device/side_task.hpp>
#include <lull/graph/graph_sgd/rating_blocks.hpp>
#include <lull/graph/graph_sgd/row_threads.hpp>

namespace lull {

/// Ratings, factors, and how they are learnt.
struct graph_sgd_model {
  placed_rating const* ordered;  // (ratings,) those to learn from, as in rating_blocks
  std::uint64_t const* begins;   // (phases × groups + 1,)
  rating const* held_out;        // (held_out_count,)
  float* user_factors;           // (users, factors)
  float* item_factors;           // (items, factors)
  double* square;                // (groups,) squared errors of the epoch's pass, each before its update
  double* held_out_square;       // (⌈held_out_count / judged⌉,)
  double* folded;                // (⌈held_out_count / judged / fold⌉,)
  double* epoch_square;          // (2, epochs) sums of squared errors: of the pass; of what is held out, after it
  std::uint32_t* stopped;        // (1,) 1: an error was no number
  std::uint64_t held_out_count;
  std::uint32_t groups;
  std::uint32_t phases;  // of a pass
  std::uint32_t epochs;
  float mean;  // of the ratings to learn from
  float rate;  // of the first epoch; of epoch e: rate / (1 + decay × e)
  float decay;
  float l2;
};

/// The phase of rating_blocks that comes in this place of an epoch: the next epoch begins about 0.6 of them later.
LULL_HD constexpr std::uint32_t phase_in(std::uint32_t epoch, std::uint32_t place, std::uint32_t phases) noexcept {
  std::uint64_t const first = std::uint64_t{epoch * 0x9e37'79b9U} * phases >> 32;  // a golden section of a turn
  std::uint32_t const found = static_cast<std::uint32_t>(first) + place;
  return found < phases ? found : found - phases;
}

/// Factorises a matrix of ratings: value(u, i) ≈ mean + user_factors(u) · item_factors(i), by stochastic gradient
/// descent on squared errors, with an L2 penalty on the factors that a rating touches.
///
/// A round is a phase. An epoch has all phases of rating_blocks, each epoch from another one on (phase_in), then one
/// that judges what is held out, and one that folds what came of it. As many threads as a row of factors has quads work
/// on each item. In the pass it is a block: its ratings are worked through one after the other, on copies of their
/// factors in the team's storage. So factors depend on the order of ratings alone, and are equal bit for bit whatever
/// the grain, the grid and the preemption.
///
/// Source: Gemulla, Nijkamp, Haas, Sismanis, KDD 2011; Koren, Bell, Volinsky, "Matrix factorization techniques for
/// recommender systems", IEEE Computer 42(8), 2009 (the updates).
template <std::uint32_t Factors>
class graph_sgd {
  static constexpr std::uint32_t quads = Factors / 4;
  using quad = detail::quad;
  using row_of_threads = detail::row_threads<quads>;

  /// Of a block.
  struct storage {
    placed_rating given[rating_blocks::max_block];
    quad user[rating_blocks::max_block][quads];  // of the rating in this place, if it is the user's first
    quad item[rating_blocks::max_block][quads];
  };

  static constexpr int threads = 64;
  static constexpr std::uint32_t max_rows = threads / quads;  // at a time
  static constexpr std::uint32_t at_once = 4;                 // held-out ratings whose loads a row has in flight

 public:
  static constexpr std::uint32_t factors = Factors;
  static constexpr std::uint32_t blocks_at_once = max_rows;  // on a GPU
  static constexpr std::uint32_t judged = 8;                 // held-out ratings, an item
  static constexpr std::uint64_t fold = 512;                 // items of the judging phase, an item
  static constexpr team_shape shape{.threads = threads, .shared_bytes = max_rows * sizeof(storage)};
  static constexpr std::uint32_t other_phases = 2;  // of an epoch, beside the pass

  graph_sgd_model model;

  LULL_HD std::uint64_t extent(position at, std::uint64_t) const noexcept {
    point const here = point_of(at.round);
    if (here.epoch >= model.epochs || *model.stopped != 0) return finished;
    if (here.phase < model.phases) return model.groups;
    return here.phase == model.phases ? judged_items() : folds();
  }

  LULL_HD void operator()(chunk c, auto const& team) const noexcept {
    point const here = point_of(c.at.round);
    row_of_threads const row{team.rank(), team.size()};
    if (here.phase < model.phases) {
      learn(here, c, row, static_cast<storage*>(team.shared()));
    } else if (here.phase == model.phases) {
      judge(c, row);
    } else {
      fold_up(c, row);
    }
  }

  LULL_HD void advance(position ended, auto const& team) const noexcept {
    point const here = point_of(ended.round);
    bool const has_folded = here.phase == model.phases + 1;
    if (!has_folded && here.phase + 1 != model.phases) return;
    double const square =
        has_folded ? total(model.folded, 0, folds(), team) : total(model.square, 0, model.groups, team);
    if (team.rank() != 0) return;
    model.epoch_square[(has_folded ? model.epochs : 0) + here.epoch] = square;
    if (!std::isfinite(square)) *model.stopped = 1;
  }

 private:
  static_assert(Factors % 4 == 0 && max_rows >= 4, "a team of four on a CPU has a row each");
  static_assert(judged % at_once == 0, "an item falls into whole groups of ratings");

  struct point {
    std::uint32_t epoch;
    std::uint32_t phase;  // of the epoch
  };
  LULL_HD point point_of(std::uint64_t round) const noexcept {
    std::uint32_t const each = model.phases + other_phases;
    if (round >> 32 == 0) {  // a short division
      auto const low = static_cast<std::uint32_t>(round);
      return {low / each, low % each};
    }
    return {static_cast<std::uint32_t>(round / each), static_cast<std::uint32_t>(round % each)};
  }
  LULL_HD std::uint64_t judged_items() const noexcept { return (model.held_out_count + judged - 1) / judged; }
  LULL_HD std::uint64_t folds() const noexcept { return (judged_items() + fold - 1) / fold; }

  LULL_HD quad* user_row(std::uint32_t which) const noexcept {
    return reinterpret_cast<quad*>(model.user_factors) + std::uint64_t{which} * quads;
  }
  LULL_HD quad* item_row(std::uint32_t which) const noexcept {
    return reinterpret_cast<quad*>(model.item_factors) + std::uint64_t{which} * quads;
  }

  LULL_HD static float product(quad const& a, quad const& b) noexcept {
    return (a.at[0] * b.at[0] + a.at[1] * b.at[1]) + (a.at[2] * b.at[2] + a.at[3] * b.at[3]);
  }

  /// Collective. Calls visit(item, whether it is of the chunk) on each row of threads for its items; a warp's rows go
  /// through it together, as row_threads wants it: on a GPU a team has just as many rows as are used.
  LULL_HD static void for_each_row(chunk const& c, row_of_threads const& row, auto const& visit) noexcept {
    std::uint32_t const rows = row.rows() < max_rows ? row.rows() : max_rows;
    if (row.row() >= rows) return;
    for (std::uint64_t at = c.begin; at < c.end; at += rows) visit(at + row.row(), at + row.row() < c.end);
  }

  /// Collective. A block after the other for each row of threads. All threads of a warp go through the same loops, as
  /// far as the longest of its blocks reaches.
  LULL_HD void learn(point here, chunk const& c, row_of_threads const& row, storage* blocks) const noexcept {
    std::uint64_t const first = phase_in(here.epoch, here.phase, model.phases) * std::uint64_t{model.groups};
    float const rate = model.rate / (1 + model.decay * static_cast<float>(here.epoch));
    for_each_row(c, row, [&, *this](std::uint64_t group, bool there) {
      storage& mine = blocks[row.row()];
      std::uint64_t const begin = there ? model.begins[first + group] : 0;
      auto const count = there ? static_cast<std::uint32_t>(model.begins[first + group + 1] - begin) : 0;
      double const before = there && here.phase != 0 ? model.square[group] : 0;
      std::uint32_t const max_count = row_of_threads::max(count);
      fetch(mine, model.ordered + begin, count, max_count, row);
      double const square = descend(mine, count, max_count, rate, row);
      store(mine, count, max_count, row);
      if (there && row.rank() == 0) model.square[group] = before + square;
      row_of_threads::sync();  // all have read what the next block will overwrite
    });
  }

  LULL_HD void fetch(storage& to, placed_rating const* from, std::uint32_t count, std::uint32_t max_count,
                     row_of_threads const& row) const noexcept {
    for (std::uint32_t at = row.rank(); at < count; at += row.width()) row_of_threads::fetch(&to.given[at], from + at);
    row_of_threads::await_fetched();
    row_of_threads::sync();
#if defined(__CUDA_ARCH__)
#pragma unroll 4
#endif
    for (std::uint32_t at = 0; at < max_count; ++at) {
      bool const there = at < count;
      placed_rating const given = to.given[there ? at : 0];
      for (std::uint32_t q = row.rank(); q < quads; q += row.width()) {
        row_of_threads::fetch(&to.user[at][q], user_row(there ? given.user : 0) + q, there && given.user_place == at);
        row_of_threads::fetch(&to.item[at][q], item_row(there ? given.item : 0) + q, there && given.item_place == at);
      }
    }
    row_of_threads::await_fetched();  // each thread reads those quads alone that it fetched
  }

  LULL_HD void store(storage const& from, std::uint32_t count, std::uint32_t max_count,
                     row_of_threads const& row) const noexcept {
#if defined(__CUDA_ARCH__)
#pragma unroll 4
#endif
    for (std::uint32_t at = 0; at < max_count; ++at) {
      placed_rating const given = from.given[at];
      for (std::uint32_t q = row.rank(); q < quads; q += row.width()) {
        quad const user = from.user[at][q];  // loaded in any case: a store alone needs no branch
        quad const item = from.item[at][q];
        if (at < count && given.user_place == at) user_row(given.user)[q] = user;
        if (at < count && given.item_place == at) item_row(given.item)[q] = item;
      }
    }
  }

  /// The sum of squared errors. An item's factors stay in registers for all its ratings: they are neighbours.
  LULL_HD double descend(storage& mine, std::uint32_t count, std::uint32_t max_count, float rate,
                         row_of_threads const& row) const noexcept {
    constexpr std::uint32_t each = row_of_threads::quads_each();
    std::uint32_t const rank = row.rank();
    double square = 0;
    quad q[each]{};
    // What a rating needs is loaded while the one before it is worked on.
    placed_rating next = count != 0 ? mine.given[0] : placed_rating{};
    quad next_user[each];
    for (std::uint32_t i = 0; i < each; ++i) next_user[i] = mine.user[next.user_place][rank + i];
    for (std::uint32_t at = 0; at < max_count; ++at) {
      bool const there = at < count;
      placed_rating const given = next;
      next = at + 1 < count ? mine.given[at + 1] : placed_rating{};
      if (there && given.item_place == at) {
        for (std::uint32_t i = 0; i < each; ++i) q[i] = mine.item[at][rank + i];
      }
      quad p[each];
      float dot[each];
      for (std::uint32_t i = 0; i < each; ++i) {
        p[i] = next_user[i];
        next_user[i] = mine.user[next.user_place][rank + i];
        dot[i] = product(p[i], q[i]);
      }
      float const guess = model.mean + row_of_threads::sum(dot);  // collective, so it stands before `there` is asked
      float const error = there ? given.value - guess : 0;
      square += double{error} * double{error};
      for (std::uint32_t i = 0; i < each; ++i) {
        for (std::uint32_t f = 0; f < 4; ++f) {
          float const user = p[i].at[f];
          float const item = q[i].at[f];
          p[i].at[f] = user + rate * (error * item - model.l2 * user);
          q[i].at[f] = item + rate * (error * user - model.l2 * item);
        }
        if (there) {
          mine.user[given.user_place][rank + i] = p[i];
          mine.item[given.item_place][rank + i] = q[i];
        }
        if (next.user_place == given.user_place) next_user[i] = p[i];
      }
    }
    return square;
  }

  /// Collective. An item for each row of threads.
  LULL_HD void judge(chunk const& c, row_of_threads const& row) const noexcept {
    for_each_row(c, row, [&, *this](std::uint64_t which, bool there) {
      std::uint64_t const begin = there ? which * judged : 0;
      std::uint64_t const left = model.held_out_count - begin;
      double square = 0;
      for (std::uint32_t first = 0; first < judged; first += at_once) {
        float wanted[at_once];
        float dot[at_once][row_of_threads::quads_each()];
        for (std::uint32_t i = 0; i < at_once; ++i) {
          rating const given = model.held_out[first + i < left ? begin + first + i : 0];
          wanted[i] = given.value - model.mean;
          for (std::uint32_t q = 0; q < row_of_threads::quads_each(); ++q)
            dot[i][q] = product(user_row(given.user)[row.rank() + q], item_row(given.item)[row.rank() + q]);
        }
        for (std::uint32_t i = 0; i < at_once; ++i) {
          float const error =
              wanted[i] - row_of_threads::sum(dot[i]);  // collective, so it stands before `left` is asked
          if (first + i < left) square += double{error} * double{error};
        }
      }
      if (there && row.rank() == 0) model.held_out_square[which] = square;
    });
  }

  /// Collective. An item for each row of threads.
  LULL_HD void fold_up(chunk const& c, row_of_threads const& row) const noexcept {
    for_each_row(c, row, [&, *this](std::uint64_t which, bool there) {
      std::uint64_t const begin = there ? which * fold : 0;
      std::uint64_t const end = begin + fold < judged_items() ? begin + fold : judged_items();
      double part[row_of_threads::quads_each()]{};
      for (std::uint32_t q = 0; q < row_of_threads::quads_each(); ++q) {
        for (std::uint64_t at = begin + row.rank() + q; at < end; at += quads) part[q] += model.held_out_square[at];
      }
      double const square = row_of_threads::sum(part);
      if (there && row.rank() == 0) model.folded[which] = square;
    });
  }

  /// Collective. The sum over [begin, end), to all.
  LULL_HD static double total(double const* from, std::uint64_t begin, std::uint64_t end, auto const& team) noexcept {
    double sum = 0;
    auto const size = static_cast<std::uint64_t>(team.size());
    for (std::uint64_t at = begin + static_cast<std::uint64_t>(team.rank()); at < end; at += size) sum += from[at];
    return team.sum(sum);
  }
};

static_assert(is_side_task<graph_sgd<8>>() && is_side_task<graph_sgd<16>>());
static_assert(is_side_task<graph_sgd<32>>() && is_side_task<graph_sgd<64>>());

}  // namespace lull
