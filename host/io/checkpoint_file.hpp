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

/// The only version that is written and read: of the file's tensors and metadata, and of the cursor's layout. Versions
/// 1 and 2 were .npz files.
inline constexpr std::uint64_t checkpoint_version = 3;

/// Identifies what a checkpoint is of. A job resumes only from one in which all of this is equal.
struct checkpoint_description {
  std::string task;                 // the type's name: "mlp"
  std::string settings;             // the requested settings, as format_task writes them without files; any bytes
  std::string inputs;               // fingerprint of the files read, 1 to 64 lower-case hexadecimal digits
  std::uint64_t cursor_words = 0;   // 64-bit words of the cursor
  std::vector<tensor_info> arrays;  // the task's state; names beginning with "lull." are reserved
};

/// Fills `piece` with the bytes of array number `array` from `offset` on.
using checkpoint_source = tensor_source;
/// Takes what a checkpoint_source gave, possibly in other pieces.
using checkpoint_sink = std::function<void(std::size_t array, std::uint64_t offset, std::span<std::byte const> piece)>;

/// Writes a checkpoint: a safetensors file of the cursor (`lull.cursor`, U64) and the arrays, with their own types and
/// shapes. The description is in its metadata: `lull.checkpoint` (the version), `lull.task`, `lull.settings` and
/// `lull.inputs`. The arrays pass through `buffer` (at least one byte; pinned memory if they come from a device), in
/// the order and as often as write_safetensors says. An older file of that name stays until the new one is on the disk
/// and replaces it. Removes first the temporary files that killed processes left there.
///
/// Errors: usage_error for a description that cannot be written, device_error for what the system refuses, and whatever
/// `source` throws; then the old file stays. Blocks for as long as the disk and `source` do.
void write_checkpoint(std::filesystem::path const& path, checkpoint_description const& description,
                      std::span<std::uint64_t const> cursor, checkpoint_source const& source,
                      std::span<std::byte> buffer);

/// Reads a checkpoint of exactly `expected` and returns its cursor. `sink` receives nothing before all but the arrays'
/// data is checked; after an error in that data the arrays hold junk.
///
/// Errors: input_error that says what was expected, what was found and what to do, and whatever `sink` throws.
std::vector<std::uint64_t> read_checkpoint(std::filesystem::path const& path, checkpoint_description const& expected,
                                           checkpoint_sink const& sink, std::span<std::byte> buffer);

}  // namespace lull
