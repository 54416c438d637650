// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <bit>
#include <cmath>
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
  std::uint64_t u64(std::uint64_t place) const noexcept {
    std::uint64_t const first = u32(place);
    std::uint64_t const second = u32(place + 4);
    return little_ ? first | second << 32 : first << 32 | second;
  }
  std::uint32_t at(std::uint64_t place) const noexcept { return place < bytes_.size() ? bytes_[place] : 0; }
  std::uint64_t size() const noexcept { return bytes_.size(); }

 private:
  std::span<std::uint8_t const> bytes_;
  bool little_;
};

/// The numbers of a type that are no text and no bytes; 0 bytes for those and for unknown types.
struct number_type {
  std::uint64_t bytes;
  double (*read)(tiff_bytes const& from, std::uint64_t place);
};

number_type type_of(std::uint32_t code) noexcept {
  using bytes = tiff_bytes const&;
  switch (code) {
    case 3:  // SHORT, and with a sign
    case 8:
      return {2, [](bytes from, std::uint64_t place) -> double { return from.u16(place); }};
    case 4:  // LONG, with a sign, and IFD
    case 9:
    case 13:
      return {4, [](bytes from, std::uint64_t place) -> double { return from.u32(place); }};
    case 6:  // a byte with a sign
      return {1, [](bytes from, std::uint64_t place) -> double { return from.at(place); }};
    case 5:  // RATIONAL
      return {8, [](bytes from, std::uint64_t place) -> double { return 1.0 * from.u32(place) / from.u32(place + 4); }};
    case 10:  // and with a sign
      return {8, [](bytes from, std::uint64_t place) -> double {
                return 1.0 * static_cast<std::int32_t>(from.u32(place)) /
                       static_cast<std::int32_t>(from.u32(place + 4));
              }};
    case 11:
      return {4, [](bytes from, std::uint64_t place) -> double { return std::bit_cast<float>(from.u32(place)); }};
    case 12:
      return {8, [](bytes from, std::uint64_t place) -> double { return std::bit_cast<double>(from.u64(place)); }};
    case 16:  // LONG8 of BigTIFF
      return {8, [](bytes from, std::uint64_t place) -> double { return static_cast<double>(from.u64(place)); }};
    default:
      return {0, nullptr};
  }
}

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

unsigned exif_orientation(std::span<std::uint8_t const> exif) noexcept {
  constexpr auto mark = "Exif\0\0"sv;  // APP1 must begin with it; in eXIf some programs write it, too
  constexpr std::uint32_t orientation_tag = 0x0112;
  constexpr std::uint64_t entry_bytes = 12;
  if (exif.size() >= mark.size() && std::equal(mark.begin(), mark.end(), exif.begin())) {
    exif = exif.subspan(mark.size());
  }
  tiff_bytes const tiff{exif};
  if (!tiff.is_tiff()) {
    return 1;
  }
  std::uint64_t const directory = tiff.u32(4);
  auto const entries = tiff.u16(directory);  // 65535 at most
  double found = 1;
  for (std::uint64_t entry = 0; entry < entries; ++entry) {
    auto const place = directory + 2 + entry * entry_bytes;
    if (tiff.u16(place) != orientation_tag) {
      continue;
    }
    auto const type = type_of(tiff.u16(place + 2));
    auto const bytes = type.bytes * tiff.u32(place + 4);
    auto const value = bytes > 4 ? tiff.u32(place + 8) : place + 8;
    if (bytes != 0 && (bytes <= 4 || value + bytes <= tiff.size())) {
      found = type.read(tiff, value);
    }
  }
  return found >= 1 && found <= 8 && found == std::floor(found) ? static_cast<unsigned>(found) : 1;
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
