// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

#include <lull/host/report/gpu_monitor.hpp>

namespace lull {

struct machine_description {
  std::optional<std::string> cpu;
  std::optional<std::uint32_t> cpus;         // logical, online
  std::optional<std::uint32_t> usable_cpus;  // of these, that this process may run on
  std::optional<std::uint64_t> memory_bytes;
  std::optional<std::string> kernel;
  std::optional<std::string> os;
  std::optional<gpu_description> gpu;
};

/// The host's part; `gpu` is left empty. `root` stands before /proc and /etc, for tests.
machine_description describe_host(std::filesystem::path const& root = "/");

}  // namespace lull
