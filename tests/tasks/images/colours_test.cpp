// SPDX-License-Identifier: Apache-2.0
// Colours that are not stored as RGB: CMYK and YCCK, grey that is to be RGB, and profiles that are damaged.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <lull/tasks/images/codec/read_image.hpp>
#include <lull/tasks/images/psnr.hpp>

#include <lull/tests/tasks/images/image_files.hpp>
#include <lull/tests/tasks/images/raw_jpeg.hpp>
#include <lull/tests/tasks/images/raw_png.hpp>

namespace lull {
namespace {

using namespace std::string_literals;
using test::encoded;
using test::scans;
using test::slopes;
using test::test_folder;

image inverted(image from) {
  for (auto& number : from.pixels) {
    number = static_cast<std::uint8_t>(255 - number);
  }
  return from;
}

/// Returns what inks leave of white light, computed in real numbers.
image light(image const& inks) {
  image made{{inks.shape.width, inks.shape.height, 3, 8}, {}, {}};
  for (std::size_t at = 0; at < inks.pixels.size(); at += 4) {
    for (std::size_t ink = 0; ink < 3; ++ink) {
      made.pixels.push_back(static_cast<std::uint8_t>(
          std::lround(255 * (1 - inks.pixels[at + ink] / 255.0) * (1 - inks.pixels[at + 3] / 255.0))));
    }
  }
  return made;
}

TEST(colours, of_inks_become_light) {
  test_folder const folder;
  auto const inks = slopes(37, 29, 4);
  struct kind {
    J_COLOR_SPACE stored;
    scans order;
    bool marked;
  };
  for (auto const& [stored, order, marked] :
       {kind{JCS_CMYK, scans::one, true}, kind{JCS_YCCK, scans::one, true}, kind{JCS_CMYK, scans::one, false},
        kind{JCS_CMYK, scans::progressive, true}, kind{JCS_YCCK, scans::one_a_component, true}}) {
    SCOPED_TRACE(testing::Message() << stored << " " << static_cast<int>(order) << " " << marked);
    auto const given = marked ? inverted(inks) : inks;
    for (unsigned const turned : {1U, 6U}) {
      auto const path = folder.write("any.jpg", encoded({.from = given,
                                                         .given = JCS_CMYK,
                                                         .stored = stored,
                                                         .order = order,
                                                         .quality = 100,
                                                         .markers = {{1, test::exif(turned)}},
                                                         .has_adobe_mark = marked}));
      auto const wanted = test::upright(turned, light(inks));
      EXPECT_EQ(read_header(path).shape, wanted.shape);
      auto const got = decode(path);
      EXPECT_EQ(got.shape, wanted.shape);
      EXPECT_GT(psnr(got, wanted), 45);
      EXPECT_EQ(got.extras.notes, std::vector{marked ? image_note::inverted_inks : image_note::inks});
    }
  }
}

TEST(colours, of_inks_at_their_ends) {
  test_folder const folder;
  auto const read = [&](std::vector<std::uint8_t> const& ink) {
    image from{{8, 8, 4, 8}, {}, {}};
    for (int pixel = 0; pixel < 64; ++pixel) {
      from.pixels.insert(from.pixels.end(), ink.begin(), ink.end());
    }
    auto const got = decode(folder.write(
        "any.jpg", encoded({.from = inverted(from), .given = JCS_CMYK, .stored = JCS_CMYK, .quality = 100})));
    return std::vector(got.pixels.begin(), got.pixels.begin() + 3);
  };
  using rgb = std::vector<std::uint8_t>;
  EXPECT_EQ(read({0, 0, 0, 0}), (rgb{255, 255, 255}));
  EXPECT_EQ(read({0, 0, 0, 255}), (rgb{0, 0, 0}));
  EXPECT_EQ(read({255, 0, 0, 0}), (rgb{0, 255, 255}));
  EXPECT_EQ(read({0, 255, 255, 0}), (rgb{255, 0, 0}));
  EXPECT_EQ(read({255, 255, 255, 255}), (rgb{0, 0, 0}));
}

std::string profile_part(int number, int of, std::string const& content) {
  return "ICC_PROFILE\0"s + static_cast<char>(number) + static_cast<char>(of) + content;
}

TEST(colours, with_a_damaged_profile_are_read_without_it) {
  test_folder const folder;
  auto const from = slopes(20, 10, 3);
  auto const plain = decode(folder.write("plain.jpg", encoded({.from = from})));
  using parts = std::vector<std::pair<int, std::string>>;
  std::string const body(200, 'p');
  auto const read = [&](parts const& markers) {
    auto const got = decode(folder.write("any.jpg", encoded({.from = from, .markers = markers})));
    EXPECT_EQ(got.pixels, plain.pixels);
    return got.extras;
  };
  for (parts const& damaged :
       {parts{{2, profile_part(1, 1, body)}, {2, profile_part(1, 1, body)}}, parts{{2, profile_part(1, 2, body)}},
        parts{{2, profile_part(2, 2, body)}}, parts{{2, profile_part(1, 2, body)}, {2, profile_part(2, 3, body)}},
        parts{{2, profile_part(0, 1, body)}}, parts{{2, profile_part(3, 2, body)}},
        parts{{2, profile_part(1, 1, "")}}}) {
    auto const extras = read(damaged);
    EXPECT_TRUE(extras.icc_profile.empty());
    EXPECT_EQ(extras.notes, std::vector{image_note::damaged_profile});
  }
  for (parts const& whole :
       {parts{{2, profile_part(1, 1, body)}}, parts{{2, profile_part(2, 2, "qq")}, {2, profile_part(1, 2, body)}}}) {
    auto const extras = read(whole);
    EXPECT_GE(extras.icc_profile.size(), body.size());
    EXPECT_TRUE(extras.notes.empty());
  }
}

TEST(colours, of_inks_go_without_their_profile) {
  test_folder const folder;
  auto const path = folder.write("any.jpg", encoded({.from = slopes(20, 10, 4),
                                                     .given = JCS_CMYK,
                                                     .stored = JCS_CMYK,
                                                     .markers = {{2, profile_part(1, 1, "of inks")}}}));
  EXPECT_TRUE(decode(path).extras.icc_profile.empty());
}

TEST(colours, are_made_of_grey_where_they_are_wanted) {
  test_folder const folder;
  auto const grey = slopes(20, 10, 1);
  auto const jpeg = folder.write("grey.jpg", encoded({.from = grey,
                                                      .given = JCS_GRAYSCALE,
                                                      .stored = JCS_GRAYSCALE,
                                                      .markers = {{2, profile_part(1, 1, "of grey")}}}));
  std::vector<std::string> files{jpeg};
  for (auto const& [type, depth] :
       {std::pair{PNG_COLOR_TYPE_GRAY, 8}, {PNG_COLOR_TYPE_GRAY, 16}, {PNG_COLOR_TYPE_GRAY_ALPHA, 8}}) {
    test::raw_png png{.width = 4, .height = 2, .type = type, .depth = depth, .numbers = {1, 2, 3, 4, 5, 6, 7, 8}};
    png.numbers.resize(8 * png.channels(), 9);
    files.push_back(folder.write("grey" + std::to_string(files.size()) + ".png", encoded(png)));
  }
  for (auto const& path : files) {
    auto const stored = decode(path);
    auto const got = decode(path, {}, image_colours::rgb);
    EXPECT_EQ(read_header(path, image_colours::rgb).shape, got.shape);
    EXPECT_EQ(got.extras.notes, std::vector{image_note::grey_made_rgb});
    EXPECT_TRUE(stored.extras.notes.empty());
    EXPECT_TRUE(got.extras.icc_profile.empty());
    auto const bytes = stored.shape.bits / 8U;
    auto const channels = stored.shape.channels;
    ASSERT_EQ(got.shape.channels, channels + 2);
    ASSERT_EQ(got.shape.bits, stored.shape.bits);
    for (std::size_t pixel = 0; pixel < stored.pixels.size() / (bytes * channels); ++pixel) {
      auto const part = [&](image const& of, std::size_t channel) {
        auto const first = (pixel * of.shape.channels + channel) * bytes;
        return std::string(of.pixels.begin() + static_cast<std::ptrdiff_t>(first),
                           of.pixels.begin() + static_cast<std::ptrdiff_t>(first + bytes));
      };
      for (std::size_t channel = 0; channel < 3; ++channel) {
        EXPECT_EQ(part(got, channel), part(stored, 0));
      }
      if (channels == 2) {
        EXPECT_EQ(part(got, 3), part(stored, 1));
      }
    }
  }
  auto const colours = folder.write("colours.jpg", encoded({.from = slopes(20, 10, 3)}));
  EXPECT_EQ(decode(colours, {}, image_colours::rgb).pixels, decode(colours).pixels);
}

TEST(colours, of_inks_are_what_pillow_makes_of_them) {
  auto const python = [](std::string const& line) {
    return std::system(("\"" LULL_PYTHON "\" -c '" + line + "' 2> /dev/null").c_str()) == 0;
  };
  if (!python("import PIL.Image")) {
    GTEST_SKIP() << "NOT RUN: " LULL_PYTHON " has no pillow";
  }
  test_folder const folder;
  folder.write("ycck.jpg", encoded({.from = test::noise({40, 24, 4, 8}, 3), .given = JCS_CMYK, .stored = JCS_YCCK}));
  ASSERT_TRUE(python(R"(
from PIL import Image
folder = ")" + folder.at("") +
                     R"("
im = Image.linear_gradient("L")
Image.merge("CMYK", [im, im.rotate(90), im.rotate(180), im.rotate(270)]).save(folder + "cmyk.jpg", quality=100)
for name in ("cmyk", "ycck"):
  Image.open(folder + name + ".jpg").convert("RGB").save(folder + name + ".png")
)"));
  for (std::string const name : {"cmyk", "ycck"}) {
    auto const wanted = decode(folder.at(name + ".png"));
    auto const got = decode(folder.at(name + ".jpg"));
    EXPECT_EQ(got.shape, wanted.shape) << name;
    EXPECT_GT(psnr(got, wanted), 50) << name;
  }
}

}  // namespace
}  // namespace lull
