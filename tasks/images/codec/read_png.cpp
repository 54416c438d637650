// SPDX-License-Identifier: Apache-2.0
#include <png.h>

#include <algorithm>
#include <bit>
#include <lull/host/error.hpp>
#include <lull/tasks/images/codec/exif_orientation.hpp>
#include <lull/tasks/images/codec/image_limits.hpp>
#include <lull/tasks/images/codec/image_reader.hpp>
#include <lull/tasks/images/codec/library_call.hpp>
#include <lull/tasks/images/codec/png_chunks.hpp>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

namespace lull::detail {
namespace {

/// Unused chunks, or read by ourselves. libpng keeps them by default, and they could fill the memory.
constexpr char ignored_chunks[] =
    "bKGD\0cHRM\0eXIf\0gAMA\0hIST\0iTXt\0oFFs\0pCAL\0sBIT\0sCAL\0sPLT\0sRGB\0sTER\0tEXt\0tIME\0zTXt";
constexpr int ignored_count = sizeof ignored_chunks / 5;

/// Chunks without which the pixels are the same, and stay upright as with eXIf. A tRNS with a damaged name is not one.
constexpr std::string_view spare_chunks =
    "bKGD cHRM gAMA hIST iCCP iTXt oFFs pCAL pHYs sBIT sCAL sPLT sRGB sTER tEXt tIME zTXt";

class png_reader final : public image_reader {
 public:
  png_reader(image_file& file, image_colours colours) : file_(file), colours_(colours) {}
  ~png_reader() override { png_destroy_read_struct(&png_, &info_, nullptr); }
  png_reader(png_reader const&) = delete;
  png_reader& operator=(png_reader const&) = delete;

  image_header header() override {
    run([this] { read_to_image_data(); });
    auto const type = png_get_color_type(png_, info_);
    is_made_rgb_ = (type & PNG_COLOR_MASK_COLOR) == 0 && colours_ == image_colours::rgb;
    bool const colour = (type & PNG_COLOR_MASK_COLOR) != 0 || is_made_rgb_;
    bool const alpha = (type & PNG_COLOR_MASK_ALPHA) != 0 || png_get_valid(png_, info_, PNG_INFO_tRNS) != 0;
    shape_ = {.width = png_get_image_width(png_, info_),
              .height = png_get_image_height(png_, info_),
              .channels = static_cast<std::uint8_t>((colour ? 3 : 1) + (alpha ? 1 : 0)),
              .bits = static_cast<std::uint8_t>(png_get_bit_depth(png_, info_) == 16 ? 16 : 8)};
    auto const chunks = find_png_chunks(file_);
    orientation_ = chunks.orientation;
    is_animated_ = chunks.animated;
    bool const whole = orientation_ != 1 && png_get_interlace_type(png_, info_) != PNG_INTERLACE_NONE;
    return {
        .kind = image_kind::png, .shape = upright(orientation_, shape_), .decoder_bytes = whole ? shape_.bytes() : 0};
  }

  image_extras extras() override {
    image_extras found;
    png_charp name = nullptr;
    int method = 0;
    png_bytep profile = nullptr;
    png_uint_32 bytes = 0;
    if (!is_made_rgb_ && png_get_iCCP(png_, info_, &name, &method, &profile, &bytes) == PNG_INFO_iCCP) {
      found.icc_profile.assign(profile, profile + bytes);
    }
    png_uint_32 x = 0;
    png_uint_32 y = 0;
    int unit = 0;
    if (png_get_pHYs(png_, info_, &x, &y, &unit) == PNG_INFO_pHYs && x != 0 && y != 0) {
      found.density = {unit == PNG_RESOLUTION_METER ? density_unit::metre : density_unit::ratio, x, y};
      if (exchanges_sides(orientation_)) {
        std::swap(found.density.x, found.density.y);
      }
    }
    return found;
  }

