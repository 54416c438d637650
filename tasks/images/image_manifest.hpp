// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <mutex>
#include <optional>
#include <string>

namespace lull {

/// Records which files of a folder have been made into results, so that a killed run can be resumed: for each input its
/// size and time of change, for each finished result its size and CRC-32. A text file of lines, with a version, what
/// the results depend on, and a CRC-32 at its end. Thread-safe.
class image_manifest {
 public:
  static constexpr std::uint64_t version = 1;

  struct input {
    std::uint64_t bytes = 0;
    std::int64_t changed_ns = 0;  // since the epoch
    bool operator==(input const&) const = default;
  };
  struct result {
    std::uint64_t bytes = 0;
    std::uint32_t sum = 0;
    bool operator==(result const&) const = default;
  };
  struct entry {
    input in;
    std::optional<result> out;  // finished
  };

  /// `settings`: all that determines the results' bytes besides the inputs.
  explicit image_manifest(std::string settings) : settings_(std::move(settings)) {}

  void add(std::string const& name, input const& in);
  void finish(std::string const& name, result const& out);
  /// Saves atomically, and flushes to the disk.
  void save(std::filesystem::path const& file) const;

  /// Reads a file that `save` wrote. Throws input_error with the reason for a file that is foreign, damaged or cut off,
  /// of another version, or of other settings.
  static std::map<std::string, entry> read(std::filesystem::path const& file, std::string const& settings);

 private:
  std::string const settings_;
  mutable std::mutex mutex_;
  std::map<std::string, entry> entries_;  // by name
};

/// Returns nothing if there is no such regular file.
std::optional<image_manifest::input> input_of(std::filesystem::path const& file);
/// Reads the whole file. Returns nothing if that fails.
std::optional<image_manifest::result> result_of(std::filesystem::path const& file);

}  // namespace lull
