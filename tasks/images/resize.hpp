// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cmath>
#include <cstdint>

#include <lull/device/side_task.hpp>

namespace lull {

/// The samples that one sample along an axis is made of: `count` from `first` on, with weights that sum up to 1.
struct taps {
  std::uint32_t first;
  std::uint32_t count;
  std::uint32_t weights;  // where the first of them stands among the picture's weights
};

/// One picture on its way: in → filtered along its rows → filtered along its columns, with the logo, out. Samples interleave.
struct picture {
  void const* in;        // (in_height, in_width, channels) of `bytes` each
  float* between;        // (in_height, width, channels), premultiplied by alpha
  void* out;             // (height, width, channels)
  taps const* across;    // (width,)
  taps const* down;      // (height,)
  float const* weights;  // of both
  std::uint32_t in_width;
  std::uint32_t in_height;
  std::uint32_t width;
  std::uint32_t height;
  std::uint32_t channels;      // 1 grey, 2 grey and alpha, 3 RGB, 4 RGB and alpha
  std::uint32_t bytes;         // of a sample: 1 or 2
  std::uint32_t pixels[2];     // of an item, of either pass; 0: a pixel an item, whose taps the team shares
  std::int32_t logo_x;         // of its upper left corner
  std::int32_t logo_y;
};

/// Pictures that are resized together: a round. Constant while it stands; what is fed.
struct picture_batch {
  static constexpr std::uint32_t most = 8;

  picture pictures[most];
  std::uint64_t items[2][most + 1];  // of either pass: where each picture's begin, and their end; from `count` on all the same
  std::uint32_t count;
};

/// The logo, premultiplied by its alpha and by the opacity, in [0, 1].
struct logo_ref {
  struct pixel {
    float red, green, blue, alpha;
  };
  pixel const* pixels = nullptr;  // (height, width)
  std::uint32_t width = 0;
  std::uint32_t height = 0;
};

/// Says of a fed count that no batch comes after it.
inline constexpr std::uint64_t no_more_batches = std::uint64_t{1} << 63;

/// Resizes pictures by a separable filter and lays a logo over them. A round is a batch: first all rows, then all columns. Fed:
/// the number of batches that stand, the r-th in slot r modulo `slots`.
struct resize_pictures {
  static constexpr team_shape shape{.threads = 256, .steps = 2, .shared_bytes = 0, .blocks_per_sm = 4};

  picture_batch const* batches;  // (slots,)
  std::uint32_t slots;
  logo_ref logo;

  LULL_HD std::uint64_t extent(position at, std::uint64_t fed) const noexcept {
    if (at.round >= (fed & ~no_more_batches)) return (fed & no_more_batches) != 0 ? finished : starved;
    return batch_of(at).items[at.step][picture_batch::most];
  }

  LULL_HD void operator()(chunk c, auto const& team) const noexcept {
    picture_batch const& batch = batch_of(c.at);
    std::uint64_t const* const begins = batch.items[c.at.step];
    std::uint32_t which = 0;
    for (std::uint64_t item = c.begin; item < c.end; ++item) {
      while (item >= begins[which + 1]) ++which;
      run(batch.pictures[which], c.at.step, item - begins[which], team);
    }
  }

 private:
  struct pixel {
    float v[4];
  };

  LULL_HD picture_batch const& batch_of(position at) const noexcept { return batches[at.round % slots]; }

  LULL_HD void run(picture const& of, std::uint32_t step, std::uint64_t item, auto const& team) const noexcept {
    switch (of.channels * 2 + of.bytes - 1) {
      case 2: return run_as<1, std::uint8_t>(of, step, item, team);
      case 3: return run_as<1, std::uint16_t>(of, step, item, team);
      case 4: return run_as<2, std::uint8_t>(of, step, item, team);
      case 5: return run_as<2, std::uint16_t>(of, step, item, team);
      case 6: return run_as<3, std::uint8_t>(of, step, item, team);
      case 7: return run_as<3, std::uint16_t>(of, step, item, team);
      case 8: return run_as<4, std::uint8_t>(of, step, item, team);
      case 9: return run_as<4, std::uint16_t>(of, step, item, team);
      default: return;
    }
  }

