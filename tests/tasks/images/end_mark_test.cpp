// SPDX-License-Identifier: Apache-2.0
// JPEGs that end without their end mark: with all of their pixels, or without.
#include <gtest/gtest.h>

#include <lull/host/error.hpp>
#include <lull/tasks/images/codec/read_image.hpp>

#include <lull/tests/tasks/images/image_files.hpp>
#include <lull/tests/tasks/images/raw_jpeg.hpp>

namespace lull {
namespace {

using test::encoded;
using test::exif;
using test::scans;
using test::test_folder;

constexpr std::size_t end_mark = 2;  // bytes

class jpeg_without_end : public testing::Test {
 protected:
  void expect_read(std::string const& whole, std::string const& without) const {
    auto const wanted = decode(folder_.write("whole.jpg", whole));
    EXPECT_TRUE(wanted.extras.notes.empty());
    auto const path = folder_.write("without.jpg", without);
    EXPECT_EQ(read_header(path).shape, wanted.shape);
    auto const got = decode(path);
    EXPECT_EQ(got.pixels, wanted.pixels);
    EXPECT_EQ(got.extras.notes, std::vector{image_note::no_end_mark});
  }
  void expect_truncated(std::string const& bytes) const {
    try {
      decode(folder_.write("truncated.jpg", bytes));
      ADD_FAILURE() << "was read";
    } catch (input_error const& reason) {
      EXPECT_NE(std::string{reason.what()}.find("truncated: the JPEG ends before its end mark"), std::string::npos)
          << reason.what();
    }
  }

  test_folder const folder_;
};

std::vector<std::string> some_jpegs() {
  static auto const colours = test::noise({61, 43, 3, 8}, 1);
  static auto const grey = test::noise({61, 43, 1, 8}, 2);
  return {encoded({.from = colours}), encoded({.from = colours, .markers = {{1, exif(6)}}}),
          encoded({.from = grey, .given = JCS_GRAYSCALE, .stored = JCS_GRAYSCALE}),
          encoded({.from = colours, .order = scans::one_a_component}),
          encoded({.from = colours, .order = scans::progressive})};
}

TEST_F(jpeg_without_end, is_read_if_its_pixels_are_there) {
  for (auto const& whole : some_jpegs()) {
    auto const cut = whole.substr(0, whole.size() - end_mark);
    expect_read(whole, cut);
    expect_read(whole, cut + "\xff");
    for (std::size_t const zeros : {1U, 100U, 4096U, 70'000U, 200'000U}) {
      expect_read(whole, cut + std::string(zeros, '\0'));
    }
  }
}

TEST_F(jpeg_without_end, is_refused_if_pixels_are_missing) {
  for (auto const& whole : some_jpegs()) {
    for (std::size_t const lost : {1U, 2U, 5U, 100U, 1000U}) {
      auto const cut = whole.substr(0, whole.size() - end_mark - lost);
      expect_truncated(cut);
      for (std::size_t const zeros : {lost, std::size_t{4096}, std::size_t{70'000}}) {
        expect_truncated(cut + std::string(zeros, '\0'));
      }
    }
    // Nobody knows what these are.
    expect_truncated(whole.substr(0, whole.size() - end_mark) + std::string(100, 'x'));
  }
}

TEST_F(jpeg_without_end, is_refused_if_a_scan_is_missing) {
  auto const from = test::noise({61, 43, 3, 8}, 1);
  for (auto const order : {scans::one_a_component, scans::progressive}) {
    auto const whole = encoded({.from = from, .order = order});
    std::size_t scans = 0;
    for (auto at = whole.find("\xff\xda"); (at = whole.find("\xff\xda", at + 1)) != std::string::npos; ++scans) {
      expect_truncated(whole.substr(0, whole.rfind("\xff\xc4", at)));  // before the scan's tables
      expect_truncated(whole.substr(0, at));
      expect_truncated(whole.substr(0, at) + std::string(100, '\0'));
    }
    EXPECT_GE(scans, 2U);
  }
}

/// … because the decoder of arithmetic coding takes zeros for what is missing, and says nothing.
TEST_F(jpeg_without_end, is_refused_if_its_coding_hides_what_is_missing) {
  auto const from = test::noise({61, 43, 3, 8}, 1);
  auto const whole = encoded({.from = from, .arithmetic = true});
  EXPECT_NO_THROW(decode(folder_.write("whole.jpg", whole)));
  expect_truncated(whole.substr(0, whole.size() - end_mark));
  expect_truncated(whole.substr(0, whole.size() / 2));
}

/// … whatever its data ends with: 0xFF is followed by a zero, which is no filling.
TEST_F(jpeg_without_end, is_read_or_refused_for_a_zero_of_its_own) {
  int of_stuffed_zeros = 0;
  for (unsigned seed = 0; seed < 600; ++seed) {
    auto const whole =
        encoded({.from = test::noise({8, 8, 1, 8}, seed), .given = JCS_GRAYSCALE, .stored = JCS_GRAYSCALE});
    auto const cut = whole.substr(0, whole.size() - end_mark);
    bool const is_stuffed = cut.ends_with(std::string{"\xff\0", 2});
    of_stuffed_zeros += is_stuffed ? 1 : 0;
    if (is_stuffed || cut.back() != '\0') {
      expect_read(whole, cut);
      expect_read(whole, cut + std::string(50, '\0'));
    } else {
      expect_truncated(cut);
    }
  }
  EXPECT_GT(of_stuffed_zeros, 0);
}

}  // namespace
}  // namespace lull
