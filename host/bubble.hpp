// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include <lull/device/trace.hpp>

namespace lull {

/// The default of `runtime_tuning::min_bubble`. A worker costs the training stream two edges and takes some
/// microseconds to start, so a shorter bubble is not worth it.
inline constexpr std::chrono::nanoseconds default_min_bubble = std::chrono::microseconds{30};

/// The default of `runtime_tuning::rest_before_close`: workers stop claiming this long before the expected close.
inline constexpr std::chrono::nanoseconds default_rest_before_close = std::chrono::microseconds{10};

/// The place of a bubble in the training step. The runtime keeps a history for each site.
struct site {
  constexpr explicit site(std::string_view its_name) noexcept : name(its_name) {}
  std::string_view name;
};

/// Identifies a bubble: `open` returns it, `close` takes it.
struct bubble_id {
  std::uint32_t gate = ~std::uint32_t{0};
  std::uint64_t bubble = 0;  // number on that gate, from 1; 0: nothing was opened
};

/// What a runtime counts. Unless said otherwise these are bubbles.
enum class counted : std::uint8_t {
  // What a call of `open` did: it enqueued an edge, or added one to a graph under capture …
  opened,
  captured,
  // … or why it opened nothing.
  off,              // the runtime is off
  no_job,           // no job was ready
  too_short,        // the site's bubbles are not worth it
  all_handed_back,  // at this site, workers recently handed back all of their chunks
  withheld,         // the step has no side work, to know or to limit what it costs
  nested,           // another bubble is open on this stream
  records_unread,   // the runtime has not read the records of earlier bubbles yet
  no_gate,          // too many streams are harvested at a time
  foreign_stream,   // the stream is another device's
  not_captured,     // the stream is under capture, and no task type, no gate or no id of the capture is known
  // Other things that happened.
  launches,   // workers enqueued
  armed,      // whose workers were enqueued before they opened
  released,   // armed ones whose workers the host let go before the opening: they had waited too long, or another could
              // work
  unmatched,  // closes of nothing, ignored
  abandoned,  // never closed: ended by the next opening at the same site, or by any opening after the lease
  replayed,   // of captured ones: opened by replays, as far as read
  held_up,    // in which a kernel of the trainer seems to have waited for workers to leave
  groups_added,  // how often workers gave up one more group of SMs for that; not bubbles
  dropped,       // whose records were lost: they are in no report
};
inline constexpr std::size_t counted_kinds = static_cast<std::size_t>(counted::dropped) + 1;

/// Returns a kind's name as in reports.
constexpr std::string_view name_of(counted what) noexcept {
  constexpr std::array<std::string_view, counted_kinds> names{
      "opened",   "captured",       "off",       "no_job",         "too_short",    "all_handed_back", "withheld",
      "nested",   "records_unread", "no_gate",   "foreign_stream", "not_captured", "launches",        "armed",
      "released", "unmatched",      "abandoned", "replayed",       "held_up",      "groups_added",    "dropped"};
  return names[static_cast<std::size_t>(what)];
}

/// Counts of what happened so far, one for each kind.
class runtime_counts {
 public:
  constexpr std::uint64_t& operator[](counted what) noexcept { return of_[static_cast<std::size_t>(what)]; }
  constexpr std::uint64_t operator[](counted what) const noexcept { return of_[static_cast<std::size_t>(what)]; }
  constexpr runtime_counts& operator+=(runtime_counts const& other) noexcept {
    for (std::size_t i = 0; i < counted_kinds; ++i) of_[i] += other.of_[i];
    return *this;
  }
  /// Returns what came since `before`.
  constexpr runtime_counts since(runtime_counts const& before) const noexcept {
    runtime_counts found = *this;
    for (std::size_t i = 0; i < counted_kinds; ++i) found.of_[i] -= before.of_[i];
    return found;
  }

