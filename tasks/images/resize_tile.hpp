// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include <lull/tasks/images/resize_pixel.hpp>

namespace lull {

/// Makes a tile of a result. The columns above it are filtered into team storage, (rows, columns it needs, channels),
/// and the rows of that into the result. Columns come first, because along them every sample is alike whatever its
/// channel. A thread takes twice four neighbours each, whole words, for two rows of the result, which share most of
/// their source. Intermediate values never go through global memory. If few samples make a pixel, threads make pixels
/// directly from the picture instead, one below the other.
struct resize_tile {
  static constexpr std::size_t storage_bytes = 28 * 1024;  // four teams fit an SM's 132 KiB
  static constexpr std::uint32_t samples_at_once = 8;      // of a column filter's thread
  /// … for which it filters; in storage a sample's two values are side by side.
  static constexpr std::uint32_t rows_at_once = 2;
  static constexpr std::uint32_t pairs_at_once = 2;   // of such rows, of a row filter's thread
  static constexpr std::uint32_t first_multiple = 8;  // of the column that a tile's storage begins with
  /// Rows whose samples are loaded together if no storage is needed …
  static constexpr std::uint32_t straight_rows = 4;
  static constexpr std::uint32_t straight_taps = 2;  // … and so many neighbours in each

  /// Returns where a pixel's first pair is among those of two rows in storage. Every 16th place stays free: 16 pairs
  /// cover all banks of shared memory, and threads that read pixels an even number apart, or store four neighbours
  /// each, then collide less often.
  template <int Channels>
  LULL_HD static constexpr std::uint32_t place(std::uint32_t pixel) noexcept {
    return pixel * Channels + pixel / free_behind(Channels);
  }
  /// Returns after how many pixels one place stays free.
  LULL_HD static constexpr std::uint32_t free_behind(std::uint32_t channels) noexcept {
    return channels % 2 != 0 ? 16 : 16 / channels;
  }

  /// Returns the storage for a row of so many columns, as picture::row_floats.
  static constexpr std::uint32_t row_floats(std::uint32_t columns, std::uint32_t channels) noexcept {
    std::uint32_t const pixels = (columns + first_multiple - 1) / first_multiple * first_multiple;
    return pixels * channels + pixels / free_behind(channels);
  }
};

namespace detail {

/// Visits the places of a grid that are one thread's, row by row, without a division for each.
struct grid_walk {
  std::uint32_t row;
  std::uint32_t column;

  LULL_HD grid_walk(auto const& team, std::uint32_t columns) noexcept : columns_(columns) {
    auto const rank = static_cast<std::uint32_t>(team.rank());
    auto const size = static_cast<std::uint32_t>(team.size());
    row = rank / columns;
    column = rank % columns;
    rows_further_ = size / columns;
    columns_further_ = size % columns;
  }
  LULL_HD void next() noexcept {
    row += rows_further_;
    column += columns_further_;
    if (column < columns_) return;
    column -= columns_;
    ++row;
  }

 private:
  std::uint32_t columns_;
  std::uint32_t rows_further_;
  std::uint32_t columns_further_;
};

/// Makes one tile. Collective.
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
    std::uint32_t const row_bytes = of_.in_width * pixel_bytes;
    if (of_.row_floats == 0) return filter_straight(row_bytes, logo, team);
    auto* const storage = static_cast<float*>(team.shared());
    team.sync();  // what an earlier tile left there has been read
    if (row_bytes % group_bytes == 0) {
      filter_columns<true>(storage, row_bytes, team);
    } else {
      filter_columns<false>(storage, row_bytes, team);
    }
    team.sync();
    filter_rows(storage, logo, team);
  }

