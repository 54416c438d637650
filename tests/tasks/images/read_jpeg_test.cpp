// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <array>
#include <lull/tasks/images/codec/exif_orientation.hpp>
#include <lull/tasks/images/codec/read_image.hpp>
#include <lull/tasks/images/psnr.hpp>

#include <lull/tests/tasks/images/image_files.hpp>
#include <lull/tests/tasks/images/raw_jpeg.hpp>

namespace lull {
namespace {

using test::clockwise;
using test::encoded;
using test::exif;
using test::mirrored;
using test::scans;
using test::slopes;
using test::test_folder;

TEST(read_jpeg, grey_and_colours_in_one_scan_and_in_several) {
  test_folder const folder;
  for (auto const& [width, height] : {std::pair{1U, 1U}, {8U, 8U}, {67U, 41U}}) {
    auto const grey = slopes(width, height, 1);
    auto const colours = slopes(width, height, 3);
    for (auto const& [from, given, stored] :
         {std::tuple{grey, JCS_GRAYSCALE, JCS_GRAYSCALE}, {colours, JCS_RGB, JCS_YCbCr}, {colours, JCS_RGB, JCS_RGB}}) {
      image first;
      for (auto const order : {scans::one, scans::one_a_component, scans::progressive}) {
        SCOPED_TRACE(::testing::Message()
                     << width << " x " << height << ", colours " << stored << ", scans " << static_cast<int>(order));
        auto const path = folder.write("any.jpg", encoded({from, given, stored, order}));
        auto const header = read_header(path);
        EXPECT_EQ(header.kind, image_kind::jpeg);
        EXPECT_EQ(header.shape, from.shape);
        bool const keeps_coefficients =
            order == scans::progressive || (order != scans::one && from.shape.channels == 3);
        EXPECT_EQ(
            header.decoder_bytes,
            keeps_coefficients ? std::size_t{(width + 7) / 8} * ((height + 7) / 8) * 128 * from.shape.channels : 0);
        auto const got = decode(path);
        EXPECT_GT(psnr(got, from), 40);
        first = order == scans::one ? got : first;
        EXPECT_EQ(got.pixels, first.pixels);  // the order of the scans changes no coefficient
        EXPECT_EQ(got.extras.density.unit, stored == JCS_RGB ? density_unit::none : density_unit::ratio);
      }
    }
  }
}

TEST(read_jpeg, is_turned_upright) {
  test_folder const folder;
  auto const from = slopes(37, 53, 3);  // some strips of rows, and a part of one
  image_density const density{density_unit::inch, 72, 300};
  for (bool const little : {false, true}) {
    auto const read = [&](unsigned orientation) {
      auto const path =
          folder.write("any.jpg", encoded({.from = from,
                                           .markers = {{1, "http://not.exif/"}, {1, exif(orientation, little)}},
                                           .density = density}));
      auto got = decode(path);
      EXPECT_EQ(read_header(path).shape, got.shape);
      EXPECT_EQ(got.extras.density,
                orientation < 5 || orientation > 8 ? density : (image_density{density_unit::inch, 300, 72}));
      return got;
    };
    auto const stored = read(1);
    EXPECT_GT(psnr(stored, from), 40);
    auto const quarter = clockwise(stored);
    auto const half = clockwise(quarter);
    auto const expect_equal = [](image const& got, image const& wanted, unsigned orientation) {
      EXPECT_EQ(got.shape, wanted.shape) << orientation;
      EXPECT_EQ(got.pixels, wanted.pixels) << orientation;
    };
    expect_equal(read(2), mirrored(stored), 2);
    expect_equal(read(3), half, 3);
    expect_equal(read(4), mirrored(half), 4);
    expect_equal(read(5), clockwise(clockwise(clockwise(mirrored(stored)))), 5);
    expect_equal(read(6), quarter, 6);
    expect_equal(read(7), clockwise(mirrored(stored)), 7);
    expect_equal(read(8), clockwise(half), 8);
    for (unsigned const none : {0U, 9U, 255U}) {
      expect_equal(read(none), stored, none);
    }
  }
}

unsigned orientation_in(std::string const& segment) {
  return detail::exif_orientation({reinterpret_cast<std::uint8_t const*>(segment.data()), segment.size()});
}

TEST(read_jpeg, damaged_exif_means_upright) {
  for (bool const little : {false, true}) {
    auto const whole = exif(6, little);
    ASSERT_EQ(orientation_in(whole), 6);
    for (std::size_t bytes = 0; bytes < whole.size(); ++bytes) {
      auto const got = orientation_in(whole.substr(0, bytes));
      EXPECT_TRUE(got == 1 || (got == 6 && bytes >= whole.size() - 8)) << bytes;  // cut after the number itself
    }
    for (std::size_t at = 0; at < whole.size(); ++at) {
      for (int const value : {0, 1, 0x7f, 0x80, 0xff}) {
        auto damaged = whole;
        damaged[at] = static_cast<char>(value);
        auto const got = orientation_in(damaged);
        EXPECT_TRUE(got >= 1 && got <= 8) << at;
      }
    }
  }
  EXPECT_EQ(orientation_in(""), 1);
  using namespace std::string_literals;
  EXPECT_EQ(orientation_in("Exif\0\0MM\0\x2a\xff\xff\xff\xff"s), 1);
  EXPECT_EQ(orientation_in("Exif\0\0MM\0\x2a\0\0\0\x08\xff\xff"s), 1);
}

TEST(read_jpeg, metadata_between_scans_takes_no_memory_and_does_no_harm) {
  test_folder const folder;
  auto const bytes = encoded({.from = slopes(20, 20, 3), .order = scans::progressive});
  auto const second_scan = bytes.find("\xff\xda", bytes.find("\xff\xda") + 2);
  ASSERT_NE(second_scan, std::string::npos);
  using namespace std::string_literals;
  auto const comment = "\xff\xe1\xff\xff"s + std::string(65533, 'x');
  auto longer = bytes;
  longer.insert(bytes.find("\xff\xc4", bytes.find("\xff\xda")), comment + comment);
  EXPECT_EQ(decode(folder.write("longer.jpg", longer)).pixels, decode(folder.write("plain.jpg", bytes)).pixels);
}

}  // namespace
}  // namespace lull
