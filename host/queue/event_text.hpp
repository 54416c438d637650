// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include <lull/host/queue/store.hpp>

namespace lull::queue {

/// A change of a job as a spool keeps it.
struct kept_event {
  job_event event{};
  std::string before{};  // the token of the change before it
};

/// Writes it as a line of JSON. What is not UTF-8 is replaced.
std::string text_of(kept_event const& kept);
/// Reads it back. Throws input_error, with that file, for a line that is not of this kind.
kept_event parse_event(std::string const& text, std::string const& file);

}  // namespace lull::queue