 private:
  static constexpr std::uint32_t neighbours = 4;  // of a thread of the column filter, side by side
  static constexpr std::uint32_t groups_at_once = resize_tile::samples_at_once / neighbours;
  static constexpr std::uint32_t rows_at_once = resize_tile::rows_at_once;
  static constexpr std::uint32_t group_bytes = neighbours * sizeof(Sample);
  static constexpr std::uint32_t words = group_bytes / 4;
  static constexpr std::uint32_t samples_a_word = 4 / sizeof(Sample);
  static constexpr bool has_alpha = Channels % 2 == 0;
  static constexpr std::uint32_t pixel_bytes = Channels * sizeof(Sample);

  /// Makes the compiler issue all earlier loads before it uses any: it would rather wait for the first and then issue
  /// the last.
  LULL_HD static void loaded_first() noexcept {
#if defined(__CUDA_ARCH__)
    __syncwarp(__activemask());
#endif
  }

  /// Returns the i-th sample of a word. A conversion is slow on a GPU (a quarter of a logical operation's rate). So one
  /// operation puts the bits into the fraction of a float between 2^23 and 2^24, and 2^23 is subtracted; all of it is
  /// exact.
  LULL_HD static float sample_of(std::uint32_t word, std::uint32_t i) noexcept {
    constexpr std::uint32_t exponent = 0x4b00'0000;
#if defined(__CUDA_ARCH__)
    std::uint32_t const bits = __byte_perm(word, exponent, sizeof(Sample) == 1 ? 0x7540 + i : 0x7410 + 0x22 * i);
#else
    std::uint32_t const bits = exponent | (word >> (8 * sizeof(Sample) * i) & static_cast<Sample>(~Sample{0}));
#endif
    float made;
    std::memcpy(&made, &bits, sizeof made);
    return made - 8388608.0f;
  }

  /// Groups as they lie in memory, and the word after each if they are not aligned.
  template <bool Aligned>
  struct raw_groups {
    static constexpr std::uint32_t of_group = Aligned ? words : words + 1;

    std::uint32_t word[groups_at_once][of_group];
    std::uint32_t off;  // bytes in the first word that belong to others

    LULL_HD void load(unsigned char const* from, std::uint32_t next_group) noexcept {
      off = Aligned ? 0 : static_cast<std::uint32_t>(reinterpret_cast<std::uintptr_t>(from) % 4);
      for (std::uint32_t g = 0; g < groups_at_once; ++g, from += next_group) {
        if constexpr (Aligned) {
          load_aligned<group_bytes, group_bytes>(word[g], from);
        } else {
          for (std::uint32_t w = 0; w < of_group; ++w) load_aligned<4, 4>(&word[g][w], from - off + 4 * w);
        }
      }
    }

    /// Unpacks with colours multiplied by alpha.
    LULL_HD void unpack(std::uint32_t g, float (&to)[neighbours]) const noexcept {
      for (std::uint32_t k = 0; k < neighbours; ++k) {
        std::uint32_t const w = k / samples_a_word;
        std::uint32_t made = word[g][w];
        if constexpr (!Aligned)
          made = static_cast<std::uint32_t>((std::uint64_t{word[g][w + 1]} << 32 | made) >> (8 * off));
        to[k] = sample_of(made, k % samples_a_word);
      }
      if constexpr (has_alpha) {
        for (std::uint32_t k = 0; k < neighbours; ++k) {
          std::uint32_t const alpha = k / Channels * Channels + Channels - 1;
          if (k != alpha) to[k] *= to[alpha] * (1 / whole<Sample>);
        }
      }
    }
  };

