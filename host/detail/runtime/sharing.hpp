// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <lull/host/attach/share_server.hpp>
#include <lull/host/detail/dispatch/placer.hpp>
#include <lull/host/detail/gate/gate.hpp>
#include <lull/host/executor.hpp>
#include <lull/host/report/bubble_summary.hpp>

namespace lull::detail {

/// The bubbles that a trainer's runtime shares with workers of other processes, and whose turn it is in them: that of
/// the runtime's own jobs, unless all of these have a lower priority than a worker's. One thread calls `tick`, `kinds`
/// and `may_halve`; any thread may call the rest.
class sharing {
 public:
  using time_point = std::chrono::steady_clock::time_point;

  /// Throws as attach::share_server, and usage_error for a machine whose words cannot be shared.
  sharing(std::string const& address, executor const& machine, attach::share_server::calls of_trainer);

  gate_words words(std::uint32_t gate);
  void tick(placer& own, time_point now);
  /// Returns the kinds of the jobs of the worker whose turn it is; nothing if it is the runtime's own turn.
  std::optional<placed_kinds> kinds() const;
  /// Returns whether those can be launched with half of their blocks.
  bool may_halve() const;
  std::vector<worker_summary> workers() const;

 private:
  attach::share_server server_;
  bool own_are_quiet_ = false;
};

}  // namespace lull::detail
