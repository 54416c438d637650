// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cstring>
#include <lull/host/error.hpp>
#include <lull/tasks/images/codec/read_image.hpp>

#include <lull/tests/tasks/images/image_files.hpp>
#include <lull/tests/tasks/images/raw_png.hpp>

namespace lull {
namespace {

using test::raw_png;
using test::test_folder;

raw_png random_png(int type, int depth, std::uint32_t width, std::uint32_t height, int interlace) {
  std::mt19937 random{width * 100 + height};
  raw_png made{.width = width, .height = height, .type = type, .depth = depth, .interlace = interlace, .numbers = {}};
  for (std::size_t count = 0; count < width * height * made.channels(); ++count) {
    made.numbers.push_back(static_cast<std::uint16_t>(random() & ((1U << depth) - 1)));
  }
  if (type == PNG_COLOR_TYPE_PALETTE) {
    for (int entry = 0; entry < 1 << depth; ++entry) {
      auto const byte = [&random] { return static_cast<png_byte>(random()); };
      made.palette.push_back({byte(), byte(), byte()});
    }
  }
  return made;
}

/// Adds a tRNS chunk: for a palette half of its entries, otherwise the colour of the middle pixel.
raw_png with_transparency(raw_png png) {
  if (png.type == PNG_COLOR_TYPE_PALETTE) {
    for (std::size_t entry = 0; entry < (png.palette.size() + 1) / 2; ++entry) {
      png.palette_alpha.push_back(static_cast<png_byte>(37 * entry));
    }
    return png;
  }
  auto const middle = png.width * png.height / 2 * png.channels();
  png.has_key = true;
  png.key.gray = png.numbers[middle];
  if (png.channels() == 3) {
    png.key = {0, png.numbers[middle], png.numbers[middle + 1], png.numbers[middle + 2], 0};
  }
  return png;
}

/// Returns the image that the specification defines for these numbers.
image expected(raw_png const& png) {
  bool const sixteen = png.depth == 16;
  bool const palette = png.type == PNG_COLOR_TYPE_PALETTE;
  bool const adds_alpha = png.has_key || !png.palette_alpha.empty();
  auto const channels = (palette ? 3 : png.channels()) + (adds_alpha ? 1 : 0);
  image made{{png.width, png.height, static_cast<std::uint8_t>(channels), static_cast<std::uint8_t>(sixteen ? 16 : 8)},
             {},
             {}};
  auto const add = [&](std::uint32_t number) {
    auto const value = static_cast<std::uint16_t>(number);
    auto const* const bytes = reinterpret_cast<std::uint8_t const*>(&value);
    sixteen ? (void)made.pixels.insert(made.pixels.end(), bytes, bytes + 2)
            : made.pixels.push_back(static_cast<std::uint8_t>(value));
  };
  for (std::size_t first = 0; first < png.numbers.size(); first += png.channels()) {
    auto const* const number = png.numbers.data() + first;
    if (palette) {
      auto const& [red, green, blue] = png.palette[number[0]];
      add(red), add(green), add(blue);
      if (adds_alpha) {
        add(number[0] < png.palette_alpha.size() ? png.palette_alpha[number[0]] : 255);
      }
      continue;
    }
    for (std::size_t channel = 0; channel < png.channels(); ++channel) {
      add(png.depth < 8 ? number[channel] * 255U / ((1U << png.depth) - 1) : number[channel]);
    }
    if (adds_alpha) {
      bool const is_key = png.channels() == 1
                              ? number[0] == png.key.gray
                              : number[0] == png.key.red && number[1] == png.key.green && number[2] == png.key.blue;
      add(is_key ? 0 : made.shape.largest());
    }
  }
  return made;
}

void expect_read(test_folder const& folder, raw_png const& png) {
  SCOPED_TRACE(::testing::Message() << "type " << png.type << ", depth " << png.depth << ", interlace " << png.interlace
                                    << ", " << png.width << " x " << png.height);
  auto const path = folder.write("any.png", encoded(png));
  auto const wanted = expected(png);
  auto const header = read_header(path);
  EXPECT_EQ(header.kind, image_kind::png);
  EXPECT_EQ(header.shape, wanted.shape);
  EXPECT_EQ(header.decoded_bytes(), wanted.pixels.size());
  auto const got = decode(path);
  EXPECT_EQ(got.shape, wanted.shape);
  EXPECT_EQ(got.pixels, wanted.pixels);
  EXPECT_TRUE(got.extras.icc_profile.empty());
  EXPECT_EQ(got.extras.density, image_density{});
}

TEST(read_png, every_colour_type_and_depth) {
  test_folder const folder;
  struct kind {
    int type;
    std::vector<int> depths;
  };
  for (auto const& [type, depths] :
       {kind{PNG_COLOR_TYPE_GRAY, {1, 2, 4, 8, 16}}, kind{PNG_COLOR_TYPE_RGB, {8, 16}},
        kind{PNG_COLOR_TYPE_PALETTE, {1, 2, 4, 8}}, kind{PNG_COLOR_TYPE_GRAY_ALPHA, {8, 16}},
        kind{PNG_COLOR_TYPE_RGB_ALPHA, {8, 16}}}) {
    for (auto const depth : depths) {
      for (int const interlace : {PNG_INTERLACE_NONE, PNG_INTERLACE_ADAM7}) {
        for (auto const& [width, height] : {std::pair{1U, 1U}, {3U, 2U}, {7U, 5U}, {33U, 17U}}) {
          auto const png = random_png(type, depth, width, height, interlace);
          expect_read(folder, png);
          if ((type & PNG_COLOR_MASK_ALPHA) == 0) {
            expect_read(folder, with_transparency(png));
          }
        }
      }
    }
  }
}

TEST(read_png, decodes_to_where_the_caller_wants) {
  test_folder const folder;
  auto const png = random_png(PNG_COLOR_TYPE_RGB, 8, 9, 4, PNG_INTERLACE_NONE);
  auto const path = folder.write("any.png", encoded(png));
  auto const header = read_header(path);
  std::vector<std::uint8_t> pixels(header.decoded_bytes());
  decode_to(path, header, pixels);
  EXPECT_EQ(pixels, expected(png).pixels);
  EXPECT_THROW(decode_to(path, header, std::span{pixels}.first(pixels.size() - 1)), usage_error);
  folder.write("any.png", encoded(random_png(PNG_COLOR_TYPE_RGB, 8, 4, 9, PNG_INTERLACE_NONE)));
  EXPECT_THROW(decode_to(path, header, pixels), input_error);
}

TEST(read_png, any_name_but_one_that_says_otherwise) {
  test_folder const folder;
  auto const bytes = encoded(random_png(PNG_COLOR_TYPE_RGB, 8, 9, 4, PNG_INTERLACE_NONE));
  for (std::string const name : {"a.png", "a.PNG", "a", "a.jpg.png", "a.tmp"}) {
    EXPECT_EQ(decode(folder.write(name, bytes)).shape.width, 9) << name;
  }
  EXPECT_EQ(image_kind_by_name("x/a.PnG"), image_kind::png);
  EXPECT_EQ(image_kind_by_name("a.jpg"), image_kind::jpeg);
  EXPECT_EQ(image_kind_by_name("a.JPEG"), image_kind::jpeg);
  EXPECT_EQ(image_kind_by_name("png"), std::nullopt);
  EXPECT_EQ(image_kind_by_name("a.gif"), std::nullopt);
}

}  // namespace
}  // namespace lull
