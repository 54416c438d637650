// SPDX-License-Identifier: Apache-2.0
#include <lull/host/io/host_memory.hpp>

#include <algorithm>
#include <array>
#include <cstdio>
#include <fstream>
#include <limits>
#include <optional>
#include <string_view>
#include <utility>

#include <lull/host/error.hpp>

namespace lull {
namespace {

namespace fs = std::filesystem;

constexpr int max_lines = 10'000;  // of a file in /proc or /sys
constexpr std::uint64_t margin = 16;

/// Returns the number in the line that begins with the key; without a key, the first word of the file. "max" is no
/// number.
std::optional<std::uint64_t> number_in(fs::path const& file, std::string_view key = {}) {
  std::ifstream in{file};
  std::string word;
  for (int i = 0; i < max_lines && in; ++i) {
    if (!key.empty() && !(in >> word)) return std::nullopt;
    if (std::uint64_t number = 0; word == key) return in >> number ? std::optional{number} : std::nullopt;
    in.ignore(std::numeric_limits<std::streamsize>::max(), '\n');
  }
  return std::nullopt;
}

/// File names in one version of control groups.
struct group_files {
  char const* limit;
  char const* used;
  std::array<char const*, 2> dropped_first;  // in memory.stat: what the kernel drops before it kills
};
constexpr group_files version_1{
    "memory.limit_in_bytes", "memory.usage_in_bytes", {"total_active_file", "total_inactive_file"}};
constexpr group_files version_2{"memory.max", "memory.current", {"active_file", "inactive_file"}};

std::optional<std::uint64_t> free_in(fs::path const& group, group_files const& files) {
  auto const limit = number_in(group / files.limit);
  if (!limit) return std::nullopt;
  std::uint64_t used = number_in(group / files.used).value_or(0);
  for (char const* const each : files.dropped_first)
    used -= std::min(used, number_in(group / "memory.stat", each).value_or(0));
  return *limit - std::min(*limit, used);
}

/// Reads the limits of the group and those above it. A container may not see its own folder; then the root that it sees
/// is the group.
void limit_by_groups(free_memory& found, fs::path const& mounted, fs::path group, group_files const& files) {
  for (;; group = group.parent_path()) {
    auto const bytes = free_in(mounted / group.relative_path(), files);
    if (bytes && *bytes < found.bytes) found = {*bytes, "the control group " + group.string()};
    if (!group.has_relative_path()) return;
  }
}

}  // namespace

free_memory free_host_memory(fs::path const& root) {
  constexpr std::uint64_t kib = 1024;
  free_memory found{std::numeric_limits<std::uint64_t>::max(), "this computer"};
  if (auto const available = number_in(root / "proc/meminfo", "MemAvailable:")) found.bytes = *available * kib;
  std::ifstream groups{root / "proc/self/cgroup"};
  std::string line;  // NUMBER:CONTROLLERS:PATH
  for (int i = 0; i < max_lines && std::getline(groups, line); ++i) {
    auto const first = line.find(':');
    auto const second = line.find(':', first + 1);
    if (first == std::string::npos || second == std::string::npos) continue;
    std::string const controllers = "," + line.substr(first + 1, second - first - 1) + ",";
    fs::path const group = line.substr(second + 1);
    if (controllers == ",,") limit_by_groups(found, root / "sys/fs/cgroup", group, version_2);
    if (controllers.find(",memory,") != std::string::npos)
      limit_by_groups(found, root / "sys/fs/cgroup/memory", group, version_1);
  }
  found.bytes -= found.bytes / margin;
  return found;
}

std::string bytes_text(std::uint64_t bytes) {
  constexpr std::array units{"bytes", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
  auto number = static_cast<double>(bytes);
  std::size_t unit = 0;
  for (; number >= 1000 && unit + 1 < units.size(); ++unit) number /= 1024;
  char text[32];
  std::snprintf(text, sizeof text, unit == 0 ? "%.0f %s" : "%.1f %s", number, units[unit]);
  return text;
}

void require_host_memory(std::uint64_t bytes, std::string const& what, std::string const& advice,
                         free_memory const& host) {
  if (bytes <= host.bytes) return;
  throw limit_error{what + " needs about " + bytes_text(bytes) + " of memory, and " + host.where + " has " +
                    bytes_text(host.bytes) + " free: " + advice};
}

file_memory::file_memory(std::string path, std::string advice, std::optional<free_memory> const& free)
    : path_(std::move(path)), advice_(std::move(advice)), free_(free ? *free : free_host_memory()) {}

void file_memory::require(std::uint64_t bytes) const { require_host_memory(bytes, path_, advice_, free_); }

}  // namespace lull
