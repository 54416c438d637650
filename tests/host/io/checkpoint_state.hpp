// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstring>
#include <string>

#include <lull/host/io/checkpoint_file.hpp>
#include <lull/tests/host/io/npz_file.hpp>

namespace lull::test {

inline checkpoint_description const mlp{
    .task = "mlp",
    .settings = "mlp:hidden=256,data=\"Müller's digits.csv\"",
    .inputs = "0123456789abcdef",
    .cursor_words = 4,
    .arrays = {{"weights", npz_type::f4, {3, 5}},
               {"moments", npz_type::u2, {30}},
               {"none", npz_type::u8, {0}},
               {"labels", npz_type::u4, {1, 2, 2}},
               {"loss", npz_type::f8, {}},
               {"progress", npz_type::u1, {2, 7}}},
};
inline std::vector<std::uint64_t> const cursor{1, ~0ULL, 3, 1ULL << 63};

// Arrays in memory, handed over piece by piece as a device's would be.
struct state {
  std::vector<std::string> arrays;

  explicit state(checkpoint_description const& description, char first = 'a') {
    for (npz_array const& array : description.arrays) {
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
