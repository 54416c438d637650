// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <vector>

#include <lull/host/detail/dispatch/dispatcher.hpp>
#include <lull/host/detail/gate/captured_gates.hpp>
#include <lull/host/detail/gate/gate.hpp>
#include <lull/host/executor.hpp>

namespace lull::detail {

/// What is left of a runtime when it ends.
struct orphans {
  bool for_ever = false;  // the trainer's stream has not come to our edges, or a worker is still inside
  std::shared_ptr<lull::executor> executor;
  std::vector<std::unique_ptr<gate>> gates;
  std::unique_ptr<captured_gates> captured;
  std::unique_ptr<dispatcher> kept;
};

/// Keeps what must outlive the runtime: for ever, or until the graphs are gone that refer to it. Frees earlier
/// runtimes' orphans whose time is over. Thread-safe.
void keep_orphans(orphans what) noexcept;

}  // namespace lull::detail
