// SPDX-License-Identifier: Apache-2.0
// Takes jobs from a queue and runs them.
#include <algorithm>
#include <chrono>
#include <csignal>
#include <ostream>
#include <thread>

#include <lull/apps/lull/job_spec.hpp>
#include <lull/apps/lull/queue/open_queue.hpp>
#include <lull/apps/lull/queue/settings.hpp>
#include <lull/apps/lull/queue/task_program.hpp>
#include <lull/apps/lull/setting.hpp>
#include <lull/apps/lull/stop_request.hpp>
#include <lull/host/attach/local_socket.hpp>
#include <lull/host/error.hpp>
#include <lull/host/queue/agent.hpp>

namespace lull {

namespace {

/// Returns whether a trainer listens there now. A socket that cannot be used is no fault of the queue: the reason is
/// said when it is another one than `said`.
bool shares_bubbles(std::string const& address, std::string& said) {
  try {
    return attach::connect_to(attach::socket_path(address, "--attach")).has_value();
  } catch (usage_error const& wrong) {
    if (said != wrong.what()) say(said = wrong.what());
    return false;
  }
}

}  // namespace

exit_code agent_command(agent_settings const& asked, stop_request const& stop, std::ostream& out) {
  using clock = std::chrono::steady_clock;
  constexpr std::chrono::milliseconds looks_at_stop{20};
  std::signal(SIGCHLD, SIG_DFL);  // a parent that ignores it would have the ends of programs ignored, too
  auto const store = open_queue(asked.queue);
  if (asked.attach) attach::socket_path(*asked.attach, "--attach");
  agent_settings chosen = asked;
  bool const on_threads = parse_executor(asked.executor, asked.device) == executor_kind::threads;
  chosen.executor = on_threads ? "threads" : "cuda";
  std::string const offers = (on_threads ? "CPU threads" : "CUDA device " + std::to_string(asked.device)) +
                             (asked.attach ? ", in the bubbles at " + *asked.attach : "");
  queue::agent works{
      *store,
      [&](queue::job_document const& job, queue::attempt const& at) { return program_of(job, at, chosen); },
      [](std::string const& line) { say(line); },
      {.jobs_at_once = asked.jobs,
       .offers = offers,
       .is_free = [&, said = std::string{}]() mutable { return !asked.attach || shares_bubbles(*asked.attach, said); },
       .takes = [&](queue::job_document const& job) { return asked.allow_commands || job.run.command.empty(); },
       .order = asked.policy ? queue::policy_named(*asked.policy) : queue::policy{}}};
  say("agent " + works.id() + " takes jobs: " + offers);
  bool stopped = false;
  for (;;) {
    auto const next = works.tick(clock::now());
    if (stop.requested() && !stopped) {
      stopped = true;
      works.stop(clock::now());
    }
    if (works.has_stopped(clock::now())) return exit_code::interrupted;
    if (asked.until_empty && works.is_idle()) break;
    while (clock::now() < next && (stopped || !stop.requested()))
      std::this_thread::sleep_for(std::min<clock::duration>(next - clock::now(), looks_at_stop));
  }
  out << std::flush;
  return exit_code::done;
}

}  // namespace lull
