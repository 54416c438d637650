// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include <lull/tasks/images/resize_pixel.hpp>

namespace lull {

/// How a tile of a result is made: the columns above it are filtered into team storage, (rows, columns it needs, channels), and the rows
/// of that into the result. Columns first, for along them every sample is alike whatever its channel: threads take eight neighbours
/// each, whole words, for two rows of the result, which have most of what they are made of in common. What lies between never goes
/// through global memory.
struct resize_tile {
  static constexpr std::size_t storage_bytes = 28 * 1024;  // four teams fit an SM's 132 KiB
  static constexpr std::uint32_t samples_at_once = 8;      // of a column filter's thread, side by side
  static constexpr std::uint32_t rows_at_once = 2;         // of a thread's, of both filters
  static constexpr std::uint32_t first_multiple = 8;       // of the column that a tile's storage begins with

  /// Where a sample stands among those of a row in storage. Now and then the room of four stays free, so that fewer threads whose
  /// pixels are an even number apart meet in a bank, and what a thread of the column filter has is aligned.
  LULL_HD static constexpr std::uint32_t place(std::uint32_t sample, std::uint32_t channels) noexcept {
    return sample + sample / (channels == 3 ? 96 : 32) * 4;
  }

  /// Of storage for a row of so many columns, as picture::row_floats.
  static constexpr std::uint32_t row_floats(std::uint32_t columns, std::uint32_t channels) noexcept {
    std::uint32_t const pixels = (columns + first_multiple - 1) / first_multiple * first_multiple;
    return (place(pixels * channels, channels) + 3) / 4 * 4;
  }
};

namespace detail {

/// As std::memcpy, in one go: `Align` says what the other side is aligned to.
template <std::size_t Bytes, std::size_t Align>
LULL_HD void load_aligned(void* to, void const* from) noexcept {
  std::memcpy(to, __builtin_assume_aligned(from, Align), Bytes);
}
template <std::size_t Bytes, std::size_t Align>
LULL_HD void store_aligned(void* to, void const* from) noexcept {
  std::memcpy(__builtin_assume_aligned(to, Align), from, Bytes);
}

/// One tile, Collective.
template <int Channels, class Sample>
class tile_work {
 public:
  LULL_HD tile_work(picture const& of, std::uint32_t tile) noexcept : of_(of) {
    std::uint32_t const tiles_across = (of.width + of.tile_width - 1) / of.tile_width;
    x_ = tile % tiles_across * of.tile_width;
    y_ = tile / tiles_across * of.tile_height;
    columns_ = of.width - x_ < of.tile_width ? of.width - x_ : of.tile_width;
    rows_ = of.height - y_ < of.tile_height ? of.height - y_ : of.tile_height;
    taps const last = of.across[x_ + columns_ - 1];
    first_ = of.across[x_].first / resize_tile::first_multiple * resize_tile::first_multiple;
    in_columns_ = last.first + last.count - first_;
  }

  LULL_HD void run(logo_ref const& logo, auto const& team) const noexcept {
    auto* const storage = static_cast<float*>(team.shared());
    team.sync();  // what an earlier tile left there has been read
    std::uint32_t const row_bytes = of_.in_width * static_cast<std::uint32_t>(Channels * sizeof(Sample));
    if (row_bytes % group_bytes == 0) {
      filter_columns<true>(storage, row_bytes, team);
    } else {
      filter_columns<false>(storage, row_bytes, team);
    }
    team.sync();
    filter_rows(storage, logo, team);
  }

 private:
  static constexpr std::uint32_t at_once = resize_tile::samples_at_once;
  static constexpr std::uint32_t rows_at_once = resize_tile::rows_at_once;
  static constexpr std::uint32_t group_bytes = at_once * sizeof(Sample);
  static constexpr std::uint32_t words = group_bytes / 4;
  static constexpr std::uint32_t samples_a_word = 4 / sizeof(Sample);
  static constexpr bool has_alpha = Channels % 2 == 0;

  /// The integer in the low 23 bits of `bits`, as a float. Converting is slow on a GPU (a quarter of a logical operation's rate), so
  /// the bits become the fraction of a float between 2^23 and 2^24, from which 2^23 is taken; all of it exact.
  LULL_HD static float fraction(std::uint32_t bits) noexcept {
    bits |= 0x4b00'0000U;
    float made;
    std::memcpy(&made, &bits, sizeof made);
    return made;
  }

  LULL_HD static void unpack(std::uint32_t word, float* to) noexcept {
    constexpr float base = 8388608.0f;
    if constexpr (sizeof(Sample) == 1) {
      std::uint32_t const high = word >> 16;
      to[0] = fraction(word & 0xffU) - base;
      to[1] = fraction(word & 0xff00U) * (1.0f / 256) - base / 256;  // where it stands: no shift
      to[2] = fraction(high & 0xffU) - base;
      to[3] = fraction(high & 0xff00U) * (1.0f / 256) - base / 256;
    } else {
      to[0] = fraction(word & 0xffffU) - base;
      to[1] = fraction(word >> 16) - base;
    }
  }

