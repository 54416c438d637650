// SPDX-License-Identifier: Apache-2.0
// Addresses of PostgreSQL, where there is libpq; postgres_absent.cpp stands for it elsewhere.
#include <lull/host/queue/open_store.hpp>
#include <lull/host/queue/postgres_store.hpp>

namespace lull::queue::detail {

std::unique_ptr<job_store> open_postgres(std::string const& address) {
  return std::make_unique<postgres_store>(address);
}

void make_postgres(std::string const& address, new_queue const& with) {
  postgres_store::make(address,
                       {.lease = std::chrono::ceil<std::chrono::milliseconds>(with.lease), .folder = with.folder});
}

std::string shown_postgres(std::string const& address) { return postgres_connection{address}.server(); }

}  // namespace lull::queue::detail
