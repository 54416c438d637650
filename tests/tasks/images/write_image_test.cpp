// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <filesystem>
#include <lull/host/error.hpp>
#include <lull/tasks/images/codec/read_image.hpp>
#include <lull/tasks/images/codec/write_image.hpp>
#include <lull/tasks/images/psnr.hpp>

#include <lull/tests/tasks/images/image_files.hpp>
#include <lull/tests/tasks/images/raw_jpeg.hpp>

namespace lull {
namespace {

using test::noise;
using test::slopes;
using test::test_folder;

TEST(write_image, a_png_keeps_every_bit) {
  test_folder const folder;
  for (std::uint8_t channels = 1; channels <= 4; ++channels) {
    for (std::uint8_t const bits : {8, 16}) {
      for (int const level : {0, 1, 9}) {
        for (auto const& [width, height] : {std::pair{1U, 1U}, {31U, 7U}, {200U, 300U}}) {
          auto const from = noise({width, height, channels, bits}, channels);
          auto const path = folder.at("any.png");
          write_image(path, image_kind::png, from, {.png_level = level});
          auto const got = decode(path);
          EXPECT_EQ(got.shape, from.shape);
          EXPECT_EQ(got.pixels, from.pixels);
        }
      }
    }
  }
}

TEST(write_image, a_jpeg_is_nearly_the_same) {
  test_folder const folder;
  auto const path = folder.at("any.jpg");
  for (std::uint8_t const channels : {1, 3}) {
    auto const from = slopes(123, 45, channels);
    write_image(path, image_kind::jpeg, from);
    auto const got = decode(path);
    EXPECT_EQ(got.shape, from.shape);
    EXPECT_GT(psnr(got, from), 40);
    write_image(path, image_kind::jpeg, from, {.jpeg_quality = 10});
    EXPECT_LT(psnr(decode(path), from), psnr(got, from));
  }
}

/// Returns the sampling factors of the first component, and whether the file is baseline.
std::pair<int, bool> frame_of(std::string const& path) {
  auto const bytes = test::bytes_of(path);
  auto const frame = bytes.find("\xff\xc0");
  return frame == std::string::npos ? std::pair{0, false} : std::pair{static_cast<int>(bytes[frame + 11]), true};
}

TEST(write_image, a_jpeg_is_baseline_with_halved_colours_unless_asked_otherwise) {
  test_folder const folder;
  auto const path = folder.at("any.jpg");
  write_image(path, image_kind::jpeg, slopes(40, 40, 3));
  EXPECT_EQ(frame_of(path), (std::pair{0x22, true}));
  write_image(path, image_kind::jpeg, slopes(40, 40, 3), {.chroma = jpeg_chroma::full});
  EXPECT_EQ(frame_of(path), (std::pair{0x11, true}));
  write_image(path, image_kind::jpeg, slopes(40, 40, 1));
  EXPECT_EQ(frame_of(path), (std::pair{0x11, true}));
}

image_density through_file(std::string const& path, image_kind kind, image_density const& given) {
  auto from = slopes(4, 4, 3);
  from.extras.density = given;
  write_image(path, kind, from);
  return decode(path).extras.density;
}

TEST(write_image, carries_the_density) {
  using enum density_unit;
  test_folder const folder;
  auto const png = folder.at("any.png");
  auto const jpeg = folder.at("any.jpg");
  for (auto const& density : {image_density{metre, 2835, 11811}, {ratio, 1, 2}, {}}) {
    EXPECT_EQ(through_file(png, image_kind::png, density), density);
  }
  EXPECT_EQ(through_file(png, image_kind::png, {inch, 72, 300}), (image_density{metre, 2835, 11811}));
  EXPECT_EQ(through_file(png, image_kind::png, {centimetre, 28, 118}), (image_density{metre, 2800, 11800}));
  for (auto const& density : {image_density{inch, 72, 300}, {centimetre, 28, 118}, {ratio, 1, 2}}) {
    EXPECT_EQ(through_file(jpeg, image_kind::jpeg, density), density);
  }
  EXPECT_EQ(through_file(jpeg, image_kind::jpeg, {metre, 2835, 11811}), (image_density{inch, 72, 300}));
  EXPECT_EQ(through_file(jpeg, image_kind::jpeg, {ratio, 65536, 131072}), (image_density{ratio, 32768, 65535}));
}

TEST(write_image, the_shipped_photograph_keeps_profile_and_density) {
  test_folder const folder;
  auto const photograph = decode(LULL_DATA_FOLDER "/chelsea.png");
  EXPECT_EQ(photograph.shape, (image_shape{451, 300, 3, 8}));
  EXPECT_GT(photograph.extras.icc_profile.size(), 128);
  EXPECT_EQ(photograph.extras.density, (image_density{density_unit::metre, 2835, 2835}));
  for (auto const kind : {image_kind::png, image_kind::jpeg}) {
    auto const path = folder.at(kind == image_kind::png ? "any.png" : "any.jpg");
    write_image(path, kind, photograph);
    auto const got = decode(path);
    EXPECT_EQ(got.extras.icc_profile, photograph.extras.icc_profile);
    EXPECT_GT(psnr(got, photograph), 30);
    EXPECT_TRUE(kind == image_kind::jpeg || got.pixels == photograph.pixels);
  }
  auto large = photograph;
  large.extras.icc_profile.resize(1'000'000, 7);  // many segments of a JPEG; no profile that libpng takes
  write_image(folder.at("any.jpg"), image_kind::jpeg, large);
  EXPECT_EQ(decode(folder.at("any.jpg")).extras.icc_profile, large.extras.icc_profile);
  write_image(folder.at("any.png"), image_kind::png, large);
  EXPECT_TRUE(decode(folder.at("any.png")).extras.icc_profile.empty());
}

TEST(write_image, the_orientation_is_used_up) {
  test_folder const folder;
  auto const from = slopes(24, 8, 3);
  auto const turned =
      decode(folder.write("turned.jpg", test::encoded({.from = from, .markers = {{1, test::exif(6)}}})));
  write_image(folder.at("upright.jpg"), image_kind::jpeg, turned);
  auto const got = decode(folder.at("upright.jpg"));
  EXPECT_EQ(got.shape, (image_shape{8, 24, 3, 8}));
  EXPECT_GT(psnr(got, turned), 40);
  EXPECT_EQ(test::bytes_of(folder.at("upright.jpg")).find("Exif"), std::string::npos);
}

TEST(write_image, what_the_format_cannot_hold_is_refused_and_nothing_written) {
  test_folder const folder;
  auto const path = folder.at("any");
  auto const expect_refused = [&path](image_kind kind, image from, write_options const& options = {}) {
    EXPECT_THROW(write_image(path, kind, from, options), usage_error);
    EXPECT_FALSE(std::filesystem::exists(path));
  };
  expect_refused(image_kind::jpeg, noise({4, 4, 2, 8}, 1));
  expect_refused(image_kind::jpeg, noise({4, 4, 4, 8}, 1));
  expect_refused(image_kind::jpeg, noise({4, 4, 3, 16}, 1));
  for (auto const kind : {image_kind::png, image_kind::jpeg}) {
    expect_refused(kind, noise({0, 4, 3, 8}, 1));
    expect_refused(kind, noise({32769, 1, 1, 8}, 1));
    expect_refused(kind, noise({4, 4, 5, 8}, 1));
    expect_refused(kind, noise({4, 4, 0, 8}, 1));
    expect_refused(kind, {{4, 4, 3, 8}, std::vector<std::uint8_t>(47), {}});
    expect_refused(kind, noise({4, 4, 3, 8}, 1), {.png_level = 10});
    expect_refused(kind, noise({4, 4, 3, 8}, 1), {.jpeg_quality = 0});
    EXPECT_THROW(write_image(folder.at("missing/any"), kind, noise({4, 4, 3, 8}, 1)), usage_error);
  }
}

TEST(write_image, a_full_disk_is_said) {
  if (!std::filesystem::exists("/dev/full")) {
    GTEST_SKIP() << "there is no /dev/full here";
  }
  auto const from = noise({400, 300, 3, 8}, 1);  // more than any buffer, so that it fails inside the libraries
  EXPECT_THROW(write_image("/dev/full", image_kind::png, from), device_error);
  EXPECT_THROW(write_image("/dev/full", image_kind::jpeg, from), device_error);
}

}  // namespace
}  // namespace lull
