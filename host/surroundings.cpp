// SPDX-License-Identifier: Apache-2.0
#include <lull/host/surroundings.hpp>

#include <array>
#include <cstdlib>
#include <string_view>

#include <link.h>

namespace lull {

namespace {

std::string environment(char const* name) {
  char const* const text = std::getenv(name);
  return text == nullptr ? "" : text;
}

/// By file name, as their vendor ships them with CUDA 13.
constexpr std::array<std::string_view, 4> tools{"libsanitizer-collection.so", "libsanitizer-public.so", "libcuda-injection.so",
                                                "libToolsInjection64.so"};

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
         ": streams of the trainer that wait for each other would share queues with each other or with Lull's, and may wait for ever: leave it unset, or set it to 1";
}

}  // namespace lull
