// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include <lull/host/attach/local_socket.hpp>
#include <lull/host/attach/messages.hpp>

namespace lull::attach {

/// What a trainer gives to a process that it welcomes.
struct welcomed {
  connection trainer;
  std::uint32_t worker = 0;  // its number in announcements; 0: an observer
  std::uint64_t reserve_bytes = 0;
  process_descriptor page{};  // none for an observer
};

/// Introduces this process to the trainer at a socket; returns nothing if none listens there now. Waits at most a
/// second for the answer. Throws usage_error if the trainer refuses, or is another user's; limit_error; device_error.
std::optional<welcomed> introduce_to(std::string const& path, introduction said);

}  // namespace lull::attach