  template <int Channels, class Sample>
  LULL_HD void run_as(picture const& of, std::uint32_t step, std::uint64_t item, auto const& team) const noexcept {
    std::uint32_t const wide = of.pixels[step];
    if (wide == 0) {  // the team shares one pixel's taps
      pixel found = step == 0 ? across<Channels, Sample>(of, item, team.rank(), team.size())
                              : down<Channels>(of, item, team.rank(), team.size());
      for (int i = 0; i < Channels; ++i) found.v[i] = team.sum(found.v[i]);
      if (team.rank() == 0) keep<Channels, Sample>(of, step, item, found);
      return;
    }
    std::uint64_t const all = std::uint64_t{of.width} * (step == 0 ? of.in_height : of.height);
    std::uint64_t const begin = item * wide;
    std::uint64_t const end = begin + wide < all ? begin + wide : all;
    for (std::uint64_t at = begin + static_cast<std::uint64_t>(team.rank()); at < end; at += static_cast<std::uint64_t>(team.size())) {
      keep<Channels, Sample>(of, step, at, step == 0 ? across<Channels, Sample>(of, at, 0, 1) : down<Channels>(of, at, 0, 1));
    }
  }

  /// Every `stride`-th tap of a pixel, from `from` on.
  template <int Channels, class Sample>
  LULL_HD pixel across(picture const& of, std::uint64_t at, int from, int stride) const noexcept {
    constexpr bool has_alpha = Channels % 2 == 0;
    constexpr float whole = static_cast<float>(static_cast<Sample>(~Sample{0}));
    taps const t = of.across[at % of.width];
    Sample const* const row = static_cast<Sample const*>(of.in) + (at / of.width * of.in_width + t.first) * Channels;
    pixel sum{};
    for (std::uint32_t i = static_cast<std::uint32_t>(from); i < t.count; i += static_cast<std::uint32_t>(stride)) {
      Sample const* const sample = row + std::size_t{i} * Channels;
      float weight = of.weights[t.weights + i];
      if constexpr (has_alpha) {
        weight *= static_cast<float>(sample[Channels - 1]) * (1 / whole);
        sum.v[Channels - 1] += weight * whole;
      }
      for (int c = 0; c < Channels - has_alpha; ++c) sum.v[c] += weight * static_cast<float>(sample[c]);
    }
    return sum;
  }

  template <int Channels>
  LULL_HD pixel down(picture const& of, std::uint64_t at, int from, int stride) const noexcept {
    taps const t = of.down[at / of.width];
    std::size_t const row = std::size_t{of.width} * Channels;
    float const* const column = of.between + t.first * row + at % of.width * Channels;
    pixel sum{};
    for (std::uint32_t i = static_cast<std::uint32_t>(from); i < t.count; i += static_cast<std::uint32_t>(stride)) {
      float const weight = of.weights[t.weights + i];
      for (int c = 0; c < Channels; ++c) sum.v[c] += weight * column[i * row + static_cast<std::size_t>(c)];
    }
    return sum;
  }

  template <int Channels, class Sample>
  LULL_HD void keep(picture const& of, std::uint32_t step, std::uint64_t at, pixel const& found) const noexcept {
    if (step == 0) {
      for (int c = 0; c < Channels; ++c) of.between[at * Channels + static_cast<std::uint64_t>(c)] = found.v[c];
      return;
    }
    constexpr float whole = static_cast<float>(static_cast<Sample>(~Sample{0}));
    pixel const made = with_logo<Channels>(of, at, found, whole);
    auto* const out = static_cast<Sample*>(of.out) + at * Channels;
    for (int c = 0; c < Channels; ++c) {
      float const value = made.v[c] + 0.5f;
      out[c] = static_cast<Sample>(value <= 0 ? 0.0f : value >= whole ? whole : value);
    }
  }

  /// From a premultiplied pixel to one as files hold it, with the logo over it.
  template <int Channels>
  LULL_HD pixel with_logo(picture const& of, std::uint64_t at, pixel found, float whole) const noexcept {
    constexpr bool has_alpha = Channels % 2 == 0;
    auto const x = static_cast<std::int64_t>(at % of.width) - of.logo_x;
    auto const y = static_cast<std::int64_t>(at / of.width) - of.logo_y;
    if (x >= 0 && y >= 0 && x < logo.width && y < logo.height) {
      logo_ref::pixel const over = logo.pixels[static_cast<std::uint64_t>(y) * logo.width + static_cast<std::uint64_t>(x)];
      float const grey = 0.299f * over.red + 0.587f * over.green + 0.114f * over.blue;
      float const colours[3] = {Channels < 3 ? grey : over.red, over.green, over.blue};
      for (int c = 0; c < Channels - has_alpha; ++c) found.v[c] = colours[c] * whole + found.v[c] * (1 - over.alpha);
      if constexpr (has_alpha) found.v[Channels - 1] = over.alpha * whole + found.v[Channels - 1] * (1 - over.alpha);
    }
    if constexpr (has_alpha) {
      float const alpha = found.v[Channels - 1];
      float const scale = alpha > 0 ? whole / alpha : 0.0f;
      for (int c = 0; c < Channels - 1; ++c) found.v[c] *= scale;
    }
    return found;
  }
};

static_assert(side_task<resize_pictures>);

}  // namespace lull
