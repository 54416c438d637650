// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

namespace lull::queue {

/// What a queue's user asks of all agents: to begin no jobs until the queue is resumed.
struct drain_order {
  bool saves = false;       // jobs that run are saved; otherwise they go on to their end
  std::string by{};         // user and host, such as "alice@node"
  std::string reason{};     // in words; may be empty
  std::int64_t time_s = 0;  // since 1970 (UTC), by the clock of the machine that asked

  bool operator==(drain_order const&) const = default;
};

/// Returns it in words: "the queue is drained by alice@node since 2026-12-01T10:00:00Z: new disks".
std::string text_of(drain_order const& order);

/// As stores keep it. The text is UTF-8 and holds no zero byte.
std::string to_json(drain_order const& order);
/// Reads it back. Throws input_error with the name of where it was.
drain_order parse_drain_order(std::string const& json, std::string const& where);

}  // namespace lull::queue
