// SPDX-License-Identifier: Apache-2.0
// Makes a queue, and looks whether it can be used.
#include <ostream>
#include <string>
#include <vector>

#include <lull/apps/lull/queue/open_queue.hpp>
#include <lull/apps/lull/queue/settings.hpp>
#include <lull/host/error.hpp>
#include <lull/host/io/units.hpp>
#include <lull/host/queue/open_store.hpp>

namespace lull {

exit_code queue_init_command(init_settings const& asked, std::ostream& out) {
  std::string const address = queue_address(asked.queue);
  queue::make_store(address, {.lease = parse_duration(asked.lease), .folder = asked.folder});
  std::string const lease = format_duration(queue::open_store(address)->lease());
  out << queue::shown_address(address) << " is ready; an agent that is not heard of for " << lease
      << " loses its jobs\n";
  return exit_code::done;
}

exit_code queue_check_command(queue_settings const& asked, std::ostream& out) {
  std::string const address = queue_address(asked.queue);
  std::string const shown = queue::shown_address(address);
  std::vector<std::string> found;
  try {
    auto const store = queue::open_store(address);
    found = store->problems();
    std::size_t const jobs = store->list().size();
    std::size_t const agents = store->agents().size();
    out << shown << ": " << jobs << " jobs, " << agents << " agents\n";
    if (auto const order = store->drained()) out << text_of(*order) << "; lull queue resume ends that\n";
  } catch (error const& wrong) {
    found.emplace_back(wrong.what());
  }
  for (std::string const& each : found) out << "wrong: " << each << '\n';
  if (found.empty()) out << "nothing wrong was found\n";
  return found.empty() ? exit_code::done : exit_code::failed;
}

}  // namespace lull
