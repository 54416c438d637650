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

constexpr std::int32_t max_armed_ahead_us =
    std::chrono::duration_cast<std::chrono::duration<std::int32_t, std::micro>>(max_armed_ahead).count();

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

std::optional<std::chrono::nanoseconds> armed_ahead(std::int32_t us) {
  if (in_range(us, -1, max_armed_ahead_us, "options->armed_ahead_us") == 0) return std::nullopt;
  return std::chrono::microseconds{std::max(us, 0)};
}

std::chrono::nanoseconds rest_before_close(std::int32_t us) {
  constexpr auto most = static_cast<std::int32_t>(max_rest_before_close / std::chrono::microseconds{1});
  if (in_range(us, -1, most, "options->rest_us") == 0) return default_rest_before_close;
  return std::chrono::microseconds{std::max(us, 0)};
}

std::chrono::nanoseconds min_bubble(std::uint64_t ns) {
  auto const max_ns = static_cast<std::uint64_t>(max_min_bubble.count());
  if (ns > max_ns) {
    throw refusal{LULL_ERROR_ARGUMENT,
                  "options->min_bubble_ns is " + std::to_string(ns) + ": it is at most " + std::to_string(max_ns)};
  }
  return std::chrono::nanoseconds{static_cast<std::int64_t>(ns)};
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
  if (at_least(asked.team_width, 0, "options->team_width") != 0) made.executor.team_width = asked.team_width;
  made.tuning.armed_ahead = armed_ahead(asked.armed_ahead_us);
  if (asked.min_bubble_ns != 0) made.tuning.min_bubble = min_bubble(asked.min_bubble_ns);
  made.tuning.rest_before_close = rest_before_close(asked.rest_us);
  made.executor.memory_limit_bytes = asked.memory_limit_bytes;
  auto const mode = one_of<lull_mode>(asked.mode, 4, "options->mode");
  if (mode == LULL_MODE_OFF) made.mode = runtime_mode::off;
  if (mode == LULL_MODE_OBSERVE) made.mode = runtime_mode::observe;
  bool const at_open = one_of<lull_launch>(asked.launch, 2, "options->launch") == LULL_LAUNCH_AT_OPEN;
  made.tuning.launch = at_open ? launch_time::at_open : launch_time::at_close;
  made.executor.reserve_bytes = asked.reserve_bytes;
  made.saved_bytes = asked.saved_bytes;
  made.max_slowdown = asked.max_slowdown;
  made.draw_seed = asked.draw_seed;
  made.tasks = types_of(asked.tasks);
  if (asked.report != nullptr) made.report = asked.report;
  if (asked.log != nullptr) {
    made.log = [log = asked.log, context = asked.log_context](std::string_view line) {
      log(context, std::string{line}.c_str());
    };
  }
  return made;
}

}  // namespace lull::c
