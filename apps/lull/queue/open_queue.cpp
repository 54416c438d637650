// SPDX-License-Identifier: Apache-2.0
#include <lull/apps/lull/queue/open_queue.hpp>

#include <cstdlib>
#include <filesystem>
#include <string_view>

#include <lull/host/error.hpp>
#include <lull/host/queue/spool.hpp>

namespace lull {

std::string spool_path(std::string const& asked) {
  constexpr std::string_view scheme = "spool:";
  char const* const from_environment = std::getenv("LULL_QUEUE");
  std::string const address = asked.empty() && from_environment != nullptr ? from_environment : asked;
  if (address.empty()) throw usage_error{"which queue? Give --queue spool:PATH, or set LULL_QUEUE"};
  if (!address.starts_with(scheme) || address.size() == scheme.size())
    throw usage_error{"--queue " + address + ": it must be spool:PATH, a folder of this user's alone"};
  return std::filesystem::absolute(address.substr(scheme.size())).lexically_normal();
}

std::unique_ptr<queue::job_store> open_queue(std::string const& asked) {
  return std::make_unique<queue::spool>(spool_path(asked));
}

}  // namespace lull
