// SPDX-License-Identifier: Apache-2.0
// Folders as people have them: pictures of many kinds, and files that are none.
#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <lull/host/error.hpp>
#include <lull/host/io/atomic_file.hpp>

#include <lull/tests/tasks/images/images_job.hpp>
#include <lull/tests/tasks/images/raw_jpeg.hpp>
#include <lull/tests/tasks/images/raw_png.hpp>

namespace lull {
namespace {

using namespace std::string_literals;

class picture_folder : public test::images_job {
 protected:
  void put(std::string const& name, std::string const& bytes) { write_file(folder_ / "in" / name, bytes); }
  std::string logo(image const& of) {
    write_image((folder_ / "logo.png").string(), image_kind::png, of);
    return (folder_ / "logo.png").string();
  }
  static image plain(image_shape const& shape, std::vector<std::uint8_t> const& pixel) {
    image made{shape, {}, {}};
    while (made.pixels.size() < shape.bytes()) made.pixels.insert(made.pixels.end(), pixel.begin(), pixel.end());
    return made;
  }
  static double figure(task_owner const& job, std::string const& name) {
    for (auto const& each : job.figures()) {
      if (each.name == name) return each.value;
    }
    return -1;
  }
};

TEST_F(picture_folder, may_hold_files_that_are_no_pictures) {
  add("a.png", {40, 30, 3, 8});
  put("BMW.csv", "BM,X5\n1,2\n3,4\n");
  put("Thumbs.db", "\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"s + std::string(500, '\0'));
  put("_SUCCESS", "");
  put("film.mp4", "\0\0\0\x20"s + "ftypisom" + std::string(100, '\0'));
  put("labels.csv", "a.png,cat\n");
  put("sound.wav", "RIFF\x24\0\0\0WAVEfmt "s);
  auto const job = owner({{"width", "20"}});
  auto const lines = run(*job);
  EXPECT_EQ(job->failures(), 0U);
  ASSERT_EQ(lines.size(), 2U);
  EXPECT_EQ(lines[1], "left out: 6 files that are no picture: BMW.csv, Thumbs.db, _SUCCESS and 3 more");
  EXPECT_EQ(figure(*job, "left_out"), 6);
  EXPECT_TRUE(job->verify().ok);
}

TEST_F(picture_folder, with_pictures_that_cannot_be_read_fails) {
  add("a.png", {40, 30, 3, 8});
  std::vector<std::pair<std::string, std::string>> const pictures{
      {"animation.gif", "GIF89a\1\0\1\0"s},
      {"paint.bmp", "BM\x46\0\0\0\0\0\0\0\x36\0\0\0"s},
      {"phone.heic", "\0\0\0\x18"s + "ftypheic"},
      {"scan", "II*\0\x08\0\0\0"s},
      {"web.webp", "RIFF\x24\0\0\0WEBPVP8 "s},
      {"cut", "\x89PNG\r\n\x1a\n"},
      {"empty.jpg", ""},
      {"page.png", "<html>404</html>"},
  };
  for (auto const& [name, bytes] : pictures) put(name, bytes);
  auto const job = owner({{"width", "20"}});
  auto const lines = run(*job);
  EXPECT_EQ(job->failures(), pictures.size());
  EXPECT_EQ(figure(*job, "left_out"), 0);
  for (auto const& [name, bytes] : pictures) {
    EXPECT_TRUE(std::any_of(lines.begin(), lines.end(), [&](std::string const& line) {
      return line.find("in/" + name + ": ") != std::string::npos;
    })) << name;
  }
}

TEST_F(picture_folder, without_a_picture_is_refused) {
  put("labels.csv", "a.png,cat\n");
  EXPECT_NE(refusal<input_error>().find("holds no picture: left out: 1 file that is no picture: labels.csv"),
            std::string::npos);
}

TEST_F(picture_folder, may_hold_colours_of_every_kind_and_is_told_what_was_done) {
  auto const cmyk = test::slopes(96, 64, 4);
  auto const whole = encoded(test::raw_jpeg{.from = test::slopes(96, 64, 3)});
  put("cmyk.jpg", encoded(test::raw_jpeg{.from = cmyk, .given = JCS_CMYK, .stored = JCS_CMYK}));
  put("more.jpg", encoded(test::raw_jpeg{.from = cmyk, .given = JCS_CMYK, .stored = JCS_YCCK}));
  put("unmarked.jpg",
      encoded(test::raw_jpeg{.from = cmyk, .given = JCS_CMYK, .stored = JCS_CMYK, .has_adobe_mark = false}));
  put("end.jpg", whole.substr(0, whole.size() - 2) + std::string(100, '\0'));
  auto const twice = "ICC_PROFILE\0\1\1profile"s;
  put("profile.jpg", encoded(test::raw_jpeg{.from = test::slopes(96, 64, 3), .markers = {{2, twice}, {2, twice}}}));
  put("turned.jpg", encoded(test::raw_jpeg{.from = test::slopes(96, 64, 3), .markers = {{1, test::exif(6)}}}));
  test::raw_png turned{.width = 96, .height = 64, .type = PNG_COLOR_TYPE_GRAY, .depth = 8, .numbers = {}};
  turned.numbers.assign(96 * 64, 77);
  put("turned.png", test::with_chunk_after_pixels(encoded(turned), test::chunk("eXIf", test::exif(6).substr(6))));
  auto const job = owner({{"width", "40"}});
  auto const lines = run(*job);
  EXPECT_EQ(job->failures(), 0U);
  for (char const* const flat : {"cmyk.jpg", "more.jpg", "unmarked.jpg", "end.jpg", "profile.jpg"})
    EXPECT_EQ(result(flat).shape, (image_shape{40, 27, 3, 8})) << flat;
  EXPECT_EQ(result("turned.jpg").shape, (image_shape{40, 60, 3, 8}));
  EXPECT_EQ(result("turned.png").shape, (image_shape{40, 60, 1, 8}));
  auto const in = (folder_ / "in").string();
  EXPECT_EQ(std::vector(lines.begin() + 1, lines.end()),
            (std::vector{
                "note: " + in + "/end.jpg: the JPEG's end mark is missing; all pixels are there",
                "note: " + in + "/profile.jpg: the colour profile is damaged, and is left out",
                "note: " + in +
                    "/cmyk.jpg and 1 more: CMYK with Adobe's mark, whose numbers are inverted, was made "
                    "RGB without its profile",
                "note: " + in +
                    "/unmarked.jpg: CMYK without Adobe's mark, where 255 was taken as full ink, was made "
                    "RGB without its profile",
            }));
  EXPECT_EQ(figure(*job, "notes"), 5);
  EXPECT_TRUE(job->verify().ok) << job->verify().message;
}

TEST_F(picture_folder, with_grey_pictures_gets_the_colours_of_its_logo) {
  add("a.png", {40, 30, 1, 8});
  add("b.png", {40, 30, 2, 16});
  put("c.jpg",
      encoded(test::raw_jpeg{.from = test::slopes(40, 30, 1), .given = JCS_GRAYSCALE, .stored = JCS_GRAYSCALE}));
  add("d.png", {40, 30, 3, 8});
  auto const red = logo(plain({4, 3, 3, 8}, {255, 0, 0}));
  auto const job = owner({{"logo", red}, {"opacity", "1"}, {"corner", "top_left"}, {"margin", "0"}});
  auto const lines = run(*job);
  EXPECT_EQ(result("b.png").shape, (image_shape{40, 30, 4, 16}));
  EXPECT_EQ(result("c.jpg").shape, (image_shape{40, 30, 3, 8}));
  image const found = result("a.png");
  image const grey = picture({40, 30, 1, 8});
  ASSERT_EQ(found.shape, (image_shape{40, 30, 3, 8}));
  for (std::size_t at = 0; at < grey.pixels.size(); ++at) {
    bool const covered = at % 40 < 4 && at / 40 < 3;
    for (std::size_t c = 0; c < 3; ++c)
      EXPECT_EQ(found.pixels[3 * at + c], covered ? (c == 0 ? 255 : 0) : grey.pixels[at]) << at;
  }
  ASSERT_EQ(lines.size(), 2U);
  EXPECT_NE(lines[1].find("a.png and 2 more: grey was made RGB"), std::string::npos) << lines[1];
  EXPECT_TRUE(job->verify().ok) << job->verify().message;
}

TEST_F(picture_folder, with_grey_pictures_stays_grey_under_a_logo_without_colours_to_see) {
  add("a.png", {40, 30, 1, 8});
  auto const grey = plain({4, 3, 3, 8}, {9, 9, 9});
  auto const unseen = plain({4, 3, 4, 8}, {255, 0, 0, 0});
  auto const sixteen = plain({4, 3, 3, 16}, {1, 2, 1, 2, 1, 2});
  for (image const& of : {grey, unseen, sixteen, plain({4, 3, 1, 8}, {200})}) {
    run(*owner({{"logo", logo(of)}}));
    EXPECT_EQ(result("a.png").shape.channels, 1);
  }
  run(*owner({{"logo", logo(plain({4, 3, 3, 8}, {255, 0, 0}))}, {"opacity", "0"}}));
  EXPECT_EQ(result("a.png").pixels, picture({40, 30, 1, 8}).pixels);
  run(*owner({{"logo", logo(plain({4, 3, 3, 16}, {1, 2, 1, 2, 1, 3}))}}));
  EXPECT_EQ(result("a.png").shape.channels, 3) << "a colour in the last byte";
}

TEST_F(picture_folder, takes_a_logo_of_inks) {
  add("a.png", {40, 30, 1, 8});
  // Adobe's numbers: what is left of cyan, magenta, yellow, black. All but cyan is: a red logo has none of it.
  auto const inks = plain({8, 8, 4, 8}, {255, 0, 0, 255});
  write_file(folder_ / "logo.jpg",
             encoded(test::raw_jpeg{.from = inks, .given = JCS_CMYK, .stored = JCS_CMYK, .quality = 100}));
  auto const path = (folder_ / "logo.jpg").string();
  auto const job = owner({{"logo", path}, {"opacity", "1"}, {"corner", "top_left"}, {"margin", "0"}});
  auto const lines = run(*job);
  image const found = result("a.png");
  EXPECT_EQ(std::vector(found.pixels.begin(), found.pixels.begin() + 3), (std::vector<std::uint8_t>{255, 0, 0}));
  ASSERT_EQ(lines.size(), 3U);
  EXPECT_NE(lines[1].find(path + ": CMYK with Adobe's mark"), std::string::npos) << lines[1];
}

}  // namespace
}  // namespace lull
