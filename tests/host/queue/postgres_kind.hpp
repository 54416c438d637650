// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include <lull/host/queue/postgres_store.hpp>
#include <lull/tests/host/queue/postgres_server.hpp>
#include <lull/tests/host/queue/store_contract.hpp>

namespace lull::queue {

/// Stores in a database of this program's server, each in place of the one before.
inline store_kind postgres_kind(std::chrono::milliseconds lease = std::chrono::seconds{30}) {
  return {"postgresql",
          [lease](std::string const& folder) {
            own_server().make_database();
            postgres_store::make(own_server().address(), {.lease = lease, .folder = folder});
          },
          [](std::string const&) { return std::make_unique<postgres_store>(own_server().address()); },
          [] { own_server().await_sessions(1); }};
}

/// Returns none where the server is not installed.
inline std::vector<store_kind> postgres_kinds() {
  if (!postgres_server::programs()) return {};
  return {postgres_kind()};
}

}  // namespace lull::queue
