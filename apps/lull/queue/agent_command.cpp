// SPDX-License-Identifier: Apache-2.0
// Takes jobs from a queue and runs them.
#include <algorithm>
#include <chrono>
#include <ostream>
#include <thread>

#include <lull/apps/lull/job_spec.hpp>
#include <lull/apps/lull/queue/open_queue.hpp>
#include <lull/apps/lull/queue/settings.hpp>
#include <lull/apps/lull/queue/task_program.hpp>
#include <lull/apps/lull/setting.hpp>
#include <lull/apps/lull/stop_request.hpp>
#include <lull/host/queue/agent.hpp>

namespace lull {

exit_code agent_command(agent_settings const& asked, stop_request const& stop, std::ostream& out) {
  using clock = std::chrono::steady_clock;
  constexpr std::chrono::milliseconds looks_at_stop{20};
  auto const store = open_queue(asked.queue);
  agent_settings chosen = asked;
  bool const on_threads = parse_executor(asked.executor, asked.device) == executor_kind::threads;
  chosen.executor = on_threads ? "threads" : "cuda";
  std::string const offers = (on_threads ? "CPU threads" : "CUDA device " + std::to_string(asked.device)) +
                             (asked.attach ? ", in the bubbles at " + *asked.attach : "");
  queue::agent works{
      *store,
      [&](queue::job_document const& job, queue::attempt const& at) { return program_of(job, at, chosen); },
      [](std::string const& line) { say(line); },
      {.jobs_at_once = asked.jobs, .offers = offers}};
  say("agent " + works.id() + " takes jobs: " + offers);
  bool stopped = false;
  for (;;) {
    auto const next = works.tick(clock::now());
    if (stop.requested() && !stopped) {
      stopped = true;
      works.stop(clock::now());
    }
    if (stopped && works.is_empty()) return exit_code::interrupted;
    if (asked.until_empty && works.is_idle()) break;
    while (clock::now() < next && (stopped || !stop.requested()))
      std::this_thread::sleep_for(std::min<clock::duration>(next - clock::now(), looks_at_stop));
  }
  out << std::flush;
  return exit_code::done;
}

}  // namespace lull
