// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace lull {

/// The samples that make one sample along an axis: `count` from `first` on, with weights that sum up to 1. Both ends
/// move right or down with the sample.
struct taps {
  std::uint32_t first;
  std::uint32_t count;
  std::uint32_t weights;  // where the first of them stands among the picture's weights
};

/// One picture on its way. In tiles: in → out at once, an item a tile of the result. Without tiles, where a tile's item
/// would take too long: in → filtered along its rows → filtered along its columns, an item some pixels of either.
/// Samples interleave.
struct picture {
  void const* in;  // (in_height, in_width, channels) of `bytes` each, and read_beyond bytes that may be read
  float* between;  // (in_height, width, channels), premultiplied by alpha; null: in tiles
  void* out;       // (height, width, channels)
  /// (width,); weights of neighbours are side by side: tap i of a pixel is `i * width` after its first.
  taps const* across;
  taps const* down;  // (height,); weights of one pixel stand side by side. In tiles: (height / 2, up,), each for two
                     // rows at once, with alternating weights
  float const* weights;  // of both
  std::uint32_t in_width;
  std::uint32_t in_height;
  std::uint32_t width;
  std::uint32_t height;
  std::uint32_t channels;     // 1 grey, 2 grey and alpha, 3 RGB, 4 RGB and alpha
  std::uint32_t bytes;        // of a sample: 1 or 2
  std::uint32_t tile_width;   // in tiles: pixels of the result; less at its right and lower edge
  std::uint32_t tile_height;  // even
  std::uint32_t row_floats;   // in tiles: of team storage for a row; 0: none is needed, pixels are made straight from
                              // `in`, whose rows begin at whole words
  std::uint32_t pixels[2];    // otherwise: of an item, of either pass; 0: a pixel an item, whose taps the team shares
  std::int32_t logo_x;        // of its upper left corner
  std::int32_t logo_y;

  static constexpr std::uint32_t read_beyond = 32;
};

/// Pictures that are resized together: a round. Constant while the machine uses it; it is what is fed.
struct picture_batch {
  static constexpr std::uint32_t most = 8;

  picture pictures[most];
  /// Of either pass: where each picture's items begin, and their end; from `count` on all equal.
  std::uint64_t items[2][most + 1];
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

}  // namespace lull