  template <bool Aligned>
  LULL_HD void filter_columns(float* storage, std::uint32_t row_bytes, auto const& team) const noexcept {
    // Rows that are loaded at the same time, because each is a trip to memory: as many as the registers allow.
    constexpr std::uint32_t ahead = Aligned ? 4 / sizeof(Sample) : 2 / sizeof(Sample);
    picture const of = of_;
    std::uint32_t const units_a_row =
        (in_columns_ * Channels + resize_tile::samples_at_once - 1) / resize_tile::samples_at_once;
    auto const* const corner =
        static_cast<unsigned char const*>(of.in) + std::size_t{first_} * (Channels * sizeof(Sample));
    for (grid_walk unit{team, units_a_row}; unit.row < (rows_ + rows_at_once - 1) / rows_at_once; unit.next()) {
      taps const t = of.down[y_ / rows_at_once + unit.row];
      float const* weight = of.weights + t.weights;
      auto const* from = corner + std::size_t{t.first} * row_bytes + unit.column * group_bytes;
      float sums[groups_at_once][neighbours][rows_at_once] = {};
      for (std::uint32_t i = 0; i < t.count; i += ahead, weight += ahead * rows_at_once) {
        raw_groups<Aligned> raw[ahead];
        float by[ahead][rows_at_once] = {};
        for (std::uint32_t k = 0; k < ahead; ++k) {
          raw[k].load(from, units_a_row * group_bytes);
          if (i + k < t.count) load_aligned<sizeof by[k], sizeof by[k]>(by[k], weight + k * rows_at_once);
          if (i + k + 1 < t.count) from += row_bytes;  // else once more, with weights of 0, which is faster than to ask
        }
        for (std::uint32_t k = 0; k < ahead; ++k) {
          for (std::uint32_t g = 0; g < groups_at_once; ++g) {
            float values[neighbours];
            raw[k].unpack(g, values);
            for (std::uint32_t n = 0; n < neighbours; ++n) {
              for (std::uint32_t row = 0; row < rows_at_once; ++row) sums[g][n][row] += by[k][row] * values[n];
            }
          }
        }
      }
      float* const to = storage + unit.row * rows_at_once * of.row_floats;
      for (std::uint32_t g = 0; g < groups_at_once; ++g) {
        std::uint32_t const sample = (g * units_a_row + unit.column) * neighbours;
        float* const group = to + (sample + sample / (resize_tile::free_behind(Channels) * Channels)) * rows_at_once;
        for (std::uint32_t k = 0; k < neighbours; ++k)
          store_aligned<sizeof sums[g][k], sizeof sums[g][k]>(group + k * rows_at_once, sums[g][k]);
      }
    }
  }

  LULL_HD void filter_rows(float const* storage, logo_ref const& logo, auto const& team) const noexcept {
    picture const of = of_;
    constexpr std::uint32_t rows = rows_at_once * resize_tile::pairs_at_once;
    for (grid_walk unit{team, columns_}; unit.row * rows < rows_; unit.next()) {
      std::uint32_t const row = unit.row * rows;
      std::uint32_t const x = x_ + unit.column;
      taps const t = of.across[x];
      float const* weight = of.weights + t.weights;
      float const* const first = storage + row * of.row_floats;
      float const* const second = row + rows_at_once < rows_ ? first + rows_at_once * of.row_floats : first;
      pixel_sum sums[rows] = {};
      for (std::uint32_t i = 0; i < t.count; ++i, weight += of.width) {
        float const by = *weight;
        std::uint32_t const place = resize_tile::place<Channels>(t.first - first_ + i) * rows_at_once;
        for (std::uint32_t c = 0; c < Channels; ++c) {
          float values[rows];
          load_aligned<8, 8>(values, first + place + c * rows_at_once);
          load_aligned<8, 8>(values + rows_at_once, second + place + c * rows_at_once);
          for (std::uint32_t r = 0; r < rows; ++r) sums[r].v[c] += by * values[r];
        }
      }
      for (std::uint32_t r = 0; r < rows; ++r) {
        if (row + r < rows_) store_pixel<Channels, Sample>(of, logo, x, y_ + row + r, sums[r]);
      }
    }
  }

