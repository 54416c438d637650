// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cstdlib>
#include <lull/tasks/images/codec/read_image.hpp>
#include <lull/tasks/images/codec/write_image.hpp>
#include <lull/tasks/images/psnr.hpp>
#include <lull/tasks/images/reference_resize.hpp>

#include <lull/tests/tasks/images/image_files.hpp>

namespace lull {
namespace {

using test::test_folder;

bool python(std::string const& line) {
  return std::system(("\"" LULL_PYTHON "\" -c '" + line + "' 2> /dev/null").c_str()) == 0;
}

class pillow : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!python("import PIL.Image")) {
      GTEST_SKIP() << "NOT RUN: " LULL_PYTHON
                      " has no pillow: the references are held against hand-computed cases only";
    }
  }

  /// Returns an image as pillow resizes it.
  image resized(image const& from, std::uint32_t width, std::uint32_t height, std::string const& filter) const {
    write_image(folder.at("from.png"), image_kind::png, from);
    auto const size = "(" + std::to_string(width) + "," + std::to_string(height) + ")";
    EXPECT_TRUE(python("from PIL import Image; Image.open(\"" + folder.at("from.png") + "\").resize(" + size +
                       ", Image.Resampling." + filter + ").save(\"" + folder.at("to.png") + "\")"));
    return decode(folder.at("to.png"));
  }

  test_folder const folder;
};

TEST_F(pillow, resizes_as_the_references_do) {
  auto const photograph = decode(LULL_DATA_FOLDER "/chelsea.png");
  auto grey = photograph;
  grey.shape.channels = 1;  // three times as wide a picture would be: a part of it, with its sharp stripes, will do
  grey.pixels.resize(grey.shape.bytes());
  for (auto const& from : {photograph, grey}) {
    for (auto const& [width, height] : {std::pair{200U, 133U}, {450U, 299U}, {97U, 500U}, {777U, 431U}, {1U, 1U}}) {
      auto const pillow = resized(from, width, height, "LANCZOS");
      EXPECT_GE(psnr(reference_resize(from, width, height, image_filter::lanczos3), pillow), 50) << width;
    }
  }
  // Pillow's BOX takes whole pixels by their centres, so it agrees where the ratio is a whole number.
  EXPECT_GE(psnr(reference_resize(photograph, 41, 75, image_filter::area), resized(photograph, 41, 75, "BOX")), 50);
}

TEST_F(pillow, reads_what_is_written) {
  for (auto const& [channels, mode] : {std::pair{1, "L"}, {2, "LA"}, {3, "RGB"}, {4, "RGBA"}}) {
    auto const from = test::noise({21, 13, static_cast<std::uint8_t>(channels), 8}, 3);
    write_image(folder.at("any.png"), image_kind::png, from);
    EXPECT_TRUE(python("from PIL import Image; im = Image.open(\"" + folder.at("any.png") + "\"); open(\"" +
                       folder.at("bytes") + "\", \"wb\").write(im.tobytes()); assert im.mode == \"" + mode + "\""));
    auto const bytes = test::bytes_of(folder.at("bytes"));
    EXPECT_EQ(bytes, std::string(from.pixels.begin(), from.pixels.end())) << mode;
  }
}

TEST_F(pillow, turns_jpegs_as_we_do) {
  auto const photograph = decode(LULL_DATA_FOLDER "/chelsea.png");
  write_image(folder.at("stored.jpg"), image_kind::jpeg, photograph);
  for (int orientation = 1; orientation <= 8; ++orientation) {
    ASSERT_TRUE(python("from PIL import Image, ImageOps; im = Image.open(\"" + folder.at("stored.jpg") +
                       "\"); e = im.getexif(); e[274] = " + std::to_string(orientation) + "; im.save(\"" +
                       folder.at("turned.jpg") + "\", exif=e, quality=95); ImageOps.exif_transpose(Image.open(\"" +
                       folder.at("turned.jpg") + "\")).save(\"" + folder.at("upright.png") + "\")"));
    EXPECT_GE(psnr(decode(folder.at("turned.jpg")), decode(folder.at("upright.png"))), 50) << orientation;
  }
}

}  // namespace
}  // namespace lull
