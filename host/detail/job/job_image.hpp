// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include <lull/device/cursor.hpp>
#include <lull/device/ring.hpp>

namespace lull::detail {

/// A job's progress on the host; with the task's arrays it is the whole state. No block may be working on the job.
struct job_image {
  cursor words{};  // its addresses and ring counts are not valid here
  std::vector<ring_group::cell> handed_back{};
};

/// An image as words of a checkpoint has this many chunks, whatever it holds.
inline constexpr std::size_t max_saved_chunks = 4096;
inline constexpr std::size_t image_words = 10 + 2 * max_saved_chunks;

/// Returns (image_words,). `name`: of the job, for messages. Throws limit_error if more chunks are handed back than
/// fit.
std::vector<std::uint64_t> words_of(job_image const& image, std::string const& name);
/// Reads an image from what `words_of` returned into `into`, whose grain stays. `steps`: of a round of the task.
/// `capacity`: chunks that can be handed back on this machine. The words come from a file, so each is checked. Throws
/// usage_error for words that `words_of` never returns, and limit_error if `capacity` is too small; then `into` is
/// unchanged.
void read_words(std::span<std::uint64_t const> words, std::uint32_t steps, std::uint64_t capacity,
                std::string const& name, job_image& into);

}  // namespace lull::detail
