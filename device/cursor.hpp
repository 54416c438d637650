// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include <lull/device/position.hpp>
#include <lull/device/ring.hpp>

namespace lull {

/// What a cursor's phase is doing. A block moves it to `opening` by a compare-exchange, and from there by a store,
/// because it is then the only writer. `finished` and `failed` are final. An open phase is over when all its items are
/// committed; `due` is a phase without items that is over. A phase's first items may be claimed just before its state
/// is `open`.
enum class phase_state : std::uint32_t { starved = 0, due, opening, open, finished, failed };

/// A phase's state and tag in one word. So a block that has found a phase complete can only open the next one, however
/// late the block comes.
class tagged_state {
 public:
  LULL_HD explicit constexpr tagged_state(std::uint32_t word) noexcept : word_(word) {}
  LULL_HD constexpr tagged_state(std::uint32_t tag, phase_state state) noexcept
      : word_(tag << 8 | static_cast<std::uint32_t>(state)) {}

  LULL_HD constexpr std::uint32_t tag() const noexcept { return word_ >> 8; }
  LULL_HD constexpr phase_state state() const noexcept { return phase_state{word_ & 0xff}; }
  LULL_HD constexpr std::uint32_t word() const noexcept { return word_; }

 private:
  std::uint32_t word_;
};

/// Why a job failed.
enum class failure : std::uint32_t { none = 0, too_many_items, no_launch };

/// What the host may read at any time without a call: one line in memory that both sides map. The block that opens a
/// phase writes it a little later, unless another block is just writing it. The end of a job, or that it starves, is
/// always in the line before the state says so.
struct alignas(128) progress_line {
  std::uint64_t phases;  // opened so far, or a little less while one is open
  std::uint64_t round;   // of the open phase, or one before
  std::uint64_t where;   // a progress_word; it releases what was written before
  std::uint32_t why;     // a failure; written before `where` shows it
};

/// Step, state and the low bits of the round in one word.
class progress_word {
 public:
  static constexpr std::uint64_t round_mask = 0xffffff;

  LULL_HD explicit constexpr progress_word(std::uint64_t word) noexcept : word_(word) {}
  LULL_HD constexpr progress_word(std::uint64_t round, std::uint32_t step, phase_state state) noexcept
      : word_((round & round_mask) << 40 | std::uint64_t{static_cast<std::uint32_t>(state)} << 32 | step) {}

  LULL_HD constexpr std::uint32_t step() const noexcept { return static_cast<std::uint32_t>(word_); }
  /// Returns the state; never `opening`, and `due` only for a job that was resumed.
  LULL_HD constexpr phase_state state() const noexcept {
    return phase_state{static_cast<std::uint32_t>(word_ >> 32 & 0xff)};
  }
  /// Returns the whole round, given one that is less than half of round_mask away.
  LULL_HD constexpr std::uint64_t round(std::uint64_t near) const noexcept {
    std::uint64_t const ahead = ((word_ >> 40) - near) & round_mask;
    return ahead <= round_mask / 2 ? near + ahead : near - (round_mask + 1 - ahead);
  }
  LULL_HD constexpr std::uint64_t word() const noexcept { return word_; }

 private:
  std::uint64_t word_;
};

/// A task's progress across bubbles, in device memory. Zeroed, with a ring, a grain and a progress line, it is starved
/// at the first phase. Words that different blocks write at different rates have cache lines of their own.
struct alignas(128) cursor {
  // -- every block claims from it at every chunk
  std::uint64_t ticket;  // tagged: next item of the open phase
  // -- blocks commit to it when they leave or find the phase exhausted
  alignas(128) std::uint64_t done;  // items of the open phase committed
  // -- the block that opens a phase writes these; others read them at the first sight of its tag
  alignas(128) std::uint64_t limit;  // tagged: extent of the open phase
  std::uint64_t round;
  std::uint32_t step;
  std::uint32_t grain;      // items per chunk; the host may change it at any time
  std::uint64_t phases;     // opened so far
  std::uint64_t items;      // of phases that are over
  std::uint32_t reporting;  // 1: a block writes the progress line; set by the block that opens a phase
  // -- compare-exchanged at the end of each phase, polled by blocks that wait
  alignas(128) std::uint32_t state;  // tagged_state
  std::uint32_t why;                 // failure
  std::uint64_t starved_in;          // the bubble in which it starved last: ~opened_ns; 0: none
  // -- a stream that feeds writes it
  alignas(128) std::uint64_t fed;
  // -- handed-back chunks
  ring_counts ring;
  alignas(128) ring_group* places;
  std::uint64_t capacity;  // places
  progress_line* progress;
};

static_assert(std::is_trivially_copyable_v<cursor>);
static_assert(offsetof(cursor, done) == 128 && offsetof(cursor, limit) == 256 && offsetof(cursor, state) == 384);

/// Returns the largest extent that cannot overshoot into the tag: extent + 2 × blocks × grain stays below 2^40.
LULL_HD constexpr std::uint64_t max_items(std::uint64_t blocks, std::uint64_t grain) noexcept {
  std::uint64_t const room = 2 * blocks * grain;
  return room < tagged::item_mask ? tagged::item_mask - room : 0;
}

}  // namespace lull