 private:
  std::array<std::uint64_t, counted_kinds> of_{};
};

/// What a call of `open` did. If it opened nothing, `bubble` is 0 and `what` says why.
struct open_result : bubble_id {
  counted what = counted::off;
};

/// Returns the time that side work took in a bubble: from the opening until the last block had left. Zero if no block
/// came, if all blocks only found that the task had no input, or if the moment of the opening is not known.
inline std::chrono::nanoseconds time_at_work(bubble_record const& record) noexcept {
  bool const only_starved = record.blocks == 0 && record.starved_blocks != 0;
  if (only_starved || record.opened_ns == 0 || record.last_out_ns <= record.opened_ns)
    return std::chrono::nanoseconds{0};
  return std::chrono::nanoseconds{record.last_out_ns - record.opened_ns};
}

/// Returns how long blocks took to leave after the close at `closed_ns`; nothing if that is 0 or none worked.
inline std::optional<std::chrono::nanoseconds> drain_of(bubble_record const& record, std::uint64_t closed_ns) noexcept {
  if (closed_ns == 0 || record.blocks == 0 || record.last_out_ns < closed_ns) return std::nullopt;
  return std::chrono::nanoseconds{record.last_out_ns - closed_ns};
}

/// Returns whether blocks worked and all of them left by their lease, so that none saw the close.
inline bool all_left_by_lease(bubble_record const& record) noexcept {
  return record.blocks != 0 && record.lease_blocks >= record.blocks && record.not_saw_ns == 0;
}

/// Returns what two workers did in one bubble together, with the edges' stamps of the first.
inline bubble_record sum_of(bubble_record const& one, bubble_record const& other) noexcept {
  bubble_record sum = one;
  if (other.not_saw_ns > one.not_saw_ns) sum.since_look_ns = other.since_look_ns;
  for (auto const latest : {&bubble_record::last_in_ns, &bubble_record::not_saw_ns, &bubble_record::last_out_ns}) {
    sum.*latest = std::max(sum.*latest, other.*latest);
  }
  for (auto const total : {&bubble_record::in_ns, &bubble_record::wait_ns, &bubble_record::stay_ns,
                           &bubble_record::early_ns, &bubble_record::items}) {
    sum.*total += other.*total;
  }
  for (auto const count : {&bubble_record::chunks, &bubble_record::blocks, &bubble_record::lease_blocks,
                           &bubble_record::held_blocks, &bubble_record::idle_blocks, &bubble_record::starved_blocks,
                           &bubble_record::handed_back, &bubble_record::late_blocks, &bubble_record::refused}) {
    sum.*count += other.*count;
  }
  return sum;
}

/// What the worker of one job did in a bubble.
struct worker_report {
  std::uint64_t launched = 0;  // blocks; a late one of a successor may work in the next bubble, where none is launched
  bubble_record record{};      // all block fields are 0 if no block came
};

/// What happened in one bubble.
struct bubble_report {
  std::uint32_t gate = 0;
  std::string site;
  /// Until the first block saw the close; without a worker by timing events; in a captured graph by its edges. Zero:
  /// not known.
  std::chrono::nanoseconds length{0};
  std::int64_t opened_ns = 0;      // on the machine's clock
  std::optional<bool> host_ahead;  // the close was enqueued before the bubble opened; none: not known
  bool armed = false;              // its workers were enqueued before it opened
  /// How long workers waited on the device before the opening, by the host's clock; none: not known, or none waited
  /// there, as with one connection.
  std::optional<std::chrono::nanoseconds> waited{};
  std::chrono::nanoseconds lease{0};
  /// The device's free memory when the bubble was found to be over; none: not read.
  std::optional<std::uint64_t> free_bytes{};
  worker_report current;    // of the current job; the edges' stamps are in its record
  worker_report successor;  // of its successor, to which the edges write nothing

  /// Returns what the workers of both jobs did.
  bubble_record record() const noexcept { return sum_of(current.record, successor.record); }
};

/// Returns a sum over blocks as a share of the machine. Divides each job's part of the sum by the number of blocks
/// launched for that job. A late block of a successor counts as a block of the current job.
template <class Number>
double per_launched_block(bubble_report const& one, Number bubble_record::*sum) noexcept {
  auto const share = [&](worker_report const& of) {
    std::uint64_t const launched = of.launched != 0 ? of.launched : one.current.launched;
    return static_cast<double>(of.record.*sum) / static_cast<double>(std::max<std::uint64_t>(launched, 1));
  };
  return share(one.current) + share(one.successor);
}

}  // namespace lull
