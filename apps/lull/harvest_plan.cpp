// SPDX-License-Identifier: Apache-2.0
#include <lull/apps/lull/harvest_plan.hpp>

#include <string>

#include <lull/apps/lull/path_conflicts.hpp>
#include <lull/host/error.hpp>
#include <lull/host/io/atomic_file.hpp>
#include <lull/host/profile/machine_profiles.hpp>
#include <lull/host/report/trace.hpp>

namespace lull {

namespace {

constexpr std::uint32_t min_bounded = 10;                       // iterations
constexpr std::uint64_t max_segments = std::uint64_t{1} << 22;  // segments and gaps of one replay

/// A time of how side work uses bubbles, where one is asked for.
void take_time(std::optional<std::string> const& asked, std::string const& option, std::chrono::nanoseconds longest,
               side_mode mode, std::chrono::nanoseconds& into) {
  if (!asked) return;
  into = duration_of(*asked, option);
  if (mode != side_mode::lull) throw usage_error{option + " needs --mode lull: only there side work yields"};
  if (into > longest)
    throw usage_error{option + " " + *asked + " is longer than " +
                      std::to_string(longest / std::chrono::milliseconds{1}) + " ms, the longest that is taken"};
}

}  // namespace

plan_of_harvest check(harvest_settings const& asked) {
  plan_of_harvest made{
      parse_executor(asked.executor, asked.device),
      parse_mode(asked.mode),
      {parse_schedule(asked.schedule), asked.stages, asked.microbatches, duration_of(asked.segment, "--segment")},
      {},
      asked.share ? std::vector<job_spec>{} : job_specs(asked.tasks, asked.job_file)};
  if (asked.share && (!asked.tasks.empty() || asked.job_file || asked.checkpoint.folder || asked.verify))
    throw usage_error{
        "--share leaves the side work to other processes: give --task, --job, --checkpoint and --verify to "
        "lull work --attach " +
        *asked.share};
  if (asked.share && made.mode != side_mode::lull)
    throw usage_error{"--share needs --mode lull: only there side work yields"};
  if (made.mode == side_mode::naive && made.tasks.size() > 1) {
    throw usage_error{"--mode naive runs one task: name one, or use --mode lull"};
  }
  if (asked.checkpoint.folder && made.mode != side_mode::lull)
    throw usage_error{"--checkpoint needs --mode lull: the other modes stop nowhere that can be saved"};
  take_time(asked.min_bubble, "--min-bubble", max_min_bubble, made.mode, made.min_bubble);
  if (asked.training_worth && made.mode != side_mode::lull)
    throw usage_error{"--training-worth needs --mode lull: only there side work yields"};
  made.training_worth = asked.training_worth;
  take_time(asked.rest_before_close, "--rest-before-close", max_rest_before_close, made.mode, made.rest_before_close);
  if (asked.max_slowdown) {
    made.max_slowdown = share_of(*asked.max_slowdown, "--max-slowdown");
    if (asked.iterations < min_bounded)
      throw usage_error{"--max-slowdown needs --iterations of " + std::to_string(min_bounded) +
                        " or more: the last one of a replay does not count"};
    if (made.mode != side_mode::lull)
      throw usage_error{"--max-slowdown needs --mode lull: only there side work yields"};
  }
  if (asked.profile) {
    if (!asked.max_slowdown) throw usage_error{"--profile needs --max-slowdown: it says how carefully tasks begin"};
    made.profiles = read_profiles(*asked.profile);
  }
  if (!asked.max_bubble.empty()) {
    made.shape.forward =
        forward_for_max_gap(made.shape, asked.stage, duration_of(asked.max_bubble, "--longest-bubble"));
  }
  made.stage = plan_stage(made.shape, asked.stage);
  std::uint64_t const length = (made.stage.segments.size() + made.stage.gaps.size()) * std::uint64_t{asked.iterations};
  if (length > max_segments)
    throw usage_error{"a replay of " + std::to_string(length) + " segments and gaps is longer than " +
                      std::to_string(max_segments) + ": lower --iterations"};
  if (made.mode != side_mode::none && made.stage.gaps.empty()) {
    throw usage_error{"stage " + std::to_string(asked.stage) + " of " + std::to_string(asked.stages) +
                      " has no bubble in this schedule: raise --stages, or use --mode none"};
  }
  if (asked.timeline) throw usage_error{"--timeline is replaced by --trace: " + instead_of_svg(*asked.timeline)};
  if (asked.trace && std::filesystem::path{*asked.trace}.extension() == ".svg")
    throw usage_error{"--trace " + *asked.trace + ": " + instead_of_svg(*asked.trace)};
  std::vector<report_file> const reports{{"--report", asked.report}, {"--trace", asked.trace}};
  for (report_file const& each : reports) {
    if (each.file) check_writable(std::string{each.option} + " ", *each.file);
  }
  check_files(made.tasks, asked, reports);
  if (made.mode == side_mode::none) made.tasks.clear();
  return made;
}

}  // namespace lull
