// SPDX-License-Identifier: Apache-2.0
#include <lull/apps/c/options.hpp>

#include <algorithm>
#include <chrono>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <lull/apps/c/boundary.hpp>
#include <lull/apps/registry/registry.hpp>

namespace lull::c {

namespace {

/// Tasks whose options do not tell them apart share a type; it is loaded once.
void add(std::vector<task_type>& types, task_type const& type) {
  bool const known = std::any_of(types.begin(), types.end(), [&](task_type const& each) {
    return each.threads.resident == type.threads.resident && each.cuda.resident == type.cuda.resident;
  });
  if (!known) types.push_back(type);
}

/// Null: of all tasks.
std::vector<task_type> types_of(char const* tasks) {
  std::vector<task_type> types;
  if (tasks == nullptr) {
    for (task_entry const& each : registry()) add(types, each.type(option_values{each.options}));
    return types;
  }
  for (task_request const& each : parse_task_list(tasks, known_tasks(), library_task))
    add(types, entry_of(each).type(each.values));
  return types;
}

/// A time of an option: 0 is the default, -1 none at all, which is given as 0. Throws a refusal.
std::chrono::nanoseconds time_of(std::int64_t ns, std::chrono::nanoseconds fallback, std::chrono::nanoseconds most,
                                 char const* name) {
  if (ns == 0) return fallback;
  checked(ns, ns >= -1 && ns <= most.count(), name, "it must be -1, or 0 to " + std::to_string(most.count()));
  return std::chrono::nanoseconds{std::max<std::int64_t>(ns, 0)};
}

}  // namespace

runtime_options read_options(lull_options const& asked) {
  runtime_options made;
  made.max_reports = 0;  // nobody can take them
  require_zero(asked.reserved, "options->reserved");
  auto const kind = one_of<lull_executor>(asked.executor, 3, "options->executor");
  if (kind == LULL_EXECUTOR_THREADS) made.executor.kind = executor_kind::threads;
  if (kind == LULL_EXECUTOR_CUDA) made.executor.kind = executor_kind::cuda;
  made.executor.device = at_least(asked.device, 0, "options->device");
  int const reserved_groups = at_least(asked.reserved_groups, -1, "options->reserved_groups");
  if (reserved_groups != 0) made.executor.reserved_groups = std::max(reserved_groups, 0);
  made.executor.processors = at_least(asked.processors, 0, "options->processors");
  lull_tuning const& tuning = asked.tuning;
  if (at_least(tuning.team_width, 0, "options->tuning.team_width") != 0) made.executor.team_width = tuning.team_width;
  if (tuning.armed_ahead_ns != 0)
    made.tuning.armed_ahead = time_of(tuning.armed_ahead_ns, {}, max_armed_ahead, "options->tuning.armed_ahead_ns");
  made.tuning.min_bubble =
      time_of(tuning.min_bubble_ns, default_min_bubble, max_min_bubble, "options->tuning.min_bubble_ns");
  made.tuning.rest_before_close =
      time_of(tuning.rest_ns, default_rest_before_close, max_rest_before_close, "options->tuning.rest_ns");
  double const worth = tuning.training_worth;
  checked(worth, worth == -1 || (worth >= 0 && worth <= max_training_worth), "options->tuning.training_worth",
          "it must be -1, or 0 to " + std::to_string(static_cast<int>(max_training_worth)));
  if (worth != 0) made.tuning.training_worth = std::max(worth, 0.0);
  made.executor.memory_limit_bytes = asked.memory_limit_bytes;
  auto const mode = one_of<lull_mode>(asked.mode, 4, "options->mode");
  if (mode == LULL_MODE_OFF) made.mode = runtime_mode::off;
  if (mode == LULL_MODE_OBSERVE) made.mode = runtime_mode::observe;
  bool const at_open = one_of<lull_launch>(tuning.launch, 2, "options->tuning.launch") == LULL_LAUNCH_AT_OPEN;
  made.tuning.launch = at_open ? launch_time::at_open : launch_time::at_close;
  made.executor.reserve_bytes = asked.reserve_bytes;
  made.saved_bytes = asked.saved_bytes;
  made.max_slowdown = asked.max_slowdown;
  made.draw_seed = asked.draw_seed;
  made.tasks = types_of(asked.tasks);
  if (asked.report != nullptr) made.report = asked.report;
  if (asked.share != nullptr) made.share = asked.share;
  if (asked.attach != nullptr) made.attach = asked.attach;
  if (asked.log != nullptr) {
    made.log = [log = asked.log, context = asked.log_context](std::string_view line) {
      log(context, std::string{line}.c_str());
    };
  }
  return made;
}

}  // namespace lull::c