  /// Eight neighbours, colours multiplied by alpha. Aligned to all of them, or anyhow.
  template <bool Aligned>
  LULL_HD static void load(unsigned char const* from, float (&to)[at_once]) noexcept {
    std::uint32_t word[words + 1];
    if constexpr (Aligned) {
      load_aligned<group_bytes, group_bytes>(word, from);
    } else {
      auto const off = static_cast<std::uint32_t>(reinterpret_cast<std::uintptr_t>(from) % 4);
      for (std::uint32_t w = 0; w <= words; ++w) load_aligned<4, 4>(&word[w], from - off + 4 * w);
      for (std::uint32_t w = 0; w < words; ++w) {
        word[w] = static_cast<std::uint32_t>((std::uint64_t{word[w + 1]} << 32 | word[w]) >> (8 * off));
      }
    }
    for (std::uint32_t w = 0; w < words; ++w) unpack(word[w], to + w * samples_a_word);
    if constexpr (has_alpha) {
      for (std::uint32_t k = 0; k < at_once; ++k) {
        std::uint32_t const alpha = k / Channels * Channels + Channels - 1;
        if (k != alpha) to[k] *= to[alpha] * (1 / whole<Sample>);
      }
    }
  }

  template <bool Aligned>
  LULL_HD void filter_columns(float* storage, std::uint32_t row_bytes, auto const& team) const noexcept {
    std::uint32_t const groups = (in_columns_ * Channels + at_once - 1) / at_once;
    std::uint32_t const units = groups * ((rows_ + rows_at_once - 1) / rows_at_once);
    auto const size = static_cast<std::uint32_t>(team.size());
    for (auto unit = static_cast<std::uint32_t>(team.rank()); unit < units; unit += size) {
      std::uint32_t const both = unit / groups;
      std::uint32_t const group = unit - both * groups;
      taps const t = of_.down[y_ / rows_at_once + both];
      float const* weight = of_.weights + t.weights;
      auto const* from = static_cast<unsigned char const*>(of_.in) + std::size_t{t.first} * row_bytes +
                         std::size_t{first_} * (Channels * sizeof(Sample)) + group * group_bytes;
      float upper[at_once] = {};
      float lower[at_once] = {};
      for (std::uint32_t i = 0; i < t.count; ++i, from += row_bytes, weight += rows_at_once) {
        float values[at_once];
        load<Aligned>(from, values);
        float by[rows_at_once];
        load_aligned<sizeof by, sizeof by>(by, weight);
        for (std::uint32_t k = 0; k < at_once; ++k) {
          upper[k] += by[0] * values[k];
          lower[k] += by[1] * values[k];
        }
      }
      // all eight lie between two rooms that stay free
      float* const to = storage + both * rows_at_once * of_.row_floats + resize_tile::place(group * at_once, Channels);
      store_aligned<sizeof upper, 16>(to, upper);
      store_aligned<sizeof lower, 16>(to + of_.row_floats, lower);
    }
  }

  LULL_HD void filter_rows(float const* storage, logo_ref const& logo, auto const& team) const noexcept {
    std::uint32_t const units = (rows_ + rows_at_once - 1) / rows_at_once * columns_;
    auto const size = static_cast<std::uint32_t>(team.size());
    for (auto unit = static_cast<std::uint32_t>(team.rank()); unit < units; unit += size) {
      std::uint32_t const row = unit / columns_ * rows_at_once;
      std::uint32_t const x = x_ + unit % columns_;
      taps const t = of_.across[x];
      float const* weight = of_.weights + t.weights;
      float const* const from = storage + row * of_.row_floats;
      pixel_sum upper{};
      pixel_sum lower{};
      std::uint32_t const begin = t.first - first_;
      for (std::uint32_t i = 0; i < t.count; ++i, weight += of_.width) {
        float const* const at = from + resize_tile::place((begin + i) * Channels, Channels);
        add(upper, *weight, at);
        add(lower, *weight, at + of_.row_floats);
      }
      store_pixel<Channels, Sample>(of_, logo, x, y_ + row, upper);
      if (row + 1 < rows_) store_pixel<Channels, Sample>(of_, logo, x, y_ + row + 1, lower);
    }
  }

  LULL_HD static void add(pixel_sum& to, float weight, float const* of) noexcept {
    float values[Channels];
    load_aligned<sizeof values, (has_alpha ? Channels : 1) * sizeof(float)>(values, of);
    for (int c = 0; c < Channels; ++c) to.v[c] += weight * values[c];
  }

  picture const& of_;
  std::uint32_t x_;  // of the tile in the result
  std::uint32_t y_;
  std::uint32_t columns_;
  std::uint32_t rows_;
  std::uint32_t first_;  // column of the picture that storage begins with
  std::uint32_t in_columns_;
};

}  // namespace detail
}  // namespace lull
