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

/// How far a job has come, on the host: with the task's arrays its whole state. Of a job that no block works on.
struct job_image {
  cursor words{};  // its addresses and ring counts mean nothing here
  std::vector<ring_group::cell> handed_back{};
};

/// An image as words of a checkpoint has so many of them, whatever is in it.
inline constexpr std::size_t max_saved_chunks = 4096;
inline constexpr std::size_t image_words = 10 + 2 * max_saved_chunks;

/// (image_words,). `name`: of the job, for messages. Throws limit_error where more chunks are handed back than fit.
std::vector<std::uint64_t> words_of(job_image const& image, std::string const& name);
/// The image that `words_of` gave, put into `into`, whose grain stays. `steps`: of a round of the task. `capacity`:
/// chunks that can be handed back on this machine. The words come from a file, so none of them is trusted. Throws
/// usage_error for what `words_of` never gives, limit_error where `capacity` is too small; `into` is unchanged then.
void read_words(std::span<std::uint64_t const> words, std::uint32_t steps, std::uint64_t capacity,
                std::string const& name, job_image& into);

}  // namespace lull::detail
