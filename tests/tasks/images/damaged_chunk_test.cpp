// SPDX-License-Identifier: Apache-2.0
// A PNG whose pixels are whole is read, and the reader says which kind of damage it left out.
#include <gtest/gtest.h>

#include <lull/host/error.hpp>
#include <lull/tasks/images/codec/read_image.hpp>

#include <lull/tests/tasks/images/image_files.hpp>
#include <lull/tests/tasks/images/raw_jpeg.hpp>
#include <lull/tests/tasks/images/raw_png.hpp>

namespace lull {
namespace {

using namespace std::string_literals;
using test::chunk;
using test::small_grey_png;
using test::with_chunk_after_header;
using test::with_chunk_after_pixels;

/// The chunk with another checksum.
std::string damaged(std::string made) {
  made.back() = static_cast<char>(made.back() ^ 1);
  return made;
}

TEST(damaged_chunk, that_no_pixel_needs_is_left_out_with_a_note) {
  test::test_folder const folder;
  auto const wanted = decode(folder.write("plain.png", small_grey_png()));
  std::string const density = "\0\0\x0b\x13\0\0\x0b\x13\1"s;
  for (std::string const& each :
       {chunk("tEXt", "Title\0x"s), chunk("zTXt", "Title\0\0x"s), chunk("iTXt", "Title\0\0\0\0\0x"s),
        chunk("tIME", "\7\xe4\1\1\0\0\0"s), chunk("pHYs", density), chunk("gAMA", "\0\0\xb1\x8f"s)}) {
    auto const got = decode(folder.write("any.png", with_chunk_after_header(small_grey_png(), damaged(each))));
    EXPECT_EQ(got.shape, wanted.shape) << each;
    EXPECT_EQ(got.pixels, wanted.pixels) << each;
    EXPECT_EQ(got.extras.notes, std::vector{image_note::damaged_chunk}) << each;
    EXPECT_EQ(got.extras.density.unit, wanted.extras.density.unit) << each;
    auto const whole = decode(folder.write("any.png", with_chunk_after_header(small_grey_png(), each)));
    EXPECT_TRUE(whole.extras.notes.empty()) << each;
  }
  auto const last =
      decode(folder.write("any.png", with_chunk_after_pixels(small_grey_png(), damaged(chunk("tEXt", "a\0b"s)))));
  EXPECT_EQ(last.pixels, wanted.pixels);
  EXPECT_EQ(last.extras.notes, std::vector{image_note::damaged_chunk});
}

TEST(damaged_chunk, that_pixels_may_need_is_a_failure) {
  test::test_folder const folder;
  test::raw_number const number{false};
  std::string const exif = test::tiff(number, 3, 1, number(6, 2));
  std::string header = small_grey_png();
  header[8 + 25 - 1] = static_cast<char>(header[8 + 25 - 1] ^ 1);
  std::string pixels = small_grey_png();
  pixels[pixels.size() - 13] = static_cast<char>(pixels[pixels.size() - 13] ^ 1);
  for (std::string const& made :
       {header, pixels, with_chunk_after_header(small_grey_png(), damaged(chunk("tRNS", "\0\1"s))),
        with_chunk_after_header(small_grey_png(), damaged(chunk("uRNS", "\0\1"s))),
        with_chunk_after_header(small_grey_png(), damaged(chunk("iDAT", "x"))),
        with_chunk_after_header(small_grey_png(), damaged(chunk("eXIf", exif))),
        with_chunk_after_pixels(small_grey_png(), damaged(chunk("eXIf", exif))), damaged(small_grey_png())})
    EXPECT_THROW(decode(folder.write("any.png", made)), input_error);
}

}  // namespace
}  // namespace lull
