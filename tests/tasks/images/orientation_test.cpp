// SPDX-License-Identifier: Apache-2.0
// Pictures whose Exif says how they are to be turned: where it stands in a PNG, and of which type its number is.
#include <gtest/gtest.h>

#include <bit>
#include <cstdlib>
#include <lull/host/error.hpp>
#include <lull/tasks/images/codec/read_image.hpp>

#include <lull/tests/tasks/images/image_files.hpp>
#include <lull/tests/tasks/images/raw_jpeg.hpp>
#include <lull/tests/tasks/images/raw_png.hpp>

namespace lull {
namespace {

using namespace std::string_literals;
using test::chunk;
using test::encoded;
using test::raw_number;
using test::raw_png;
using test::test_folder;
using test::tiff;
using test::with_chunk_after_header;
using test::with_chunk_after_pixels;

raw_png noise(int type, int depth, int interlace, std::uint32_t width = 19, std::uint32_t height = 37) {
  std::mt19937 random{7};
  raw_png made{.width = width, .height = height, .type = type, .depth = depth, .interlace = interlace, .numbers = {}};
  for (std::size_t count = 0; count < width * height * made.channels(); ++count) {
    made.numbers.push_back(static_cast<std::uint16_t>(random() & ((1U << depth) - 1)));
  }
  if (type == PNG_COLOR_TYPE_PALETTE) {
    for (int entry = 0; entry < 1 << depth; ++entry) {
      made.palette.push_back({static_cast<png_byte>(random()), static_cast<png_byte>(entry), 3});
    }
  }
  return made;
}

std::string exif_chunk(unsigned orientation, bool little = false) {
  raw_number const number{little};
  return chunk("eXIf", tiff(number, 3, 1, number(orientation, 2)));
}

TEST(orientation, of_a_png_before_and_after_its_pixels) {
  test_folder const folder;
  for (auto const& [type, depth] : {std::pair{PNG_COLOR_TYPE_RGB, 8},
                                    {PNG_COLOR_TYPE_RGB_ALPHA, 16},
                                    {PNG_COLOR_TYPE_GRAY, 1},
                                    {PNG_COLOR_TYPE_GRAY_ALPHA, 8},
                                    {PNG_COLOR_TYPE_PALETTE, 4}}) {
    for (int const interlace : {PNG_INTERLACE_NONE, PNG_INTERLACE_ADAM7}) {
      auto const plain = encoded(noise(type, depth, interlace));
      auto const stored = decode(folder.write("plain.png", plain));
      for (unsigned turned = 0; turned <= 9; ++turned) {
        SCOPED_TRACE(testing::Message() << "type " << type << ", interlace " << interlace << ", " << turned);
        auto const wanted = test::upright(turned, stored);
        auto const exif = exif_chunk(turned, turned % 2 == 0);
        for (auto const& bytes : {with_chunk_after_header(plain, exif), with_chunk_after_pixels(plain, exif)}) {
          auto const path = folder.write("turned.png", bytes);
          auto const header = read_header(path);
          EXPECT_EQ(header.shape, wanted.shape);
          bool const whole = interlace != PNG_INTERLACE_NONE && turned >= 2 && turned <= 8;
          EXPECT_EQ(header.decoder_bytes, whole ? stored.shape.bytes() : 0);
          auto const got = decode(path);
          EXPECT_EQ(got.shape, wanted.shape);
          EXPECT_EQ(got.pixels, wanted.pixels);
        }
      }
    }
  }
}

TEST(orientation, of_a_png_turns_its_density) {
  test_folder const folder;
  raw_number const number;
  auto const density = chunk("pHYs", number(1000, 4) + number(3000, 4) + "\1");
  auto const plain = encoded(noise(PNG_COLOR_TYPE_RGB, 8, PNG_INTERLACE_NONE));
  auto const read = [&](unsigned turned) {
    return decode(folder.write("any.png", with_chunk_after_header(plain, density + exif_chunk(turned)))).extras.density;
  };
  EXPECT_EQ(read(3), (image_density{density_unit::metre, 1000, 3000}));
  EXPECT_EQ(read(6), (image_density{density_unit::metre, 3000, 1000}));
}

TEST(orientation, of_a_png_is_found_however_the_chunk_is_written) {
  test_folder const folder;
  auto const plain = encoded(noise(PNG_COLOR_TYPE_RGB, 8, PNG_INTERLACE_NONE));
  auto const stored = decode(folder.write("plain.png", plain)).shape;
  auto const turned = test::upright(6, {stored, std::vector<std::uint8_t>(stored.bytes()), {}}).shape;
  auto const shape = [&](std::string const& chunks) {
    auto const path = folder.write("any.png", with_chunk_after_pixels(plain, chunks));
    EXPECT_EQ(decode(path).shape, read_header(path).shape);
    return read_header(path).shape;
  };
  auto const text = chunk("tEXt", "a\0b"s);
  EXPECT_EQ(shape(text + exif_chunk(6)), turned) << "among others";
  EXPECT_EQ(shape(chunk("eXIf", test::exif(6))), turned) << "with the mark that only APP1 needs";
  EXPECT_EQ(shape(exif_chunk(1) + exif_chunk(6)), turned) << "twice, as a JPEG's";
  EXPECT_EQ(shape(chunk("eXIf", "")), stored) << "empty";
  EXPECT_EQ(shape(chunk("eXIf", "MM\0\x2a\0\0\0\x08\0\1\1\x12"s)), stored) << "cut off";
  EXPECT_EQ(shape(chunk("eXIf", "http://ns.adobe.com/xap/1.0/")), stored) << "of another kind";
}

TEST(orientation, of_a_png_whose_sum_is_wrong_is_refused) {
  test_folder const folder;
  auto const plain = encoded(noise(PNG_COLOR_TYPE_RGB, 8, PNG_INTERLACE_NONE));
  auto damaged = exif_chunk(6);
  damaged[damaged.size() - 1] ^= 1;
  for (auto const& bytes : {with_chunk_after_header(plain, damaged), with_chunk_after_pixels(plain, damaged)}) {
    EXPECT_THROW(decode(folder.write("any.png", bytes)), input_error);
  }
}

TEST(orientation, is_not_looked_for_without_end) {
  test_folder const folder;
  auto const plain = encoded(noise(PNG_COLOR_TYPE_GRAY, 1, PNG_INTERLACE_NONE, 1, 1));
  std::string many;
  for (auto const empty = chunk("tEXt", ""); many.size() < empty.size() << 20;) {
    many += empty;
  }
  EXPECT_THROW(read_header(folder.write("any.png", with_chunk_after_header(plain, many))), input_error);
}

struct written_number {
  std::string name;
  unsigned type;
  std::uint32_t count;
  std::string value;
  bool turns;  // as Pillow takes it
};

std::vector<written_number> written_numbers(raw_number const& n) {
  auto const real = n(std::bit_cast<std::uint32_t>(6.0F), 4);
  auto const longer = n(std::bit_cast<std::uint64_t>(6.0), 8);
  return {{"short", 3, 1, n(6, 2), true},
          {"shorts", 3, 2, n(6, 2) + n(3, 2), true},
          {"many_shorts", 3, 4, n(6, 2) + n(3, 2) + n(1, 2) + n(1, 2), true},
          {"long", 4, 1, n(6, 4), true},
          {"longs", 4, 2, n(6, 4) + n(3, 4), true},
          {"rational", 5, 1, n(12, 4) + n(2, 4), true},
          {"rationals", 5, 2, n(6, 4) + n(1, 4) + n(3, 4) + n(1, 4), true},
          {"no_whole_rational", 5, 1, n(13, 4) + n(2, 4), false},
          {"no_rational", 5, 1, n(6, 4) + n(0, 4), false},
          {"signed_byte", 6, 1, n(6, 1), true},
          {"signed_short", 8, 1, n(6, 2), true},
          {"negative_short", 8, 1, n(0x10000 - 6, 2), false},
          {"signed_long", 9, 1, n(6, 4), true},
          {"signed_rational", 10, 1, n((1ULL << 32) - 12, 4) + n((1ULL << 32) - 2, 4), true},
          {"float", 11, 1, real, true},
          {"double", 12, 1, longer, true},
          {"directory", 13, 1, n(6, 4), true},
          {"long8", 16, 1, n(6, 8), true},
          {"byte", 1, 1, n(6, 1), false},
          {"text", 2, 2, "6\0"s, false},
          {"bytes", 7, 4, n(6, 4), false},
          {"unknown", 99, 1, n(6, 2), false},
          {"none", 3, 0, n(6, 2), false},
          {"outside", 3, 1U << 30, n(6, 2), false},
          {"long_of_9", 4, 1, n(9, 4), false},
          {"long_of_more", 4, 1, n(65536 + 6, 4), false}};
}

TEST(orientation, may_be_of_any_type_of_numbers) {
  test_folder const folder;
  auto const plain = encoded(noise(PNG_COLOR_TYPE_RGB, 8, PNG_INTERLACE_NONE, 3, 2));
  auto const slopes = test::slopes(3, 2, 3);
  for (bool const little : {false, true}) {
    for (auto const& [name, type, count, value, turns] : written_numbers({little})) {
      auto const exif = tiff({little}, type, count, value);
      auto const png = folder.write("any.png", with_chunk_after_header(plain, chunk("eXIf", exif)));
      EXPECT_EQ(decode(png).shape.width, turns ? 2 : 3) << name;
      auto const jpeg = folder.write("any.jpg", encoded({.from = slopes, .markers = {{1, "Exif\0\0"s + exif}}}));
      EXPECT_EQ(decode(jpeg).shape.width, turns ? 2 : 3) << name;
    }
  }
}

TEST(orientation, is_what_pillow_takes_it_for) {
  auto const python = [](std::string const& line) {
    return std::system(("\"" LULL_PYTHON "\" -W ignore -c '" + line + "' 2> /dev/null").c_str()) == 0;
  };
  if (!python("import PIL.Image")) {
    GTEST_SKIP() << "NOT RUN: " LULL_PYTHON " has no pillow";
  }
  test_folder const folder;
  auto const plain = encoded(noise(PNG_COLOR_TYPE_RGB, 8, PNG_INTERLACE_NONE, 5, 3));
  std::vector<std::string> paths;
  for (bool const little : {false, true}) {
    for (auto const& [name, type, count, value, turns] : written_numbers({little})) {
      auto const exif = chunk("eXIf", tiff({little}, type, count, value));
      auto const order = little ? "_little" : "_big";
      paths.push_back(folder.write(name + order + "_before.png", with_chunk_after_header(plain, exif)));
      paths.push_back(folder.write(name + order + "_after.png", with_chunk_after_pixels(plain, exif)));
    }
  }
  ASSERT_TRUE(python(R"(
import glob
from PIL import Image, ImageOps
for name in glob.glob(")" +
                     folder.at("*.png") + R"("):
  im = Image.open(name)
  im.load()
  ImageOps.exif_transpose(im).save(name + ".upright", "PNG")
)"));
  for (auto const& path : paths) {
    auto const got = decode(path);
    auto const wanted = decode(path + ".upright");
    EXPECT_EQ(got.shape, wanted.shape) << path;
    EXPECT_EQ(got.pixels, wanted.pixels) << path;
  }
}

}  // namespace
}  // namespace lull
