// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <filesystem>
#include <functional>
#include <optional>

namespace lull::queue {

/// Copies a spool, while agents work and users submit, to a folder that is not there yet: a spool again. It holds every
/// job whose submission had returned before the call, as it was at one moment of the call, with its document, its
/// history, its logs and what it had saved; of agents nothing. The copy is there whole and on the disk, or not at all;
/// a process that is killed may leave a hidden name. Returns how many jobs it holds; nothing where `is_stopped`
/// returned true before it was complete. Errors: usage_error where `to` is there, or its own folder is not; as of
/// spool.
std::optional<std::size_t> back_up_spool(std::filesystem::path const& from, std::filesystem::path const& to,
                                         std::function<bool()> const& is_stopped);

}  // namespace lull::queue
