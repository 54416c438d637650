// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <type_traits>

#include <lull/host/attach/page.hpp>

namespace lull::attach {

/// A text in a message.
template <std::size_t Bytes>
class short_text {
 public:
  short_text() = default;
  explicit short_text(std::string_view text) noexcept {
    std::copy_n(text.begin(), std::min(text.size(), Bytes - 1), of_.begin());
  }
  /// Returns it with a question mark for each byte that is no printable ASCII.
  std::string text() const {
    std::string found;
    for (char const c : of_) {
      if (c == '\0') break;
      found += c >= ' ' && c <= '~' ? c : '?';
    }
    return found;
  }
  bool operator==(short_text const&) const = default;

 private:
  std::array<char, Bytes> of_{};
};

/// The first bytes that both sides send. Its layout never changes, so each version can name any other.
struct greeting {
  std::array<char, 8> magic{'l', 'u', 'l', 'l', '-', 'b', 'u', 'b'};
  std::uint32_t number = protocol;
  short_text<52> version;  // of Lull
};
static_assert(sizeof(greeting) == 64);

/// What a worker says first, or an observer.
struct introduction {
  enum role : std::uint32_t { worker, observer };

  greeting from;
  std::uint32_t executor = 0;  // executor_kind, of a worker
  std::uint32_t as = worker;
  std::uint32_t together = 1;  // shared_machine::runs_processes_together
  short_text<60> name;
  short_text<64> device;  // where it works
};

/// What the trainer answers. With `welcome` comes the descriptor of the shared page.
struct answer {
  enum verdict : std::uint32_t { welcome, other_version, other_device, full, apart };

  greeting from;
  std::uint32_t what = welcome;
  std::uint32_t worker = 0;  // its number in announcements
  std::uint32_t executor = 0;
  std::uint32_t most = 0;      // attached workers
  std::uint32_t together = 0;  // the trainer's own; `apart`: it or the worker's is 0
  std::uint32_t padding = 0;
  std::uint64_t reserve_bytes = 0;  // that workers leave free on the device
  short_text<64> device;
};

/// What an observer says from then on, each time that it wants to know the trainer's state.
struct question {
  std::uint64_t number = 0;
};

/// The answer to it, with the descriptor of a file that holds the state.
struct state_told {
  std::uint64_t number = 0;  // the question's
  std::uint64_t bytes = 0;
};

/// What an attached worker says from then on: whenever it changes, and at least every `report_every`.
struct report {
  static constexpr std::size_t max_jobs = 2;

  std::int32_t priority = 0;  // the highest of its jobs
  std::uint32_t jobs = 0;     // that are ready for bubbles; 0: it wants none
  std::uint32_t may_halve = 0;
  std::uint32_t padding = 0;
  std::array<short_text<64>, max_jobs> names{};  // of the jobs that work next
  std::uint64_t bubbles = 0;                     // in which its blocks worked …
  std::uint64_t worked_ns = 0;                   // … and how long together
  std::uint64_t items = 0;
  std::uint64_t held_bytes = 0;   // device memory that its process holds
  std::uint64_t answers = 0;      // the number of the last memory_wanted that it has done what it can for …
  std::uint64_t freed_bytes = 0;  // … and how much it freed for that

  /// Returns whether a turn would be given to both alike.
  bool wants_the_same(report const& other) const noexcept {
    return priority == other.priority && jobs == other.jobs && may_halve == other.may_halve && names == other.names;
  }
};

/// What the trainer says to an attached worker: it needs device memory.
struct memory_wanted {
  std::uint64_t number = 0;  // never 0
  std::uint64_t bytes = 0;
  std::uint64_t within_ns = 0;  // the worker is stopped when it has not freed them by then
};

template <class T>
concept message = std::is_trivially_copyable_v<T>;
static_assert(message<introduction> && message<answer> && message<report>);
static_assert(message<question> && message<state_told> && message<memory_wanted>);

}  // namespace lull::attach
