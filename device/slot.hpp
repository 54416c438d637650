// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include <lull/device/cursor.hpp>
#include <lull/device/gate.hpp>
#include <lull/device/side_task.hpp>

namespace lull {

/// Which processors a worker's blocks may stay on; zero where nothing is asked.
struct sm_filter {
  std::uint32_t kept_off[8];  // a bit for each SM id: a block that finds itself there exits at once
  std::uint32_t* inside;      // (SM ids,) worker blocks now on that SM; null: the share is not watched
  std::uint32_t share;        // a block over its SM's share exits at once
  /// Workers that are launched at once: so many blocks then belong inside; 0: it is launched by itself.
  std::uint32_t together;
};

/// The entry word: counts the blocks inside, carries the flag that keeps others out, and the generation of what stands
/// in the slot: held 1 : generation 15 : inside 48.
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

  /// Returns the word as it was. With `held` in it the block is out again.
  LULL_HD static std::uint64_t enter(std::uint64_t& word) noexcept {
    // acquire: what control wrote before it lowered the flag
    std::uint64_t const before = World::template fetch_add<order::acquire, scope::device>(word, std::uint64_t{1});
    if ((before & held) != 0) leave(word);
    return before;
  }
  /// release: all that the block did, to control that waits for nobody inside
  LULL_HD static void leave(std::uint64_t& word) noexcept {
    World::template fetch_add<order::release, scope::device>(word, one_out);
  }
};

/// The address of a cursor and the generation of the slot's content, in one word: read before entering, it is good if
/// the entry word then says the same generation. Addresses have 48 bits, on CPUs and on GPUs.
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

/// Where a worker finds its task. What stands there changes only while the slot is *held* and nobody is inside
/// (control.hpp), never by stream order: so it is safe while a graph is replayed.
struct alignas(128) slot_line {
  std::uint64_t entry;                 // entry_word
  std::uint64_t lease_ns;              // the longest that a block may stay; the host may change it at any time
  std::uint64_t at;                    // tagged_cursor; no address: the slot is empty
  alignas(128) functor_bytes functor;  // a line of its own: polls of the entry word would evict it from the L1
};

static_assert(std::is_trivially_copyable_v<slot_line> && offsetof(slot_line, functor) == 128);

/// How long the last bubbles of a site were.
struct usual_length {
  static constexpr std::uint64_t max_lateness_ns = 20'000;  // of a close that is no later than usual

  std::uint64_t min_ns = 0;     // the shortest; 0: not known
  std::uint64_t spread_ns = 0;  // of those that repeat; else three of four are longer than the shortest by no more
  std::uint64_t from_ns = 0;    // those that repeat are as long as this,
  std::uint64_t until_ns = 0;   // to this; 0: they do not repeat
};

/// When blocks begin no chunk, because the bubbles of a site usually close then: they wait for that, with no chunk to
/// end before they leave. From the opening on. A hint.
struct rest_time {
  std::uint32_t from_ns = 0;
  std::uint32_t until_ns = 0;  // then they go on; 0: they do not rest
};

/// What a replayed bubble asks of its site; the host may change it at any time.
struct site_words {
  std::uint32_t skip;  // not zero: leave at once
  rest_time rest;
};

/// All that a worker is launched with. Constant while the slot lives, so that it may be baked into a captured graph;
/// what changes stands in the slot.
struct worker_params {
  slot_line* slot = nullptr;  // null: the launch that loads the kernel
  gate_ref gate;
  sm_filter sms{};
  std::uint64_t max_lease_ns = 0;     // where it is shorter than the slot's; 0: it is not
  site_words* site = nullptr;         // of a captured bubble; null: nothing is asked
  std::uint32_t* withheld = nullptr;  // not zero there: leave at once; null: nobody is asked
  std::uint32_t in_graph = 0;         // launched ahead of its opening edge, which it then waits for
  std::uint64_t bubble = 0;           // for which it was launched; 0: not one alone
  usual_length usual{};               // of its site's bubbles: a hint
  rest_time rest{};                   // of a bubble that is not captured
};

/// The functor in a slot, as the task that it is.
template <slot_sized Task>
LULL_HD Task const& task_in(slot_line const& slot) noexcept {
  return *reinterpret_cast<Task const*>(slot.functor.bytes);
}

}  // namespace lull
