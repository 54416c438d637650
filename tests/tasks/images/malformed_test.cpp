// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
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
using test::noise;
using test::raw_png;
using test::scans;
using test::slopes;
using test::test_folder;

void expect_one_line(input_error const& error, std::string const& path) {
  std::string const what = error.what();
  EXPECT_EQ(error.file(), path);
  EXPECT_TRUE(what.starts_with(path + ": ")) << what;
  EXPECT_EQ(what.find_first_of("\r\n"), std::string::npos) << what;
}

void expect_refused(std::string const& path, std::string const& expected, image_limits const& limits = {}) {
  try {
    decode(path, limits);
    ADD_FAILURE() << path << " was read: " << expected;
  } catch (input_error const& error) {
    expect_one_line(error, path);
    EXPECT_NE(std::string{error.what()}.find(expected), std::string::npos) << error.what() << "\n  lacks: " << expected;
  }
}

enum class outcome { refused, read };
outcome read_or_refused(std::string const& path) {
  try {
    auto const header = read_header(path);
    auto const got = decode(path);
    EXPECT_EQ(header.shape, got.shape);
    EXPECT_EQ(got.pixels.size(), got.shape.bytes());
    return outcome::read;
  } catch (input_error const& error) {
    expect_one_line(error, path);
    return outcome::refused;
  }
}

struct small {
  std::string name;
  std::string bytes;
};

std::vector<std::uint16_t> numbers_of(image const& from) { return {from.pixels.begin(), from.pixels.end()}; }

std::vector<small> small_pngs() {
  auto const rgba = noise({7, 5, 4, 8}, 1);
  auto const grey = noise({9, 3, 1, 8}, 2);
  raw_png palette{.width = 9,
                  .height = 3,
                  .type = PNG_COLOR_TYPE_PALETTE,
                  .depth = 8,
                  .interlace = PNG_INTERLACE_ADAM7,
                  .numbers = numbers_of(grey)};
  palette.palette.assign(256, {1, 2, 3});
  palette.palette_alpha.assign(9, 77);
  return {
      {"rgba.png",
       encoded({.width = 7, .height = 5, .type = PNG_COLOR_TYPE_RGB_ALPHA, .depth = 8, .numbers = numbers_of(rgba)})},
      {"turned.png",
       test::with_chunk_after_pixels(
           encoded(
               {.width = 7, .height = 5, .type = PNG_COLOR_TYPE_RGB_ALPHA, .depth = 8, .numbers = numbers_of(rgba)}),
           chunk("eXIf", test::exif(6).substr(6)))},
      {"grey.png",
       encoded({.width = 9, .height = 3, .type = PNG_COLOR_TYPE_GRAY, .depth = 16, .numbers = numbers_of(grey)})},
      {"palette.png", encoded(palette)}};
}

std::vector<small> small_jpegs() {
  auto const from = noise({19, 11, 3, 8}, 3);
  return {{"one.jpg", encoded({.from = from, .markers = {{1, test::exif(6)}}})},
          {"three.jpg", encoded({.from = from, .order = scans::one_a_component})},
          {"progressive.jpg", encoded({.from = from, .order = scans::progressive})},
          {"grey.jpg", encoded({.from = slopes(19, 11, 1), .given = JCS_GRAYSCALE, .stored = JCS_GRAYSCALE})}};
}

TEST(malformed_image, truncated_at_every_byte_is_refused) {
  test_folder const folder;
  for (auto const& files : {small_pngs(), small_jpegs()}) {
    for (auto const& [name, bytes] : files) {
      ASSERT_EQ(read_or_refused(folder.write(name, bytes)), outcome::read) << name;
      std::size_t const end_mark = name.ends_with(".png") ? 0 : 2;  // without it all pixels are there
      for (std::size_t count = 0; count + end_mark < bytes.size(); ++count) {
        auto const path = folder.write(name, bytes.substr(0, count));
        ASSERT_EQ(read_or_refused(path), outcome::refused) << name << " cut at " << count;
        if (count > 8) {
          expect_refused(path, "truncated: the "s + (name.ends_with(".png") ? "PNG" : "JPEG") + " ends before");
        }
      }
    }
  }
}

TEST(malformed_image, a_png_with_any_byte_changed_is_refused) {
  test_folder const folder;
  for (auto const& [name, bytes] : small_pngs()) {
    for (std::size_t at = 0; at < bytes.size(); ++at) {
      for (int const bits : {0x01, 0x20, 0x80, 0xff}) {  // 0x20: ancillary, private, …
        auto damaged = bytes;
        damaged[at] = static_cast<char>(damaged[at] ^ bits);
        ASSERT_EQ(read_or_refused(folder.write(name, damaged)), outcome::refused) << name << " at " << at;
      }
    }
  }
}

