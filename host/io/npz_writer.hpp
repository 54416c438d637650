// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <unordered_set>
#include <vector>

#include <lull/host/io/atomic_file.hpp>
#include <lull/host/io/npz_layout.hpp>

namespace lull {

/// Writes arrays into an .npz file that numpy.load opens: a zip archive of .npy files, neither compressed nor dated, so
/// that the same arrays give the same bytes. In one go, front to back, in pieces of any size: nothing of an array need
/// be in memory but the piece at hand. The file appears whole or not at all (see atomic_file).
///
/// Errors: usage_error for a name or a shape that cannot be (npz_fault), a name twice, more than 65,534 arrays, and for
/// more or fewer bytes than the shape says; device_error for what the system refuses. Not thread-safe. Blocks for as
/// long as the disk does.
class npz_writer {
 public:
  /// From `zip64_from` bytes on, a size or an offset takes the 64-bit fields of the zip format; at most 2^32 - 1. Lower
  /// in tests.
  explicit npz_writer(std::filesystem::path path, std::uint64_t zip64_from = detail::zip32_bytes);

  /// Begins an array; the one before must be complete.
  void add(npz_array array);
  /// The next bytes of the array that was added last.
  void write(std::span<std::byte const> piece);
  /// All at once.
  void add(npz_array array, std::span<std::byte const> data);
  /// Writes the directory, flushes to the disk and puts the file in place. At most once, and nothing may be written
  /// after it.
  void commit();

 private:
  void close_array();
  void put(std::string const& bytes);
  [[noreturn]] void refuse(npz_array const& array, std::string const& fault) const;

  atomic_file file_;
  std::uint64_t zip64_from_;
  std::vector<detail::npz_member> members_;
  std::unordered_set<std::string> names_;
  std::uint64_t offset_ = 0;  // of the next byte of the file
  std::uint64_t left_ = 0;    // bytes of the last array to come
  bool open_ = false;         // the last array's closing is still to be written
};

}  // namespace lull
