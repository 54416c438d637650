// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <span>
#include <vector>

#include <lull/host/io/safetensors_header.hpp>

namespace lull {

/// Fills `piece` with the bytes of tensor number `tensor` from `offset` on.
using tensor_source = std::function<void(std::size_t tensor, std::uint64_t offset, std::span<std::byte> piece)>;

/// Writes a safetensors file, which appears whole or not at all (see atomic_file). Larger elements come first, so that
/// all are aligned where a program maps the file; the same tensors give the same bytes.
///
/// Calls `source` for each tensor, front to back, with pieces of up to the size of `buffer`. A file that cannot be
/// replaced, such as a pipe, takes each byte once, and its checksums come first: then `source` is called twice for all.
///
/// Errors: usage_error for an empty buffer, an invalid tensor (tensor_fault), a repeated name, a header over 16 MiB and
/// metadata `lull.crc32`; device_error for what the system refuses; whatever `source` throws. Blocks for as long as the
/// disk and `source` do.
void write_safetensors(std::filesystem::path const& path, std::vector<tensor_info> const& tensors,
                       safetensors_metadata const& metadata, tensor_source const& source, std::span<std::byte> buffer);

/// A tensor in memory.
struct tensor_view {
  tensor_info info;
  std::span<std::byte const> data;
};
/// Writes tensors that are in memory. Also throws usage_error if data and shape differ in size.
void write_safetensors(std::filesystem::path const& path, std::vector<tensor_view> const& tensors,
                       safetensors_metadata const& metadata = {});

}  // namespace lull