TEST(malformed_image, a_jpeg_with_bytes_changed_is_read_or_refused_and_nothing_is_printed) {
  test_folder const folder;
  std::mt19937 random{5};
  int refused = 0;
  ::testing::internal::CaptureStderr();
  ::testing::internal::CaptureStdout();
  for (auto const& [name, bytes] : small_jpegs()) {
    for (int turn = 0; turn < 1000; ++turn) {
      auto damaged = bytes;
      for (unsigned changes = 1 + random() % 3; changes > 0; --changes) {
        damaged[random() % damaged.size()] = static_cast<char>(random());
      }
      refused += read_or_refused(folder.write(name, damaged)) == outcome::refused ? 1 : 0;
    }
  }
  EXPECT_EQ(::testing::internal::GetCapturedStderr(), "");
  EXPECT_EQ(::testing::internal::GetCapturedStdout(), "");
  EXPECT_GT(refused, 400);
  EXPECT_LT(refused, 4000);  // there is no checksum
}

TEST(malformed_image, a_jpeg_with_pixels_that_would_be_guessed_is_refused) {
  test_folder const folder;
  for (auto const& [name, bytes] : small_jpegs()) {
    auto lacking = bytes;
    lacking.erase(bytes.size() - 22, 20);
    expect_refused(folder.write(name, lacking), "damaged JPEG, or one of a kind that is not read: Corrupt JPEG data");
    auto surplus = bytes;
    surplus.insert(bytes.size() - 2, 20, 'x');  // some cameras do that, and every pixel is there
    EXPECT_EQ(decode(folder.write(name, surplus)).pixels, decode(folder.write("plain.jpg", bytes)).pixels);
  }
}

std::string const signature = "\x89PNG\r\n\x1a\n";
std::string png_claiming(std::string const& width, std::string const& height, std::string const& kind) {
  return signature + chunk("IHDR", width + height + kind + "\0\0\0"s) + chunk("IDAT", "x") + chunk("IEND", "");
}

TEST(malformed_image, sizes_are_refused_before_memory_is_taken) {
  test_folder const folder;
  auto const hundred_thousand = "\0\x01\x86\xa0"s;
  auto const limit = "\0\0\x80\0"s;
  auto const rgba16 = "\x10\x06"s;
  auto const huge = folder.write("huge.png", png_claiming(hundred_thousand, hundred_thousand, rgba16));
  expect_refused(huge, "claims 100000 x 100000 pixels: at most 32768 a side");
  EXPECT_THROW(read_header(huge), input_error);
  expect_refused(folder.write("long.png", png_claiming("\x7f\xff\xff\xff"s, "\0\0\0\1"s, rgba16)),
                 "claims 2147483647 x 1");
  expect_refused(folder.write("none.png", png_claiming("\0\0\0\0"s, limit, rgba16)), "damaged PNG");
  auto const largest = folder.write("largest.png", png_claiming(limit, limit, rgba16));
  EXPECT_EQ(read_header(largest).decoded_bytes(), 1ULL << 33);
  expect_refused(largest, "needs 8589934592 bytes of memory to decode: the limit is 1073741824");

  for (auto const& [name, bytes] : small_jpegs()) {
    auto claiming = bytes;
    auto const frame = std::min(bytes.find("\xff\xc0"s), bytes.find("\xff\xc2"s));
    claiming.replace(frame + 5, 4, "\x80\x01\x80\x01"s);
    expect_refused(folder.write(name, claiming), "claims 32769 x 32769 pixels");
    claiming.replace(frame + 5, 4, "\x80\0\x80\0"s);
    expect_refused(folder.write(name, claiming), "bytes of memory to decode: the limit is 1048576",
                   {.max_bytes = 1 << 20});
  }
  auto const path = folder.write("progressive.jpg", small_jpegs()[2].bytes);
  auto const header = read_header(path);
  EXPECT_EQ(header.decoder_bytes, 3 * 3 * 2 * 128);
  expect_refused(path, "the limit is 2930", {.max_bytes = 19 * 11 * 3 + 3 * 3 * 2 * 128 - 1});
  EXPECT_NO_THROW(decode(path, {.max_bytes = 19 * 11 * 3 + 3 * 3 * 2 * 128}));
}

