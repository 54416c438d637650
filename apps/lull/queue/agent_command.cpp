// SPDX-License-Identifier: Apache-2.0
// Takes jobs from a queue and runs them.
#include <algorithm>
#include <chrono>
#include <csignal>
#include <filesystem>
#include <functional>
#include <iostream>
#include <optional>
#include <string>
#include <thread>

#include <lull/apps/lull/job_spec.hpp>
#include <lull/apps/lull/queue/agent_log.hpp>
#include <lull/apps/lull/queue/open_queue.hpp>
#include <lull/apps/lull/queue/other_process.hpp>
#include <lull/apps/lull/queue/settings.hpp>
#include <lull/apps/lull/queue/task_program.hpp>
#include <lull/apps/lull/setting.hpp>
#include <lull/apps/lull/stop_request.hpp>
#include <lull/host/attach/local_socket.hpp>
#include <lull/host/error.hpp>
#include <lull/host/queue/agent.hpp>
#include <lull/host/queue/attempt_record.hpp>
#include <lull/host/queue/child_process.hpp>

namespace lull {

namespace {

namespace fs = std::filesystem;

using log_function = queue::agent::log_function;

/// Returns whether a trainer listens there now. A socket that cannot be used is no fault of the queue: the reason is
/// said when it is another one than `said`.
bool shares_bubbles(std::string const& address, std::string& said, log_function const& log) {
  try {
    return attach::connect_to(attach::socket_path(address, "--attach")).has_value();
  } catch (usage_error const& wrong) {
    if (said != wrong.what()) log(said = wrong.what(), "");
    return false;
  }
}

/// Returns whether that Python has the package; says so if it has not.
bool has_package(std::string const& python, log_function const& log, std::function<bool()> const& is_stopped) {
  std::string why = "it cannot load the package lull";
  try {
    queue::child_process tries{
        {python, "-c", "import lull.entry, lull.binding; lull.binding.load()"}, "/dev/null", "/"};
    auto const last = std::chrono::steady_clock::now() + std::chrono::seconds{60};
    while (std::chrono::steady_clock::now() < last && !is_stopped()) {
      if (auto const how = tries.end()) {
        if (*how == queue::program_end{}) return true;
        break;
      }
      std::this_thread::sleep_for(std::chrono::milliseconds{5});
    }
  } catch (usage_error const& wrong) {
    why = wrong.what();
  }
  log("jobs in Python are left to other agents: " + python + ": " + why + "; --python names another", "");
  return false;
}

}  // namespace

exit_code agent_command(agent_settings const& asked, stop_request const& stop, std::ostream& out) {
  using clock = std::chrono::steady_clock;
  constexpr std::chrono::milliseconds looks_at_stop{20};
  std::signal(SIGCHLD, SIG_DFL);  // a parent that ignores it would have the ends of programs ignored, too
  log_function const log = [&](std::string const& line, std::string const& job) {
    if (asked.log != "json") return say(line);
    std::cerr << json_line(line, job, std::chrono::system_clock::now());
  };
  auto const store = open_queue(asked.queue);
  if (asked.attach) attach::socket_path(*asked.attach, "--attach");
  agent_settings chosen = asked;
  bool const on_threads = parse_executor(asked.executor, asked.device) == executor_kind::threads;
  chosen.executor = on_threads ? "threads" : "cuda";
  if (asked.attach) chosen.attach = "unix:" + fs::absolute(attach::socket_path(*asked.attach, "--attach")).string();
  if (asked.python.find('/') != asked.python.npos) chosen.python = fs::absolute(asked.python);
  allowed_folders const allowed{asked.allow};
  if (asked.tries_for) duration_of(*asked.tries_for, "--try-for");  // or it is none
  std::optional<other_process> const with =
      asked.with_process ? std::optional{other_process{*asked.with_process}} : std::nullopt;
  auto const is_asked_to_stop = [&] { return stop.requested() || (with && with->has_ended()); };
  bool const has_python = !asked.allow.empty() && has_package(chosen.python, log, is_asked_to_stop);
  std::string const offers = (on_threads ? "CPU threads" : "CUDA device " + std::to_string(asked.device)) +
                             (asked.attach ? ", in the bubbles at " + *asked.attach : "");
  queue::agent works{
      *store,
      [&](queue::job_document const& job, queue::attempt const& at) { return program_of(job, at, chosen, allowed); },
      log,
      {.jobs_at_once = asked.jobs,
       .offers = offers,
       .is_free =
           [&, said = std::string{}]() mutable { return !asked.attach || shares_bubbles(*asked.attach, said, log); },
       .takes =
           [&](queue::job_document const& job, queue::job_entry const& entry) {
             bool const any_goes = !asked.attach || asked.allow_untested || !is_foreign(job.run);
             return (job.run.python.empty() || has_python) && is_allowed(job, chosen, allowed) &&
                    (any_goes || (entry.attempt != 0 && queue::has_run(store->events(entry.id))));
           },
       .order = asked.policy ? queue::policy_named(*asked.policy) : queue::policy{}}};
  log("agent " + works.id() + " takes jobs: " + offers, "");
  bool stopped = false;
  for (;;) {
    auto const next = works.tick(clock::now());
    if (!stopped && is_asked_to_stop()) {
      stopped = true;
      works.stop(clock::now());
    }
    if (works.has_stopped(clock::now())) return exit_code::interrupted;
    if (asked.until_empty && works.is_idle()) break;
    while (clock::now() < next && (stopped || !is_asked_to_stop()))
      std::this_thread::sleep_for(std::min<clock::duration>(next - clock::now(), looks_at_stop));
  }
  out << std::flush;
  return exit_code::done;
}

}  // namespace lull
