// SPDX-License-Identifier: Apache-2.0
// Stands for postgres_store.cpp where there is no libpq to build it with.
#include <lull/host/queue/open_store.hpp>

#include <lull/host/error.hpp>

namespace lull::queue::detail {

namespace {

[[noreturn]] void fail() {
  throw usage_error{"this lull was built without PostgreSQL: install libpq-dev and build it again, or use spool:PATH"};
}

}  // namespace

std::unique_ptr<job_store> open_postgres(std::string const& /*address*/) { fail(); }
void make_postgres(std::string const& /*address*/, new_queue const& /*with*/) { fail(); }
std::string shown_postgres(std::string const& /*address*/) { return "postgresql://"; }

}  // namespace lull::queue::detail
