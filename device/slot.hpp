// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include <lull/device/cursor.hpp>
#include <lull/device/gate.hpp>
#include <lull/device/side_task.hpp>

namespace lull {

/// On which SMs a worker's blocks may stay; zero: no limit.
struct sm_filter {
  std::uint32_t kept_off[8];  // a bit for each SM id: a block that finds itself there exits at once
  std::uint32_t* inside;      // (SM ids,) worker blocks now on that SM; null: no share is enforced
  std::uint32_t share;        // a block over its SM's share exits at once
  /// Blocks that belong inside when several workers are launched at once; 0: this worker is launched alone.
  std::uint32_t together;
};

/// The entry word counts the blocks inside, and carries the flag that keeps others out and the generation of the slot's
/// content. Layout: held 1 : generation 15 : inside 48.
template <class World>
struct entry_word {
  static constexpr std::uint64_t held = std::uint64_t{1} << 63;
  static constexpr std::uint64_t one_out = ~std::uint64_t{0};  // added
  static constexpr int inside_bits = 48;
  static constexpr std::uint64_t inside_mask = (std::uint64_t{1} << inside_bits) - 1;
  static constexpr std::uint64_t generation_mask = 0x7fff;

  LULL_HD static constexpr std::uint64_t generation(std::uint64_t word) noexcept {
    return word >> inside_bits & generation_mask;
  }
  LULL_HD static constexpr std::uint64_t inside(std::uint64_t word) noexcept { return word & inside_mask; }

  /// Returns the previous word. If it has `held`, the block is already out again.
  LULL_HD static std::uint64_t enter(std::uint64_t& word) noexcept {
    // acquire: what control wrote before it lowered the flag
    std::uint64_t const before = World::template fetch_add<order::acquire, scope::device>(word, std::uint64_t{1});
    if ((before & held) != 0) leave(word);
    return before;
  }
  /// release: all that the block did, to control, which waits until no block is inside
  LULL_HD static void leave(std::uint64_t& word) noexcept {
    World::template fetch_add<order::release, scope::device>(word, one_out);
  }
};

/// A cursor's address and the generation of the slot's content in one word. A block reads it before entering, and
/// trusts it if the entry word then has the same generation. Addresses have 48 bits, on CPUs and on GPUs.
class tagged_cursor {
 public:
  LULL_HD explicit tagged_cursor(std::uint64_t word) noexcept : word_(word) {}
  LULL_HD tagged_cursor(std::uint64_t generation, cursor* at) noexcept
      : word_(generation << address_bits | reinterpret_cast<std::uint64_t>(at)) {}

  LULL_HD std::uint64_t generation() const noexcept { return word_ >> address_bits; }
  LULL_HD cursor* at() const noexcept {
    return reinterpret_cast<cursor*>(word_ & ((std::uint64_t{1} << address_bits) - 1));
  }
  LULL_HD std::uint64_t word() const noexcept { return word_; }

 private:
  static constexpr int address_bits = 48;
  std::uint64_t word_;
};

/// Where a worker finds its task. The content changes only while the slot is *held* and no block is inside
/// (control.hpp), never by stream order. So it is safe while a graph replays.
struct alignas(128) slot_line {
  std::uint64_t entry;                 // entry_word
  std::uint64_t lease_ns;              // a block's longest stay; the host may change it at any time
  std::uint64_t at;                    // tagged_cursor; no address: the slot is empty
  alignas(128) functor_bytes functor;  // its own line: polls of the entry word would evict it from the L1
};

static_assert(std::is_trivially_copyable_v<slot_line> && offsetof(slot_line, functor) == 128);

/// How long the last bubbles of a site were.
struct usual_length {
  static constexpr std::uint64_t max_lateness_ns = 20'000;  // of a close that counts as usual

  std::uint64_t min_ns = 0;     // the shortest; 0: not known
  std::uint64_t spread_ns = 0;  // of those that repeat; otherwise three of four exceed the shortest by at most this
  std::uint64_t from_ns = 0;    // those that repeat last at least this,
  std::uint64_t until_ns = 0;   // and at most this; 0: they do not repeat
};

/// When blocks begin no chunk because the site's bubbles usually close then, so no chunk delays their leaving. Times
/// count from the opening. A hint.
struct rest_time {
  std::uint32_t from_ns = 0;
  std::uint32_t until_ns = 0;  // then they continue; 0: they do not rest
};

/// Words that a replayed bubble reads of its site; the host may change them at any time.
struct site_words {
  std::uint32_t skip;  // not zero: leave at once
  rest_time rest;
};

/// The parameters of a worker's launch. Constant while the slot lives, so that a captured graph may hold them; what
/// changes is in the slot.
struct worker_params {
  slot_line* slot = nullptr;  // null: this launch only loads the kernel
  gate_ref gate;
  sm_filter sms{};
  std::uint64_t max_lease_ns = 0;     // limits the slot's lease; 0: no limit
  site_words* site = nullptr;         // of a captured bubble; null: none
  std::uint32_t* withheld = nullptr;  // not zero there: leave at once; null: no such word
  std::uint32_t in_graph = 0;         // launched before its opening edge, for which it then waits
  std::uint64_t bubble = 0;           // for which it was launched; 0: for no particular one
  std::uint32_t again = 0;            // another of its workers was there before: its times count from its own start
  usual_length usual{};               // of its site's bubbles: a hint
  rest_time rest{};                   // of a bubble that is not captured
};

/// Returns the functor in a slot as its own type.
template <slot_sized Task>
LULL_HD Task const& task_in(slot_line const& slot) noexcept {
  return *reinterpret_cast<Task const*>(slot.functor.bytes);
}

}  // namespace lull
