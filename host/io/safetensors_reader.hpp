// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <lull/host/io/safetensors_header.hpp>

namespace lull {

/// Reads safetensors files of Lull and of other programs. In Lull's it finds any damage by their checksums; others have
/// none.
///
/// Throws input_error, with the file's name, the reason and what to do, for a file that cannot be read, is not a
/// regular file, is cut short, over the limit, damaged, or not a safetensors file; usage_error for tensors that it does
/// not hold. Needs memory for the header, up to 16 MiB. Several threads may read at once.
class safetensors_reader {
 public:
  /// Opens the file and checks all of it but the data. `limit_bytes` is the largest file that it opens. `advice` ends
  /// each message about the contents, for example "; copy it again".
  safetensors_reader(std::string path, std::uint64_t limit_bytes, std::string advice = {});
  ~safetensors_reader();
  safetensors_reader(safetensors_reader const&) = delete;
  safetensors_reader& operator=(safetensors_reader const&) = delete;

  std::string const& path() const noexcept { return path_; }
  /// Returns the tensors in the order of their data.
  std::vector<tensor_info> const& tensors() const noexcept { return header_.tensors; }
  /// Returns null if there is none of that name.
  tensor_info const* find(std::string_view name) const noexcept;
  safetensors_metadata const& metadata() const noexcept { return header_.metadata; }
  /// Returns whether the file has Lull's checksums. If so, damage in a header or a tensor is an error.
  bool has_checksums() const noexcept { return header_.has_checksums; }

  /// Reads a whole tensor. If it throws, `data` holds whatever was read.
  void read_into(std::string_view name, std::span<std::byte> data) const;
  /// Reads a tensor through `buffer`, which has at least one byte: calls take(offset, piece) with pieces of up to its
  /// size, in order. The checksum is known after the last piece only, so what was taken counts once this returns.
  void read_into(std::string_view name, std::span<std::byte> buffer,
                 std::function<void(std::uint64_t offset, std::span<std::byte const> piece)> const& take) const;

 private:
  void read_header(std::uint64_t file_bytes);
  std::string bytes_at(std::uint64_t offset, std::size_t count) const;
  void fill(std::uint64_t offset, std::span<std::byte> bytes) const;
  std::size_t index_of(std::string_view name) const;
  [[noreturn]] void refuse(std::string const& reason) const;

  std::string path_;
  std::string advice_;
  int descriptor_ = -1;
  detail::safetensors_header header_;
  std::vector<std::uint64_t> offsets_;  // (tensors,) of their data in the file
};

}  // namespace lull
