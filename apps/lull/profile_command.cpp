// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <chrono>
#include <ostream>
#include <string>
#include <utility>

#include <lull/apps/lull/commands.hpp>
#include <lull/apps/lull/harvest.hpp>
#include <lull/apps/lull/profile.hpp>
#include <lull/apps/lull/setting.hpp>
#include <lull/apps/registry/registry.hpp>
#include <lull/host/error.hpp>
#include <lull/host/io/atomic_file.hpp>

namespace lull {
namespace {

using namespace std::chrono_literals;

constexpr std::size_t max_lengths = 16;
constexpr auto a_replay = 400ms;  // about; at least so many iterations
constexpr auto max_replays = 10min;
constexpr std::uint32_t min_iterations = 3;
constexpr std::uint32_t max_iterations = 10'000;

harvest_settings settings_of(profile_settings const& asked, std::string const& task, std::string const& longest) {
  static_cast<void>(duration_of(longest, "--bubbles"));
  harvest_settings made;
  static_cast<device_settings&>(made) = asked;
  made.executor = asked.executor;
  made.tasks = {task};
  made.max_bubble = longest;
  made.training_worth = 0;  // what bubbles of any length cost is to be told
  made.pairs = asked.pairs;
  made.iterations = 1;
  std::chrono::nanoseconds const iteration = check(made).stage.length;
  if (2 * asked.pairs * min_iterations * iteration > max_replays)
    throw usage_error{"--bubbles " + longest + " with --pairs " + std::to_string(asked.pairs) +
                      ": the replays would take more than 10 min; take shorter ones, or fewer pairs"};
  made.iterations = std::clamp(static_cast<std::uint32_t>(a_replay / iteration), min_iterations, max_iterations);
  return made;
}

/// Inputs of a file are read for it once more.
memory_need need_of(job_spec const& task, executor_kind kind) {
  return entry_of(task.request).make(task.request.values)->needs(kind);
}

}  // namespace

exit_code profile_command(profile_settings const& asked, stop_request const& stop, std::ostream& out) {
  if (asked.bubbles.size() > max_lengths)
    throw usage_error{"--bubbles has " + std::to_string(asked.bubbles.size()) + " lengths; it may have " +
                      std::to_string(max_lengths)};
  if (asked.out) check_writable("--out ", *asked.out);
  std::vector<std::vector<harvest_settings>> all;  // checked before the first one is measured
  for (std::string const& task : asked.tasks) {
    all.emplace_back();
    for (std::string const& longest : asked.bubbles) all.back().push_back(settings_of(asked, task, longest));
  }
  std::vector<task_profile> profiles;
  bool good = true;
  bool is_interrupted = false;  // what is whole is told
  for (auto const& of_task : all) {
    task_profile profile;
    for (harvest_settings const& each : of_task) {
      plan_of_harvest plan = check(each);
      if (profile.lengths.empty()) profile.memory = need_of(plan.tasks.front(), plan.kind);
      harvested done = measure_harvest(each, std::move(plan), unfinished_jobs::are_cancelled, stop);
      if (done.found.interrupted) {
        is_interrupted = true;
        break;
      }
      if (!done.was_on) throw usage_error{"nothing is harvested: LULL in the environment is off or observe; unset it"};
      for (std::string const& line : done.lines)
        say(each.tasks.front() + " in bubbles of " + each.max_bubble + ": " + line);
      good = good && done.good;
      profile.lengths.push_back({each.max_bubble, std::move(done.found)});
    }
    if (profile.lengths.empty()) break;
    profiles.push_back(std::move(profile));
    if (is_interrupted) break;
  }
  if (profiles.empty()) return exit_code::interrupted;
  std::string const text = profiles_json(profiles);
  if (asked.json) {
    out << text;
  } else {
    print_profiles(out, profiles);
  }
  out.flush();
  if (asked.out) write_file(*asked.out, text);
  if (is_interrupted) return exit_code::interrupted;
  return good ? exit_code::done : exit_code::failed;
}

}  // namespace lull
