// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <cstring>
#include <vector>

#include <lull/device/control.hpp>
#include <lull/device/cursor.hpp>
#include <lull/device/gate.hpp>
#include <lull/device/slot.hpp>
#include <lull/tests/support/probe_task.hpp>

namespace lull {

/// A gate in plain memory.
struct test_gate {
  explicit test_gate(std::uint32_t first_value = 0, std::uint64_t records = 16) : records_(records) {
    line.value = first_value;
  }
  bubble_record& record(std::uint64_t bubble) { return records_[bubble & (records_.size() - 1)]; }
  gate_ref ref() { return {&line, records_.data(), records_.size() - 1, &tells, &line.awaited}; }

  gate_line line{};
  opening_line tells{};

 private:
  std::vector<bubble_record> records_;
};

/// A cursor with its ring in plain memory, as after submitting.
struct test_cursor {
  test_cursor(std::uint32_t grain, std::uint64_t capacity, std::uint32_t first_tag = 0, std::uint64_t first_round = 0)
      : places(ring_groups(capacity)) {
    words.ticket = words.limit = tagged{first_tag, 0}.word();
    words.state = tagged_state{first_tag, phase_state::starved}.word();
    words.round = first_round;
    words.grain = grain;
    words.places = places.data();
    words.capacity = capacity;
    words.progress = &progress;
  }
  test_cursor(test_cursor const&) = delete;
  test_cursor& operator=(test_cursor const&) = delete;

  phase_state state() const { return tagged_state{words.state}.state(); }

  std::vector<ring_group> places;
  progress_line progress{};
  cursor words{};
};

/// The arrays of one probe task, and their expected content at the end.
struct probe_arrays {
  explicit probe_arrays(std::vector<std::uint64_t> items) : extents(std::move(items)) {
    for (std::uint64_t count : extents) width = count > width ? count : width;
    values.resize(extents.size() * width);
    runs.resize(extents.size() * width);
    advances.resize(extents.size());
  }

  probe_task task() {
    return {.extents = extents.data(),
            .phases = extents.size(),
            .values = values.data(),
            .runs = runs.data(),
            .errors = &errors,
            .advances = advances.data(),
            .width = width,
            .feeds = 0,
            .first_round = 0,
            .polls = 0,
            .broken = probe_task::mutant::none};
  }

  /// Returns the first thing that is wrong, or nothing.
  char const* wrong() {
    if (errors != 0) return "an item ran before the phase before it was complete, or missed its team's barrier";
    std::vector<std::uint64_t> const found = values;
    probe_task const reference = task();
    for (std::uint64_t phase = 0; phase < extents.size(); ++phase) {
      if (advances[phase] != 1) return "a phase was not advanced exactly once";
      for (std::uint64_t item = 0; item < width; ++item) {
        if (runs[phase * width + item] != (item < extents[phase] ? 1U : 0U)) return "an item did not run exactly once";
        if (item < extents[phase] &&
            (values[phase * width + item] = reference.value(phase, item)) != found[phase * width + item]) {
          return "an item has another value than in an uninterrupted run";
        }
      }
    }
    return nullptr;
  }

  std::vector<std::uint64_t> extents;
  std::uint64_t width = 1;
  std::vector<std::uint64_t> values;
  std::vector<std::uint32_t> runs;
  std::uint64_t errors = 0;
  std::vector<std::uint64_t> advances;
};

inline slot_content content_of(probe_task const& task, cursor* at, std::uint64_t lease_ns) {
  slot_content content{at, lease_ns, {}};
  std::memcpy(content.functor.bytes, &task, sizeof task);
  return content;
}

}  // namespace lull
