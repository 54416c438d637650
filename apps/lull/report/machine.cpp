// SPDX-License-Identifier: Apache-2.0
#include <lull/apps/lull/report/machine.hpp>

#include <sched.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <fstream>
#include <string_view>

namespace lull {
namespace {

constexpr int max_lines = 100'000;  // of /proc/cpuinfo

std::string_view trimmed(std::string_view text) {
  constexpr std::string_view blanks = " \t\r\"'";
  auto const first = text.find_first_not_of(blanks);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(blanks) - first + 1);
}

// The value of the first line `key<separator>value`.
std::optional<std::string> value_in(std::filesystem::path const& path, std::string_view key, char separator) {
  std::ifstream in(path);
  std::string line;
  for (int i = 0; i < max_lines && std::getline(in, line); ++i) {
    auto const split = line.find(separator);
    if (split == std::string::npos || trimmed(std::string_view{line}.substr(0, split)) != key) continue;
    std::string value{trimmed(std::string_view{line}.substr(split + 1))};
    if (!value.empty()) return value;
  }
  return std::nullopt;
}

std::optional<std::uint64_t> positive(long value) {
  return value > 0 ? std::optional<std::uint64_t>(static_cast<std::uint64_t>(value)) : std::nullopt;
}

}  // namespace

machine_description describe_host(std::filesystem::path const& root) {
  machine_description machine;
  machine.cpu = value_in(root / "proc/cpuinfo", "model name", ':');
  machine.os = value_in(root / "etc/os-release", "PRETTY_NAME", '=');
  machine.cpus = positive(::sysconf(_SC_NPROCESSORS_ONLN));
  cpu_set_t usable;
  if (::sched_getaffinity(0, sizeof usable, &usable) == 0) machine.usable_cpus = positive(CPU_COUNT(&usable));
  auto const pages = positive(::sysconf(_SC_PHYS_PAGES));
  auto const page_bytes = positive(::sysconf(_SC_PAGE_SIZE));
  if (pages && page_bytes) machine.memory_bytes = *pages * *page_bytes;
  if (utsname name{}; ::uname(&name) == 0) machine.kernel = std::string{name.sysname} + " " + name.release;
  return machine;
}

}  // namespace lull