  /// Makes pixels of few samples, each directly from the picture, two rows of the result at once. The picture's rows
  /// begin at whole words.
  LULL_HD void filter_straight(std::uint32_t row_bytes, logo_ref const& logo, auto const& team) const noexcept {
    constexpr std::uint32_t ahead = resize_tile::straight_rows;
    constexpr std::uint32_t beside = resize_tile::straight_taps;
    picture const of = of_;
    for (grid_walk unit{team, columns_}; unit.row * rows_at_once < rows_; unit.next()) {
      std::uint32_t const x = x_ + unit.column;
      std::uint32_t const y = y_ + unit.row * rows_at_once;
      taps const across = of.across[x];
      taps const down = of.down[y / rows_at_once];
      float const* weight = of.weights + down.weights;
      auto const* line = static_cast<unsigned char const*>(of.in) + std::size_t{down.first} * row_bytes;
      pixel_sum sums[rows_at_once] = {};
      for (std::uint32_t row = 0; row < down.count;
           row += ahead, weight += ahead * rows_at_once, line += ahead * row_bytes) {
        for (std::uint32_t tap = 0; tap < across.count; tap += beside) {
          std::uint32_t const at = (across.first + tap) * pixel_bytes;
          raw_pixels raw[ahead];
          float by_row[ahead][rows_at_once] = {};
          float by_tap[beside] = {};
          for (std::uint32_t k = 0, below = at / 4 * 4; k < ahead; ++k) {
            raw[k].load(line + below);
            if (row + k + 1 < down.count) below += row_bytes;  // else once more, with weights of 0
          }
          for (std::uint32_t k = 0; k < ahead; ++k) {
            if (row + k < down.count)
              load_aligned<sizeof by_row[k], sizeof by_row[k]>(by_row[k], weight + k * rows_at_once);
          }
          for (std::uint32_t i = 0; i < beside; ++i) {
            if (tap + i < across.count) by_tap[i] = of.weights[across.weights + (tap + i) * of.width];
          }
          loaded_first();
          for (std::uint32_t k = 0; k < ahead; ++k) {
            raw[k].shift(at % 4);
            pixel_sum found{};
            for (std::uint32_t i = 0; i < beside; ++i) raw[k].add(i, by_tap[i], found);
            for (std::uint32_t r = 0; r < rows_at_once; ++r) {
              for (std::uint32_t c = 0; c < Channels; ++c) sums[r].v[c] += by_row[k][r] * found.v[c];
            }
          }
        }
      }
      for (std::uint32_t r = 0; r < rows_at_once; ++r) {
        if (y + r < y_ + rows_) store_pixel<Channels, Sample>(of, logo, x, y + r, sums[r]);
      }
    }
  }

  /// Neighbours of a row as they lie in memory, in whole words.
  struct raw_pixels {
    static constexpr bool may_be_off = pixel_bytes % 4 != 0;
    static constexpr std::uint32_t words = (resize_tile::straight_taps * pixel_bytes + 3) / 4 + may_be_off;

    static_assert(words * 4 <= picture::read_beyond);

    std::uint32_t word[words];

    LULL_HD void load(unsigned char const* from) noexcept {
      for (std::uint32_t w = 0; w < words; ++w) load_aligned<4, 4>(&word[w], from + 4 * w);
    }
    /// Shifts out the bytes of the first word that belong to other pixels.
    LULL_HD void shift(std::uint32_t off) noexcept {
      for (std::uint32_t w = 0; may_be_off && w + 1 < words; ++w) {
        word[w] = static_cast<std::uint32_t>((std::uint64_t{word[w + 1]} << 32 | word[w]) >> (8 * off));
      }
    }
    /// Adds the i-th pixel, its colours multiplied by alpha.
    LULL_HD void add(std::uint32_t i, float by, pixel_sum& to) const noexcept {
      float values[Channels];
      for (std::uint32_t c = 0; c < Channels; ++c) {
        std::uint32_t const sample = i * Channels + c;
        values[c] = sample_of(word[sample / samples_a_word], sample % samples_a_word);
      }
      for (std::uint32_t c = 0; c < Channels; ++c) {
        bool const colour = has_alpha && c + 1 != Channels;
        to.v[c] += by * (colour ? values[c] * (values[Channels - 1] * (1 / whole<Sample>)) : values[c]);
      }
    }
  };

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
