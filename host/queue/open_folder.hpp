// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <lull/host/io/process_descriptor.hpp>

namespace lull::queue {

/// A folder by its descriptor, so that nothing that happens to its path leads elsewhere. Names in it are single parts
/// of a path; links are not followed. What it makes only this user may read. Errors: device_error with the name and the
/// call. Not thread-safe.
class open_folder {
 public:
  /// Throws usage_error if it is not there, or if others may read or write there.
  static open_folder own(std::filesystem::path const& path);

  /// Opens a folder in it, and makes it if it is missing.
  open_folder below(std::string const& name) const;
  /// Writes a file that is not there, whole or not at all. `flush`: to the disk, but for its name (`flush_names`).
  enum class flushing { flush, later };
  void write_new(std::string const& name, std::string_view text, flushing when) const;
  /// Puts a file in the place of any other of that name, whole or not at all. `later`: it may be lost, or be empty,
  /// when the machine's power goes. `flush`: its text is on the disk; flush the names then.
  void replace(std::string const& name, std::string_view text, flushing when = flushing::later) const;
  /// Gives a second name to a file, if no file has that; returns whether it did.
  bool link(std::string const& from, std::string const& to) const;
  /// Returns false if there was no file of the first name. `to` is a name that nobody else would give.
  bool rename(std::string const& from, std::string const& to) const;
  bool has(std::string const& name) const;
  /// Returns whether it was there.
  bool remove(std::string const& name) const;
  /// Returns nothing if it is not there. Throws input_error if it is larger.
  std::optional<std::string> read(std::string const& name, std::size_t max_bytes) const;
  /// Returns what is in it, each name once. Of a file that is renamed meanwhile both names may be there; hardly ever
  /// none is.
  std::vector<std::string> names() const;
  /// Returns when names in it changed last, by the file system's clock: for comparison with another such moment alone.
  struct moment {
    std::int64_t seconds = 0;
    std::int64_t nanoseconds = 0;
    bool operator==(moment const&) const = default;
  };
  moment changed() const;
  /// Returns when a file was written last, in seconds since 1970 by the file system's clock; now, if it is not there.
  std::int64_t written_s(std::string const& name) const;
  /// Has the names that were made, renamed and removed on the disk.
  void flush_names() const;
  /// Has all of the file system on the disk.
  void flush_all() const;

  /// Returns whether its path still leads to it.
  bool is_at_its_path() const noexcept;
  std::filesystem::path const& path() const noexcept { return path_; }

 private:
  open_folder(process_descriptor of, std::filesystem::path path) : of_(std::move(of)), path_(std::move(path)) {}
  [[noreturn]] void fail(char const* call, std::string const& name) const;

  process_descriptor of_;
  std::filesystem::path path_;  // for messages
};

}  // namespace lull::queue