TEST(malformed_image, much_in_a_small_space_is_cut_off) {
  test_folder const folder;
  auto const png = small_pngs()[0].bytes;
  auto const behind_header = signature.size() + 25;
  std::string texts;
  for (int count = 0; count < 3000; ++count) {
    texts += chunk("tEXt", "a\0b"s);  // more than libpng would keep
  }
  EXPECT_EQ(read_or_refused(folder.write("texts.png", std::string{png}.insert(behind_header, texts))), outcome::read);
  auto const large = chunk("tEXt", std::string((16 << 20) + 1, 'x'));
  EXPECT_EQ(read_or_refused(folder.write("large.png", std::string{png}.insert(behind_header, large))), outcome::read);

  auto const jpeg = small_jpegs()[1].bytes;
  std::string segments;
  while (segments.size() < 17 << 20) {
    segments += "\xff\xe1\xff\xff"s + std::string(65533, 'x');
  }
  expect_refused(folder.write("segments.jpg", std::string{jpeg}.insert(2, segments)), "too much metadata");
  auto const scan = jpeg.find("\xff\xda"s);
  auto const next = jpeg.find("\xff\xc4"s, scan);  // a table before the next scan
  ASSERT_NE(next, std::string::npos);
  auto scans = jpeg;
  for (int count = 0; count < 600; ++count) {
    scans.insert(scan, jpeg.substr(scan, next - scan));
  }
  expect_refused(folder.write("scans.jpg", scans), "too many scans");
}

TEST(malformed_image, kinds_that_are_not_read) {
  test_folder const folder;
  auto const two = noise({9, 9, 2, 8}, 1);
  expect_refused(folder.write("two.jpg", encoded({.from = two, .given = JCS_UNKNOWN, .stored = JCS_UNKNOWN})),
                 "2 components of unknown meaning");
  auto deep = small_jpegs()[0].bytes;
  deep[deep.find("\xff\xc0"s) + 4] = 12;
  expect_refused(folder.write("deep.jpg", deep), "precision 12");
  auto lossless = small_jpegs()[0].bytes;
  lossless[lossless.find("\xff\xc0"s) + 1] = '\xc3';
  expect_refused(folder.write("lossless.jpg", lossless), "of a kind that is not read");
}

TEST(malformed_image, names_and_contents_that_differ) {
  test_folder const folder;
  auto const png = small_pngs()[0].bytes;
  auto const jpeg = small_jpegs()[0].bytes;
  expect_refused(folder.write("a.png", jpeg), "is a JPEG, but its name says PNG: rename it");
  expect_refused(folder.write("a.JPG", png), "is a PNG, but its name says JPEG: rename it");
  expect_refused(folder.write("a.jpeg", png), "is a PNG, but its name says JPEG: rename it");
  EXPECT_EQ(read_or_refused(folder.write("a", jpeg)), outcome::read);
  expect_refused(folder.write("empty.png", ""), "is empty");
  expect_refused(folder.write("text.png", "not an image at all"), "is neither a PNG nor a JPEG");
  for (std::string const name : {"a.png", "b.jpg", "c"}) {
    expect_refused(folder.write(name, "<!DOCTYPE html>\n"), "is a web page, as a failed download leaves");
    expect_refused(folder.write(name, "version https://git-lfs.github.com/spec/v1\n"), "is a pointer of Git LFS");
  }
  expect_refused(folder.write("gif.jpg", "GIF89a\1\0\1\0"s),
                 "is neither a PNG nor a JPEG, but a picture of the format GIF, which is not read: convert it");
  expect_refused(folder.write("lines.png", signature.substr(0, 4) + "\n\x1a\n"), "is neither a PNG nor a JPEG");
}

TEST(malformed_image, what_cannot_be_opened_is_refused_at_once) {
  test_folder const folder;
  expect_refused(folder.at("missing.png"), "cannot be opened: No such file or directory");
  ASSERT_EQ(::mkdir(folder.at("folder.png").c_str(), 0700), 0);
  expect_refused(folder.at("folder.png"), "is not a regular file");
  ASSERT_EQ(::mkfifo(folder.at("pipe.png").c_str(), 0600), 0);
  expect_refused(folder.at("pipe.png"), "is not a regular file");
  auto const large = folder.write("large.png", signature);
  ASSERT_EQ(::truncate(large.c_str(), (1L << 30) + 1), 0);  // a hole
  expect_refused(large, "is larger than the 1073741824 bytes allowed");
  auto const locked = folder.write("locked.png", small_pngs()[0].bytes);
  ASSERT_EQ(::chmod(locked.c_str(), 0), 0);
  constexpr uid_t nobody = 65534;
  bool const is_root = ::geteuid() == 0;
  if (is_root && ::seteuid(nobody) != 0) {
    GTEST_SKIP() << "root may read everything here";
  }
  expect_refused(locked, "cannot be opened: Permission denied");
  EXPECT_TRUE(!is_root || ::seteuid(0) == 0);
}

}  // namespace
}  // namespace lull
