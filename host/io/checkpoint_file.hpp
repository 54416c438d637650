// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include <lull/host/io/safetensors_writer.hpp>

namespace lull {

/// The version that is written, and the only one that is read: that of the file's tensors and metadata, and of the
/// cursor's layout. Versions 1 and 2 were .npz files.
inline constexpr std::uint64_t checkpoint_version = 3;

/// What a checkpoint is of. One can be resumed from only where all of this is the same.
struct checkpoint_description {
  std::string task;                 // the type's name: "mlp"
  std::string settings;             // what the job was asked for, as format_task writes it without files; any bytes
  std::string inputs;               // fingerprint of the files read, 1 to 64 lower-case hexadecimal digits
  std::uint64_t cursor_words = 0;   // 64-bit words of the cursor
  std::vector<tensor_info> arrays;  // the task's state, as it is; names beginning with "lull." are taken
};

/// Fills `piece` with the bytes of array number `array` from `offset` on.
using checkpoint_source = tensor_source;
/// Takes what a checkpoint_source gave, in pieces that may be others.
using checkpoint_sink = std::function<void(std::size_t array, std::uint64_t offset, std::span<std::byte const> piece)>;

/// Writes a checkpoint: a safetensors file of the cursor (`lull.cursor`, U64) and the arrays, of their own types and
/// shapes. The description is in its metadata: `lull.checkpoint` (the version), `lull.task`, `lull.settings` and
/// `lull.inputs`. The arrays go through `buffer` (at least one byte; pinned memory where they come from a device), in
/// the order and as often as write_safetensors says. An older file of that name stays until the new one is on the disk
/// and put in its place; temporary files that killed processes left beside it are removed first.
///
/// Errors: usage_error for a description that cannot be written, device_error for what the system refuses, and whatever
/// `source` throws; the old file stays then. Blocks for as long as the disk and `source` do.
void write_checkpoint(std::filesystem::path const& path, checkpoint_description const& description,
                      std::span<std::uint64_t const> cursor, checkpoint_source const& source,
                      std::span<std::byte> buffer);

/// Reads a checkpoint of exactly `expected` and returns its cursor. Nothing is handed to `sink` before all but the
/// arrays' data is known to be as it must be; after an error in that data the arrays hold junk.
///
/// Errors: input_error that says what was expected, what was found and what to do, and whatever `sink` throws.
std::vector<std::uint64_t> read_checkpoint(std::filesystem::path const& path, checkpoint_description const& expected,
                                           checkpoint_sink const& sink, std::span<std::byte> buffer);

}  // namespace lull
