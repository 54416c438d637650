// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>

#include <lull/host/queue/store.hpp>

namespace lull::queue {

/// What a queue is made with.
struct new_queue {
  std::chrono::nanoseconds lease{std::chrono::seconds{30}};
  std::filesystem::path folder{};  // of checkpoints and logs; a spool has them in its own
};

/// Opens the store at an address: "spool:PATH", or "postgresql://USER@HOST/DATABASE". Throws usage_error for another
/// address, for one of a kind that this build does not have, and where there is no queue; device_error.
std::unique_ptr<job_store> open_store(std::string const& address);
/// Makes the store, or brings it up to date: a queue that is there keeps its lease. Throws as open_store.
void make_store(std::string const& address, new_queue const& with);
/// Returns a spool's folder; nothing: the address is a database's. Throws usage_error for another address.
std::optional<std::filesystem::path> spool_folder(std::string const& address);
/// Returns an address as messages may show it: in one spelling, without a password.
std::string shown_address(std::string const& address);

namespace detail {

std::unique_ptr<job_store> open_postgres(std::string const& address);
void make_postgres(std::string const& address, new_queue const& with);
std::string shown_postgres(std::string const& address);

}  // namespace detail
}  // namespace lull::queue
