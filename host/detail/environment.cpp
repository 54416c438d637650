// SPDX-License-Identifier: Apache-2.0
#include <lull/host/detail/environment.hpp>

#include <array>
#include <cstdlib>
#include <string_view>
#include <utility>

#include <link.h>

#include <lull/host/error.hpp>

namespace lull::detail {

namespace {

std::string environment(char const* name) {
  char const* const text = std::getenv(name);
  return text == nullptr ? "" : text;
}

/// File names of the tools in CUDA 13.
constexpr std::array<std::string_view, 4> tools{"libsanitizer-collection.so", "libsanitizer-public.so",
                                                "libcuda-injection.so", "libToolsInjection64.so"};

int note_tool(dl_phdr_info* library, std::size_t, void* into) {
  std::string_view const path = library->dlpi_name;
  std::string_view const file = path.substr(path.rfind('/') + 1);
  for (std::string_view const tool : tools) {
    if (file.substr(0, tool.size()) != tool) continue;
    *static_cast<std::string*>(into) = file;
    return 1;
  }
  return 0;
}

void require_up_to(char const* option, std::chrono::nanoseconds asked, std::chrono::nanoseconds most) {
  if (asked.count() >= 0 && asked <= most) return;
  throw usage_error{std::string{"runtime_options::"} + option + " is " + std::to_string(asked.count()) +
                    " ns: it must be 0 to " + std::to_string(most.count())};
}

}  // namespace

std::optional<std::string> launches_that_block() {
  std::string const asked = environment("CUDA_LAUNCH_BLOCKING");
  if (asked.empty() || asked == "0") return std::nullopt;
  return "CUDA_LAUNCH_BLOCKING=" + asked;
}

std::optional<std::string> injected_tool() {
  for (char const* const name : {"CUDA_INJECTION64_PATH", "CUDA_INJECTION32_PATH", "NSYS_PROFILING_SESSION_ID"}) {
    if (std::string const value = environment(name); !value.empty()) return std::string{name} + "=" + value;
  }
  std::string found;
  dl_iterate_phdr(&note_tool, &found);
  return found.empty() ? std::nullopt : std::optional{found + " is loaded"};
}

bool one_connection() { return environment("CUDA_DEVICE_MAX_CONNECTIONS") == "1"; }

std::optional<std::string> too_few_connections() {
  std::string const asked = environment("CUDA_DEVICE_MAX_CONNECTIONS");
  if (asked != "2" && asked != "3") return std::nullopt;
  return "CUDA_DEVICE_MAX_CONNECTIONS=" + asked +
         ": streams of the trainer that wait for each other may share a queue, with each other or with a stream of "
         "Lull's, "
         "and then wait for ever: unset it, or set it to 1";
}

std::optional<runtime_mode> mode_from_environment() {
  char const* const text = std::getenv("LULL");
  if (text == nullptr || *text == '\0') return std::nullopt;
  std::string_view const word{text};
  if (word == "off") return runtime_mode::off;
  if (word == "observe") return runtime_mode::observe;
  if (word == "on") return runtime_mode::on;
  throw usage_error{"the environment variable LULL is '" + std::string{word} + "': it must be off, observe or on"};
}

runtime_options allowed_options(runtime_options asked, executor_kind kind, std::string& why_off) {
  if (asked.tuning.armed_ahead && (asked.tuning.armed_ahead->count() < 0 ||
                                   *asked.tuning.armed_ahead > max_armed_ahead)) {  // sums with moments would overflow
    throw usage_error{"runtime_options::armed_ahead is " + std::to_string(asked.tuning.armed_ahead->count()) +
                      " ns: it must be 0 to " + std::to_string(max_armed_ahead.count()) + ", or left out"};
  }
  require_up_to("min_bubble", asked.tuning.min_bubble, max_min_bubble);
  require_up_to("rest_before_close", asked.tuning.rest_before_close, max_rest_before_close);
  double const worth = asked.tuning.training_worth.value_or(kind == executor_kind::cuda ? default_training_worth : 0);
  if (!(worth >= 0 && worth <= max_training_worth))
    throw usage_error{"runtime_options::training_worth is " + std::to_string(worth) + ": it must be 0 to " +
                      std::to_string(static_cast<int>(max_training_worth))};
  asked.tuning.training_worth = worth;
  if (!asked.attach.empty() && !asked.share.empty())
    throw usage_error{
        "runtime_options::share and attach exclude each other: a runtime shares its own program's bubbles, or "
        "works in another's"};
  if (!asked.attach.empty() && asked.max_slowdown != 0)
    throw usage_error{
        "runtime_options::max_slowdown is the trainer's, which shares its bubbles: leave it 0 with attach"};
  auto const say = [&](std::string const& line) {
    if (asked.log) asked.log(line);
  };
  std::optional<runtime_mode> const told = mode_from_environment();
  if (told && *told < asked.mode) {
    asked.mode = *told;
    why_off = asked.mode == runtime_mode::off ? "LULL=off" : "";
  }
  if (kind != executor_kind::cuda || asked.mode == runtime_mode::off) return asked;
  std::optional<std::string> why = launches_that_block();
  if (!why) why = injected_tool();
  if (!why && asked.mode == runtime_mode::on) why = too_few_connections();
  if (why && !told) {
    why_off = *why + "; LULL=on lifts this check";
    say("off: " + why_off);
    asked.mode = runtime_mode::off;
  }
  if (one_connection() && asked.tuning.launch == launch_time::at_close) {
    say("CUDA_DEVICE_MAX_CONNECTIONS=1: workers are launched when a bubble opens");
    asked.tuning.launch = launch_time::at_open;
  }
  return asked;
}

}  // namespace lull::detail
