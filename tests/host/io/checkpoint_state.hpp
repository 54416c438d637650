// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstring>
#include <string>

#include <lull/host/io/checkpoint_file.hpp>
#include <lull/tests/host/io/safetensors_file.hpp>

namespace lull::test {

inline checkpoint_description const mlp{
    .task = "mlp",
    .settings = "mlp:hidden=256,data=\"Müller's digits.csv\"",
    .inputs = "0123456789abcdef",
    .cursor_words = 4,
    .arrays = {{"weights", tensor_type::f32, {3, 5}},
               {"moments", tensor_type::bf16, {30}},
               {"none", tensor_type::u64, {0}},
               {"labels", tensor_type::u32, {1, 2, 2}},
               {"loss", tensor_type::f64, {}},
               {"progress", tensor_type::u8, {2, 7}}},
};
inline std::vector<std::uint64_t> const cursor{1, ~0ULL, 3, 1ULL << 63};

// Arrays in memory, passed piece by piece as a device's would be.
struct state {
  std::vector<std::string> arrays;

  explicit state(checkpoint_description const& description, char first = 'a') {
    for (tensor_info const& array : description.arrays) {
      arrays.emplace_back(static_cast<std::size_t>(array.bytes()), '\0');
      for (std::size_t at = 0; at < arrays.back().size(); ++at) arrays.back()[at] = static_cast<char>(first + at % 26);
    }
  }
  checkpoint_source source() const {
    return [this](std::size_t array, std::uint64_t offset, std::span<std::byte> piece) {
      std::memcpy(piece.data(), arrays.at(array).data() + offset, piece.size());
    };
  }
  checkpoint_sink sink() {
    return [this](std::size_t array, std::uint64_t offset, std::span<std::byte const> piece) {
      std::memcpy(arrays.at(array).data() + offset, piece.data(), piece.size());
    };
  }
};

inline void write(std::string const& path, checkpoint_description const& description, state const& from,
                  std::size_t buffer_bytes = 64) {
  std::vector<std::byte> buffer(buffer_bytes);
  std::vector<std::uint64_t> words(description.cursor_words);
  std::copy_n(cursor.begin(), std::min(words.size(), cursor.size()), words.begin());
  write_checkpoint(path, description, words, from.source(), buffer);
}

inline state read(std::string const& path, checkpoint_description const& expected, std::size_t buffer_bytes = 64) {
  std::vector<std::byte> buffer(buffer_bytes);
  state into(expected, '0');
  EXPECT_EQ(read_checkpoint(path, expected, into.sink(), buffer), cursor);
  return into;
}

}  // namespace lull::test
