// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

#include <lull/device/side_task.hpp>
#include <lull/tasks/images/picture.hpp>
#include <lull/tasks/images/resize_pixel.hpp>
#include <lull/tasks/images/resize_tile.hpp>

namespace lull {

/// A flag in a fed count: no batch comes after it.
inline constexpr std::uint64_t no_more_batches = std::uint64_t{1} << 63;

/// Resizes pictures by a separable filter and lays a logo over them. A round is a batch. Its first phase does all
/// tiles, and the rows of pictures without tiles; its second the columns of those. Fed: the number of batches on the
/// machine; the r-th is in buffer r modulo `buffers`.
struct resize_pictures {
  static constexpr team_shape shape{
      .threads = 256, .steps = 2, .shared_bytes = resize_tile::storage_bytes, .blocks_per_sm = 4};

  picture_batch const* batches;  // (buffers,)
  std::uint32_t buffers;
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
  using pixel = detail::pixel_sum;

  LULL_HD picture_batch const& batch_of(position at) const noexcept { return batches[at.round % buffers]; }

  LULL_HD void run(picture const& of, std::uint32_t step, std::uint64_t item, auto const& team) const noexcept {
    switch (of.channels * 2 + of.bytes - 1) {
      case 2:
        return run_as<1, std::uint8_t>(of, step, item, team);
      case 3:
        return run_as<1, std::uint16_t>(of, step, item, team);
      case 4:
        return run_as<2, std::uint8_t>(of, step, item, team);
      case 5:
        return run_as<2, std::uint16_t>(of, step, item, team);
      case 6:
        return run_as<3, std::uint8_t>(of, step, item, team);
      case 7:
        return run_as<3, std::uint16_t>(of, step, item, team);
      case 8:
        return run_as<4, std::uint8_t>(of, step, item, team);
      case 9:
        return run_as<4, std::uint16_t>(of, step, item, team);
      default:
        return;
    }
  }

  template <int Channels, class Sample>
  LULL_HD void run_as(picture const& of, std::uint32_t step, std::uint64_t item, auto const& team) const noexcept {
    if (of.between == nullptr)
      return detail::tile_work<Channels, Sample>{of, static_cast<std::uint32_t>(item)}.run(logo, team);
    run_pass<Channels, Sample>(of, step, item, team);
  }

  /// Runs an item of either pass.
  template <int Channels, class Sample>
  LULL_HD LULL_COLD void run_pass(picture const& of, std::uint32_t step, std::uint64_t item,
                                  auto const& team) const noexcept {
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
    for (std::uint64_t at = begin + static_cast<std::uint64_t>(team.rank()); at < end;
         at += static_cast<std::uint64_t>(team.size())) {
      keep<Channels, Sample>(of, step, at,
                             step == 0 ? across<Channels, Sample>(of, at, 0, 1) : down<Channels>(of, at, 0, 1));
    }
  }

  /// Sums every `stride`-th tap of a pixel, from `from` on.
  template <int Channels, class Sample>
  LULL_HD pixel across(picture const& of, std::uint64_t at, int from, int stride) const noexcept {
    constexpr bool has_alpha = Channels % 2 == 0;
    constexpr float whole = detail::whole<Sample>;
    taps const t = of.across[at % of.width];
    Sample const* const row = static_cast<Sample const*>(of.in) + (at / of.width * of.in_width + t.first) * Channels;
    pixel sum{};
    for (std::uint32_t i = static_cast<std::uint32_t>(from); i < t.count; i += static_cast<std::uint32_t>(stride)) {
      Sample const* const sample = row + std::size_t{i} * Channels;
      float weight = of.weights[t.weights + std::size_t{i} * of.width];
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
    detail::store_pixel<Channels, Sample>(of, logo, static_cast<std::uint32_t>(at % of.width),
                                          static_cast<std::uint32_t>(at / of.width), found);
  }
};

static_assert(is_side_task<resize_pictures>());

}  // namespace lull
