// SPDX-License-Identifier: Apache-2.0
// Of an animated PNG the first picture is taken, and the reader says so.
#include <gtest/gtest.h>

#include <lull/tasks/images/codec/read_image.hpp>

#include <lull/tests/tasks/images/image_files.hpp>
#include <lull/tests/tasks/images/raw_jpeg.hpp>
#include <lull/tests/tasks/images/raw_png.hpp>

namespace lull {
namespace {

using namespace std::string_literals;
using test::chunk;
using test::raw_number;
using test::small_grey_png;
using test::with_chunk_after_header;
using test::with_chunk_after_pixels;

/// The chunk that says how many pictures and plays there are.
std::string animation(std::uint32_t pictures) {
  raw_number const number{false};
  return chunk("acTL", number(pictures, 4) + number(0, 4));
}

TEST(animated_png, is_told_and_its_first_picture_taken) {
  test::test_folder const folder;
  auto const wanted = decode(folder.write("plain.png", small_grey_png()));
  ASSERT_TRUE(wanted.extras.notes.empty());
  raw_number const number{false};
  auto const exif = chunk("eXIf", test::tiff(number, 3, 1, number(3, 2)));
  auto const frame = chunk("fcTL", std::string(26, '\1')) + chunk("fdAT", "\0\0\0\2 not read"s);
  for (std::string const& before : {animation(2), animation(1000), exif + animation(2), animation(2) + exif}) {
    auto const made = with_chunk_after_pixels(with_chunk_after_header(small_grey_png(), before), frame);
    auto const got = decode(folder.write("any.png", made));
    EXPECT_EQ(got.shape, wanted.shape);
    EXPECT_EQ(got.pixels == wanted.pixels, before.find("eXIf") == before.npos) << "turned by Exif";
    EXPECT_EQ(got.extras.notes, std::vector{image_note::first_frame});
  }
}

TEST(animated_png, of_one_picture_is_none) {
  test::test_folder const folder;
  for (std::string const& before : {animation(1), animation(0), chunk("acTL", ""), chunk("acTL", "\0\0\0\2"s),
                                    chunk("tEXt", "acTL\0\0\0\2\0\0\0\0"s)})
    EXPECT_TRUE(
        decode(folder.write("any.png", with_chunk_after_header(small_grey_png(), before))).extras.notes.empty());
}

}  // namespace
}  // namespace lull
