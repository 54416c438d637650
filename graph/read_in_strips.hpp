// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <lull/graph/parallel.hpp>
#include <lull/host/executor.hpp>
#include <span>
#include <vector>

namespace lull::detail {

inline constexpr std::uint64_t strip_words = std::uint64_t{1} << 20;
inline constexpr std::uint64_t strip_parts = 16;    // of a strip, for threads to take
inline constexpr unsigned max_reading_threads = 4;  // results are read beside a trainer, whose threads need cores, too

/// Reads `from`, (rows, width) words in the machine's memory, strip by strip; `width` is 1 at least. So of the host's
/// memory it takes `strip_words` words, or one row. The caller's thread reads; several threads at once call
/// work(first, words) for some rows from `first` on, each row in one call. Throws what `device_memory::read` and
/// `work` throw.
template <class T, class Work>
void read_in_strips(device_memory& memory, T const* from, std::uint64_t rows, std::uint64_t width, Work const& work) {
  std::uint64_t const strip = std::max<std::uint64_t>(strip_words / width, 1);  // rows
  std::vector<T> words(std::min(strip, rows) * width);
  unsigned const threads = std::min(set_up_threads(0), max_reading_threads);
  for (std::uint64_t begin = 0; begin < rows; begin += strip) {
    std::uint64_t const here = std::min(strip, rows - begin);
    memory.read(words.data(), from + begin * width, here * width * sizeof(T));
    std::uint64_t const part = (here + strip_parts - 1) / strip_parts;
    for_each_part((here + part - 1) / part, threads, [&](std::size_t at) {
      std::uint64_t const first = at * part;
      std::uint64_t const count = std::min(part, here - first);
      work(begin + first, std::span<T const>{words}.subspan(first * width, count * width));
    });
  }
}

}  // namespace lull::detail
