// SPDX-License-Identifier: Apache-2.0
#include <lull/host/threads/early_word.hpp>

#include <deque>
#include <mutex>
#include <vector>

#include <lull/device/threads_world.hpp>
#include <lull/host/threads/stream.hpp>

namespace lull::detail {

namespace {

struct alignas(128) word_line {
  std::uint32_t word = 0;
};

/// They live as long as the process, so that a peer which comes late writes into nothing else.
struct all_words {
  std::mutex mutex;
  std::deque<word_line> lines;
  std::vector<std::uint32_t*> free;
};

all_words& words() {
  static auto* const made = new all_words;
  return *made;
}

}  // namespace

early_word take_early_word_on_threads() {
  all_words& all = words();
  std::lock_guard const lock{all.mutex};
  if (all.free.empty()) all.free.push_back(&all.lines.emplace_back().word);
  std::uint32_t* const word = all.free.back();
  all.free.pop_back();
  threads_world::store<order::relaxed, scope::system>(*word, 0U);
  return {word, {.address = reinterpret_cast<std::uint64_t>(word)}};
}

void give_back_early_word(std::uint32_t* word) noexcept {
  all_words& all = words();
  std::lock_guard const lock{all.mutex};
  all.free.push_back(word);
}

void close_early_on_threads(stream_handle stream, std::uint32_t* word) {
  static_cast<threads_stream*>(stream)->enqueue(
      [word] { threads_world::store<order::relaxed, scope::system>(*word, 1U); });
}

}  // namespace lull::detail
