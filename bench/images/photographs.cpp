// SPDX-License-Identifier: Apache-2.0
#include <lull/bench/images/photographs.hpp>

#include <algorithm>
#include <cstddef>

#include <lull/host/io/shipped_file.hpp>
#include <lull/host/task/counter_random.hpp>
#include <lull/tasks/images/codec/read_image.hpp>

namespace lull::bench {

namespace {

constexpr std::uint64_t noise = 13;  // values, around 0

/// Between the two samples beside a position along an axis; the far end is followed by the near one.
struct between {
  std::size_t left;
  std::size_t right;
  double share;  // of the right one

  between(std::uint32_t at, std::uint32_t length, std::uint32_t of, std::uint64_t moved) {
    double const exact = static_cast<double>(at) * of / length;
    left = (static_cast<std::size_t>(exact) + moved) % of;
    right = (left + 1) % of;
    share = exact - static_cast<double>(static_cast<std::size_t>(exact));
  }
};

}  // namespace

image photograph(std::uint32_t width, std::uint32_t height, std::uint8_t channels, std::uint64_t seed) {
  static image const shipped = decode(shipped_file("chelsea.png", "another photograph").string());
  image_shape const& from = shipped.shape;
  image made{{width, height, channels, 8}, {}, {}};
  made.pixels.resize(made.shape.bytes());
  counter_random const random{seed, 1};
  std::size_t drawn = 0;
  std::uint8_t* to = made.pixels.data();
  for (std::uint32_t y = 0; y < height; ++y) {
    between const rows{y, height, from.height, seed * 37};
    for (std::uint32_t x = 0; x < width; ++x) {
      between const columns{x, width, from.width, seed * 61};
      for (std::uint8_t c = 0; c < channels; ++c) {
        auto const sample = [&](std::size_t row, std::size_t column) {
          return static_cast<double>(shipped.pixels[(row * from.width + column) * from.channels + c]);
        };
        double const upper =
            sample(rows.left, columns.left) * (1 - columns.share) + sample(rows.left, columns.right) * columns.share;
        double const lower =
            sample(rows.right, columns.left) * (1 - columns.share) + sample(rows.right, columns.right) * columns.share;
        double const value = upper * (1 - rows.share) + lower * rows.share +
                             static_cast<double>(random.below(drawn++, noise)) - static_cast<double>(noise / 2);
        *to++ = static_cast<std::uint8_t>(std::clamp(value + 0.5, 0.0, 255.0));
      }
    }
  }
  return made;
}

}  // namespace lull::bench
