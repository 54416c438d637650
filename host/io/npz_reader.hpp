// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <lull/host/io/npz_layout.hpp>

namespace lull {

/// Reads .npz files of npz_writer, and no others: everything in such a file but the data has one possible form, and the
/// reader writes it again and compares, byte by byte. So a changed bit is found wherever it is, and no field of a
/// foreign file is believed.
///
/// Errors: input_error with the file's name and the reason for a file that cannot be read, is no regular file, is cut
/// short, is over the limit, holds two arrays of one name, or is damaged or foreign in any other way; usage_error for
/// arrays that it does not hold. Memory: the directory's, about 200 bytes an array. Different threads may read at once.
class npz_reader {
 public:
  /// Opens the file and checks all of it but the data. `limit_bytes` is the largest file that is looked into.
  npz_reader(std::string path, std::uint64_t limit_bytes);
  ~npz_reader();
  npz_reader(npz_reader const&) = delete;
  npz_reader& operator=(npz_reader const&) = delete;

  std::string const& path() const noexcept { return path_; }
  std::size_t size() const noexcept { return members_.size(); }
  /// In the order in which they were added.
  npz_array const& array(std::size_t at) const { return members_.at(at).array; }
  /// Null if there is none of that name.
  npz_array const* find(std::string_view name) const noexcept;

  /// The whole of an array. Once it returns, the data is as it was written; if it throws, `data` holds whatever was
  /// read.
  void read_into(std::string_view name, std::span<std::byte> data) const;
  /// The same through `buffer`, which has at least one byte: take(offset, piece) is called with pieces of up to its
  /// size, in order. The checksum is known after the last one only, so what was taken counts once this returns.
  void read_into(std::string_view name, std::span<std::byte> buffer,
                 std::function<void(std::uint64_t offset, std::span<std::byte const> piece)> const& take) const;

 private:
  void read_members(std::uint64_t file_bytes);
  detail::npz_directory find_directory(std::uint64_t file_bytes) const;
  detail::npz_member read_member(std::string_view entry, std::uint64_t offset, std::uint64_t end) const;
  std::string bytes_at(std::uint64_t offset, std::size_t count) const;
  void fill(std::uint64_t offset, std::span<std::byte> bytes) const;
  detail::npz_member const& member(std::string_view name) const;
  [[noreturn]] void refuse(std::string const& reason) const;
  [[noreturn]] void refuse_as_damaged(std::string const& place) const;

  std::string path_;
  int descriptor_ = -1;
  std::vector<detail::npz_member> members_;
};

}  // namespace lull
