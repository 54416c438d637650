// SPDX-License-Identifier: Apache-2.0
#include <lull/apps/lull/queue/open_queue.hpp>

#include <cstdlib>

#include <lull/host/error.hpp>
#include <lull/host/queue/open_store.hpp>

namespace lull {

std::string queue_address(std::string const& asked) {
  char const* const from_environment = std::getenv("LULL_QUEUE");
  std::string address = asked.empty() && from_environment != nullptr ? from_environment : asked;
  if (address.empty())
    throw usage_error{"which queue? Give --queue spool:PATH or postgresql://USER@HOST/DATABASE, or set LULL_QUEUE"};
  return address;
}

std::unique_ptr<queue::job_store> open_queue(std::string const& asked) {
  return queue::open_store(queue_address(asked));
}

}  // namespace lull
