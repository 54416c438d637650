// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <filesystem>
#include <string>
#include <string_view>

namespace lull {

/// A file that appears whole or not at all. It is written under a temporary name in the same folder, then put in place
/// by commit(). Until then, and for ever without commit(), an older file of that name stays unchanged.
///
/// A symbolic link is followed: the file that it names is replaced. What cannot be replaced is written directly: a
/// pipe, a terminal, anything under /dev except /dev/shm, or under /proc, such as /dev/stdout.
///
/// Errors: usage_error if the folder is missing or the name cannot be a file; device_error for everything that the
/// system refuses later (disk full, no permission). Not thread-safe. Blocks for as long as the disk does.
class atomic_file {
 public:
  /// Creates the temporary file, so that an unwritable place is known before the work is done.
  explicit atomic_file(std::filesystem::path path);
  /// Without commit(): removes the temporary file.
  ~atomic_file();
  atomic_file(atomic_file const&) = delete;
  atomic_file& operator=(atomic_file const&) = delete;

  void write(std::string_view text);
  /// Writes over the file's first bytes; only commit() may follow. Throws usage_error for what is written_directly().
  void overwrite_begin(std::string_view text);
  /// Flushes to the disk (fsync) and renames. Call it at most once, and write nothing afterwards.
  void commit();

  /// Returns whether nothing can be replaced or written over, as in a pipe: each byte is written once.
  bool written_directly() const noexcept { return written_directly_; }

  /// Returns the path as it was given.
  std::filesystem::path const& path() const noexcept { return path_; }

 private:
  void open_temporary();
  void flush();
  void put(std::string_view text);
  [[noreturn]] void fail(int code, char const* call);  // discards, and throws device_error
  void discard() noexcept;

  std::filesystem::path path_;
  std::filesystem::path target_;     // path_ with links resolved
  std::filesystem::path temporary_;  // empty once it is in place or removed, or where there is none
  bool written_directly_ = false;
  int descriptor_ = -1;
  std::string buffer_;
};

/// Removes the temporary files of `path` that killed processes left in its folder; files that are being written, here
/// or elsewhere, stay. What cannot be removed stays, without an error. For large files that are written repeatedly:
/// call it before the atomic_file is made, and in one process at a time.
void remove_leftovers(std::filesystem::path const& path) noexcept;

/// Checks whether the file could be written, before the work whose result goes there; leaves nothing on the disk. Skips
/// a pipe and the like, because its reader would take this for the end. `option` is what a message puts before the
/// name: "--report ". Errors: usage_error with the reason and what to do.
void check_writable(std::string_view option, std::filesystem::path const& path);

/// Writes the whole file at once.
void write_file(std::filesystem::path const& path, std::string_view text);

/// Reads the whole file at once. Errors: input_error if it cannot be read or is larger than `limit_bytes`.
std::string read_file(std::filesystem::path const& path, std::size_t limit_bytes);

}  // namespace lull
