// SPDX-License-Identifier: Apache-2.0
#include <lull/host/detail/job/job_image.hpp>

#include <algorithm>

#include <lull/device/position.hpp>
#include <lull/host/error.hpp>

namespace lull::detail {

namespace {

constexpr std::size_t head_words = image_words - 2 * max_saved_chunks;

/// Returns whether the words are of a job with this many steps a round, and no block in it.
bool at_rest(std::span<std::uint64_t const> saved, std::uint32_t steps) {
  if (saved.size() != image_words || saved[4] >= steps || saved[7] >> 32 != 0) return false;
  tagged const ticket{saved[0]};
  std::uint64_t const done = saved[1];
  tagged const limit{saved[2]};
  tagged_state const now{static_cast<std::uint32_t>(saved[7])};
  std::uint64_t const handed_back = saved[9];
  if (now.state() == phase_state::opening || now.state() > phase_state::failed) return false;
  // The block that opens a phase writes one tag into all three. With different tags no block could open the next phase,
  // and all would wait for ever.
  if (now.tag() != limit.tag() || ticket.tag() != limit.tag()) return false;
  std::uint64_t const claimed = std::min(ticket.item(), limit.item());
  // Between two phases all items were claimed and added up: items left over would run again.
  if (now.state() != phase_state::open) return claimed == limit.item() && done == 0 && handed_back == 0;
  if (done > limit.item() || handed_back > max_saved_chunks) return false;
  std::uint64_t left = limit.item() - claimed;
  for (std::uint64_t at = 0; at < handed_back; ++at) {
    tagged const begin{saved[head_words + 2 * at]};
    std::uint64_t const count = saved[head_words + 1 + 2 * at];
    if (begin.tag() != limit.tag() || count == 0 || count >> 32 != 0 || count > claimed ||
        begin.item() > claimed - count)
      return false;
    left += count;
  }
  return done + left == limit.item();  // otherwise the phase would have no end, or end too soon
}

}  // namespace

std::vector<std::uint64_t> words_of(job_image const& image, std::string const& name) {
  cursor const& now = image.words;
  if (image.handed_back.size() > max_saved_chunks)
    throw limit_error{"job '" + name + "': it has too many handed-back chunks to save: try again later"};
  std::vector<std::uint64_t> saved{now.ticket, now.done,  now.limit, now.round, now.step,
                                   now.phases, now.items, now.state, now.fed,   image.handed_back.size()};
  for (ring_group::cell const& each : image.handed_back) saved.insert(saved.end(), {each.tag_and_begin, each.count});
  saved.resize(image_words);
  return saved;
}

void read_words(std::span<std::uint64_t const> words, std::uint32_t steps, std::uint64_t capacity,
                std::string const& name, job_image& into) {
  if (!at_rest(words, steps))
    throw usage_error{"job '" + name + "': the checkpoint is damaged or not Lull's: delete it and start again"};
  std::uint64_t const handed_back = words[9];
  if (handed_back > capacity) {
    throw limit_error{
        "job '" + name +
        "': the checkpoint has more handed-back chunks than this machine has room for: resume on a larger one"};
  }
  job_image read;
  for (std::uint64_t at = 0; at < handed_back; ++at)
    read.handed_back.push_back({words[head_words + 2 * at], words[head_words + 1 + 2 * at]});
  read.words.grain = into.words.grain;
  read.words.ticket = words[0];
  read.words.done = words[1];
  read.words.limit = words[2];
  read.words.round = words[3];
  read.words.step = static_cast<std::uint32_t>(words[4]);
  read.words.phases = words[5];
  read.words.items = words[6];
  read.words.state = static_cast<std::uint32_t>(words[7]);
  read.words.fed = words[8];
  into = std::move(read);
}

}  // namespace lull::detail
