// SPDX-License-Identifier: Apache-2.0
// Has all agents of a queue begin no jobs, and begin them again.
#include <algorithm>
#include <ctime>
#include <optional>
#include <ostream>
#include <string>

#include <pwd.h>
#include <unistd.h>

#include <lull/apps/lull/job_spec.hpp>
#include <lull/apps/lull/queue/open_queue.hpp>
#include <lull/apps/lull/queue/settings.hpp>
#include <lull/host/error.hpp>
#include <lull/host/io/host_name.hpp>
#include <lull/host/queue/store.hpp>

namespace lull {

namespace {

constexpr std::size_t max_reason_bytes = 1'000;

std::string user_and_host() {
  passwd const* const user = ::getpwuid(::geteuid());
  return (user != nullptr ? std::string{user->pw_name} : std::to_string(::geteuid())) + "@" + host_name();
}

}  // namespace

exit_code queue_drain_command(drain_settings const& asked, std::ostream& out) {
  bool const is_line =
      std::none_of(asked.reason.begin(), asked.reason.end(), [](unsigned char each) { return each < ' '; });
  if (asked.reason.size() > max_reason_bytes || !is_line)
    throw usage_error{"--reason is one line of at most " + std::to_string(max_reason_bytes) + " bytes"};
  auto const store = open_queue(asked.queue);
  store->set_drained(queue::drain_order{
      .saves = asked.save, .by = user_and_host(), .reason = asked.reason, .time_s = std::time(nullptr)});
  auto const all = store->list();
  auto const at_work =
      std::count_if(all.begin(), all.end(), [](queue::job_entry const& each) { return is_at_work(each.state); });
  out << "agents begin no jobs from their next look on; " << at_work << " jobs are at work, and "
      << (asked.save ? "are saved" : "go on") << '\n';
  return exit_code::done;
}

exit_code queue_resume_command(queue_settings const& asked, std::ostream& out) {
  auto const store = open_queue(asked.queue);
  bool was_drained = true;
  try {
    was_drained = store->drained().has_value();
  } catch (input_error const& broken) {  // it is removed then
    say(broken.what());
  }
  store->set_drained(std::nullopt);
  out << (was_drained ? "agents begin jobs again, from their next look on\n" : "the queue was not drained\n");
  return exit_code::done;
}

}  // namespace lull