  void pixels(std::span<std::uint8_t> to) override {
    int passes = 0;
    auto const row_bytes = shape_.row_bytes();
    run([this, row_bytes, &passes] {
      png_set_expand(png_);
      if (is_made_rgb_) {
        png_set_gray_to_rgb(png_);
      }
      if (std::endian::native == std::endian::little) {
        png_set_swap(png_);
      }
      passes = png_set_interlace_handling(png_);
      png_read_update_info(png_, info_);
      if (png_get_rowbytes(png_, info_) != row_bytes) {
        png_error(png_, "rows of an unexpected length");
      }
    });
    auto const strip = orientation_ == 1 || passes > 1 ? shape_.height : strip_rows;
    std::vector<std::uint8_t> stored(orientation_ == 1 ? 0 : std::min(strip, shape_.height) * row_bytes);
    for (std::uint32_t first = 0; first < shape_.height; first += strip) {
      auto const rows = std::min(strip, shape_.height - first);
      run([this, passes, rows, row_bytes, begin = stored.empty() ? to.data() : stored.data()] {
        for (int pass = 0; pass < passes; ++pass) {
          for (std::uint32_t row = 0; row < rows; ++row) {
            png_read_row(png_, begin + row * row_bytes, nullptr);
          }
        }
      });
      if (!stored.empty()) {
        put_upright(orientation_, shape_, std::span{stored}.first(rows * row_bytes), first, to);
      }
    }
    run([this] { png_read_end(png_, nullptr); });
  }

  std::vector<image_note> notes() const override {
    std::vector<image_note> found;
    if (is_animated_) found.push_back(image_note::first_frame);
    if (is_made_rgb_) found.push_back(image_note::grey_made_rgb);
    if (is_chunk_damaged_) found.push_back(image_note::damaged_chunk);
    return found;
  }

 private:
  /// Runs calls of libpng; throws if one of them fails.
  template <class Calls>
  void run(Calls const& calls) {
    if (returns(fault_, calls)) {
      return;
    }
    if (file_.error() != 0) {
      throw input_error(file_.path(), 0, "cannot be read: " + std::generic_category().message(file_.error()));
    }
    throw input_error(
        file_.path(), 0,
        ended_ ? "truncated: the PNG ends before its end mark" : std::string{"damaged PNG: "} + fault_.reason.data());
  }

  void read_to_image_data() {
    png_ = png_create_read_struct(PNG_LIBPNG_VER_STRING, &fault_, on_error, on_warning);
    info_ = png_ == nullptr ? nullptr : png_create_info_struct(png_);
    if (info_ == nullptr) {
      fault_.leave("libpng cannot be started");
    }
    png_set_read_fn(png_, this, on_read);
    png_set_user_limits(png_, PNG_UINT_31_MAX, PNG_UINT_31_MAX);  // ours come later, and say so
    png_set_chunk_malloc_max(png_, max_metadata_bytes);
    png_set_crc_action(png_, PNG_CRC_ERROR_QUIT, PNG_CRC_WARN_DISCARD);  // see on_warning
    png_set_keep_unknown_chunks(png_, PNG_HANDLE_CHUNK_NEVER, nullptr, 0);
    png_set_keep_unknown_chunks(png_, PNG_HANDLE_CHUNK_NEVER, reinterpret_cast<png_const_bytep>(ignored_chunks),
                                ignored_count);
    png_read_info(png_, info_);
  }

  static void on_error(png_structp png, png_const_charp reason) {
    static_cast<library_fault*>(png_get_error_ptr(png))->leave(reason);
  }
  /// Notes that libpng leaves a damaged chunk out ("tEXt: CRC error"). Leaves for one that the picture may need.
  static void on_warning(png_structp png, png_const_charp reason) {
    std::string_view const text{reason};
    if (!text.ends_with("CRC error")) return;
    auto* const self = static_cast<png_reader*>(png_get_io_ptr(png));
    if (spare_chunks.find(text.substr(0, 4)) == spare_chunks.npos) self->fault_.leave(reason);
    self->is_chunk_damaged_ = true;
  }
  static void on_read(png_structp png, png_bytep to, std::size_t bytes) {
    auto* const self = static_cast<png_reader*>(png_get_io_ptr(png));
    if (self->file_.read(to, bytes) < bytes) {
      self->ended_ = true;
      self->fault_.leave("no more data");
    }
  }

  image_file& file_;
  image_colours const colours_;
  library_fault fault_;
  png_structp png_ = nullptr;
  png_infop info_ = nullptr;
  image_shape shape_;  // as stored
  unsigned orientation_ = 1;
  bool is_animated_ = false;
  bool is_chunk_damaged_ = false;
  bool is_made_rgb_ = false;
  bool ended_ = false;
};

}  // namespace

std::unique_ptr<image_reader> read_png(image_file& file, image_colours colours) {
  return std::make_unique<png_reader>(file, colours);
}

}  // namespace lull::detail
