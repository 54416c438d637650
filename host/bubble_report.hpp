// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>

#include <lull/device/trace.hpp>

namespace lull {

/// One bubble as it was, for reports.
struct bubble_report {
  std::uint32_t gate = 0;
  std::string site;
  std::chrono::nanoseconds length{0};  // zero: not known
  std::int64_t opened_ns = 0;          // on the machine's clock
  std::optional<bool> host_ahead;      // the close was enqueued before the bubble opened; none: not known
  std::chrono::nanoseconds lease{0};
  std::uint64_t blocks = 0;  // launched for the job at hand
  bubble_record record{};    // all zero where no worker was launched
};

}  // namespace lull
