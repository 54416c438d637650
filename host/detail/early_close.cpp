// SPDX-License-Identifier: Apache-2.0
#include <lull/host/early_close.hpp>

#include <random>

#include <unistd.h>

#include <lull/host/cuda/early_word.hpp>
#include <lull/host/detail/early_words.hpp>
#include <lull/host/error.hpp>
#include <lull/host/threads/early_word.hpp>

namespace lull {

std::uint64_t detail::process_in_handles() {
  static std::uint64_t const drawn = [] {
    std::random_device device;
    return std::uint64_t{device()} << 32 | device();
  }();
  std::uint64_t const own = drawn ^ static_cast<std::uint64_t>(getpid());
  return own != 0 ? own : 1;
}

early_word detail::early_words::make(std::string_view name) {
  std::lock_guard const lock{mutex_};
  if (auto const known = by_name_.find(name); known != by_name_.end()) return known->second;
  if (by_name_.size() == max_sites)
    throw limit_error{"peers close bubbles of " + std::to_string(max_sites) + " sites at the most early"};
  early_word made = machine_.take_early_word();
  made.handle.process = process_in_handles();
  return by_name_.emplace(name, made).first->second;
}

early_close::early_close(early_close_handle const& of) : on_gpu_(of.device >= 0) {
  if (of.process == 0)
    throw usage_error{"this early_close_handle names nothing: take one from runtime::early_close_of"};
  bool const here = of.process == detail::process_in_handles();
  if (!on_gpu_ && !here)
    throw usage_error{"this early_close_handle is of CPU threads of another process, which cannot be reached"};
  word_ = on_gpu_ ? detail::map_early_word(of, here) : reinterpret_cast<std::uint32_t*>(of.address);
}

void early_close::send(void* stream) const {
  if (on_gpu_) return detail::close_early(stream, word_);
  detail::close_early_on_threads(stream, word_);
}

}  // namespace lull
