// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <utility>

#include <lull/bench/images/unfed_images.hpp>
#include <lull/host/task/counter_random.hpp>

namespace lull {

/// Some batches of all channels and depths, up and down, both filters, with a logo, some of several tiles, and pictures
/// so much smaller than they were that a team shares a pixel's taps. Without a type: the suite runs the task wrapped,
/// and knows the type of that.
inline std::unique_ptr<task_owner> small_images() {
  counter_random const random{7, 0};
  std::uint64_t drawn = 0;
  auto const random_image = [&](image_shape const& shape) {
    image made{shape, std::vector<std::uint8_t>(shape.bytes()), {}};
    for (std::uint8_t& byte : made.pixels) byte = static_cast<std::uint8_t>(random.at(drawn++));
    return made;
  };
  bench::unfed_wishes wishes;
  for (image_filter const filter : {image_filter::lanczos3, image_filter::area}) {
    auto const add = [&](image_shape const& in, std::uint32_t width, std::uint32_t height) {
      wishes.pictures.push_back({std::make_shared<image const>(random_image(in)), width, height, filter});
    };
    for (std::uint8_t channels = 1; channels <= 4; ++channels) {
      std::uint8_t const bits = (channels + (filter == image_filter::area ? 1 : 0)) % 2 == 0 ? 16 : 8;
      bool const grows = channels % 3 == 0;
      add({23, 11, channels, bits}, grows ? 31 : 7, grows ? 17 : 5);
    }
    // In rows that begin at whole words. If Lanczos leaves almost no alpha, the colours are arbitrary: they are divided
    // by it.
    for (std::uint8_t channels = 1; channels <= 4; ++channels) {
      if (filter == image_filter::lanczos3 && channels % 2 == 0) continue;
      add({24, 14, channels, 8}, 13, 5);
      add({24, 14, channels, 16}, 31, 15);
    }
    add({300, 67, 3, 8}, 149, 33);
    add({301, 67, 3, 8}, 149, 33);
    add({304, 40, 4, 16}, 211, 50);
    add({700, 3, 3, 8}, 2, 3);
    add({2, 700, 4, 16}, 3, 2);
  }
  wishes.logo = random_image({5, 4, 4, 8});
  wishes.place = {.margin = 1};
  return std::make_unique<bench::unfed_images>(std::move(wishes), task_type{});
}

}  // namespace lull
