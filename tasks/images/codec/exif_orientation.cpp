// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstring>
#include <lull/tasks/images/codec/exif_orientation.hpp>
#include <string_view>

namespace lull::detail {
namespace {

using namespace std::string_view_literals;

/// Reads numbers of a TIFF file in memory. What lies outside reads as 0.
class tiff_bytes {
 public:
  explicit tiff_bytes(std::span<std::uint8_t const> bytes) noexcept : bytes_(bytes), little_(at(0) == 'I') {}

  bool is_tiff() const noexcept { return at(0) == at(1) && (at(0) == 'I' || at(0) == 'M') && u16(2) == 42; }
  std::uint32_t u16(std::uint64_t place) const noexcept {
    auto const first = at(place);
    auto const second = at(place + 1);
    return little_ ? first | second << 8 : first << 8 | second;
  }
  std::uint32_t u32(std::uint64_t place) const noexcept {
    auto const first = u16(place);
    auto const second = u16(place + 2);
    return little_ ? first | second << 16 : first << 16 | second;
  }

 private:
  std::uint32_t at(std::uint64_t place) const noexcept { return place < bytes_.size() ? bytes_[place] : 0; }

  std::span<std::uint8_t const> bytes_;
  bool little_;
};

/// The pixel of column x and row y belongs at first + x * column + y * row, in pixels.
struct upright_steps {
  std::ptrdiff_t first;
  std::ptrdiff_t column;
  std::ptrdiff_t row;
};

upright_steps steps_of(unsigned orientation, image_shape const& stored) noexcept {
  auto const w = static_cast<std::ptrdiff_t>(stored.width);
  auto const h = static_cast<std::ptrdiff_t>(stored.height);
  switch (orientation) {
    case 2:
      return {w - 1, -1, w};
    case 3:
      return {w * h - 1, -1, -w};
    case 4:
      return {w * (h - 1), 1, -w};
    case 5:
      return {0, h, 1};
    case 6:
      return {h - 1, h, -1};
    case 7:
      return {w * h - 1, -h, -1};
    case 8:
      return {h * (w - 1), -h, 1};
    default:
      return {0, 1, w};
  }
}

}  // namespace

unsigned exif_orientation(std::span<std::uint8_t const> segment) noexcept {
  constexpr auto mark = "Exif\0\0"sv;
  constexpr std::uint32_t orientation_tag = 0x0112;
  constexpr std::uint32_t short_type = 3;
  constexpr std::uint64_t entry_bytes = 12;
  if (segment.size() < mark.size() || !std::equal(mark.begin(), mark.end(), segment.begin())) {
    return 1;
  }
  tiff_bytes const tiff{segment.subspan(mark.size())};
  if (!tiff.is_tiff()) {
    return 1;
  }
  std::uint64_t const directory = tiff.u32(4);
  auto const entries = tiff.u16(directory);  // 65535 at most
  for (std::uint64_t entry = 0; entry < entries; ++entry) {
    auto const place = directory + 2 + entry * entry_bytes;
    if (tiff.u16(place) == orientation_tag) {
      auto const value = tiff.u16(place + 8);
      bool const valid = tiff.u16(place + 2) == short_type && tiff.u32(place + 4) == 1 && value >= 1 && value <= 8;
      return valid ? value : 1;
    }
  }
  return 1;
}

void put_upright(unsigned orientation, image_shape const& stored, std::span<std::uint8_t const> rows,
                 std::uint32_t first_row, std::span<std::uint8_t> to) noexcept {
  auto const steps = steps_of(orientation, stored);
  auto const bytes = stored.pixel_bytes();
  auto const count = rows.size() / stored.row_bytes();
  for (std::size_t x = 0; x < stored.width; ++x) {
    for (std::size_t y = 0; y < count; ++y) {
      auto const pixel = steps.first + static_cast<std::ptrdiff_t>(x) * steps.column +
                         static_cast<std::ptrdiff_t>(first_row + y) * steps.row;
      std::memcpy(to.data() + static_cast<std::size_t>(pixel) * bytes, rows.data() + (y * stored.width + x) * bytes,
                  bytes);
    }
  }
}

}  // namespace lull::detail
