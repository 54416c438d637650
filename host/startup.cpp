// SPDX-License-Identifier: Apache-2.0
#include <lull/host/startup.hpp>

#include <cstdlib>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include <lull/host/error.hpp>
#include <lull/host/surroundings.hpp>

namespace lull::detail {

namespace {

std::optional<runtime_mode> mode_from_environment() {
  char const* const text = std::getenv("LULL");
  if (text == nullptr || *text == '\0') return std::nullopt;
  std::string_view const word{text};
  if (word == "off") return runtime_mode::off;
  if (word == "observe") return runtime_mode::observe;
  if (word == "on") return runtime_mode::on;
  throw usage_error{"the environment variable LULL is '" + std::string{word} + "': it must be off, observe or on"};
}

}  // namespace

runtime_options as_far_as_it_goes(runtime_options asked, executor_kind kind) {
  if (asked.armed_ahead && (asked.armed_ahead->count() < 0 || *asked.armed_ahead > max_armed_ahead)) {  // sums with moments would overflow
    throw usage_error{"runtime_options::armed_ahead is " + std::to_string(asked.armed_ahead->count()) + " ns: it must be 0 to " +
                      std::to_string(max_armed_ahead.count()) + ", or left out"};
  }
  auto const say = [&](std::string const& line) {
    if (asked.log) asked.log(line);
  };
  std::optional<runtime_mode> const told = mode_from_environment();
  asked.mode = told.value_or(asked.mode);
  if (kind != executor_kind::cuda || asked.mode == runtime_mode::off) return asked;
  std::optional<std::string> why = launches_that_block();
  if (!why) why = injected_tool();
  if (!why && asked.mode == runtime_mode::on) why = too_few_connections();
  if (why && !told) {
    say("off: " + *why + "; LULL=on harvests nevertheless");
    asked.mode = runtime_mode::off;
  }
  if (one_connection() && asked.launch == launch_time::at_close) {
    say("CUDA_DEVICE_MAX_CONNECTIONS=1: workers are launched when a bubble opens");
    asked.launch = launch_time::at_open;
  }
  return asked;
}

}  // namespace lull::detail
