// SPDX-License-Identifier: Apache-2.0
#include <png.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <lull/host/error.hpp>
#include <lull/tasks/images/codec/image_writer.hpp>
#include <lull/tasks/images/codec/library_call.hpp>

namespace lull::detail {
namespace {

constexpr int colour_types[] = {PNG_COLOR_TYPE_GRAY, PNG_COLOR_TYPE_GRAY_ALPHA, PNG_COLOR_TYPE_RGB,
                                PNG_COLOR_TYPE_RGB_ALPHA};

/// Converts to metres, the only unit of PNG.
image_density in_metres(image_density const& given) {
  double const factor = given.unit == density_unit::inch         ? 1 / 0.0254
                        : given.unit == density_unit::centimetre ? 100
                                                                 : 1;
  auto const pixels = [factor](std::uint32_t density) {
    return static_cast<std::uint32_t>(std::min<double>(std::round(density * factor), PNG_UINT_31_MAX));
  };
  return {given.unit, pixels(given.x), pixels(given.y)};
}

class png_writer {
 public:
  png_writer(atomic_file& file, image_to_write const& from) : file_(file), from_(from) {}
  ~png_writer() { png_destroy_write_struct(&png_, &info_); }
  png_writer(png_writer const&) = delete;
  png_writer& operator=(png_writer const&) = delete;

  void write() {
    if (returns(fault_, [this] { write_all(); })) {
      return;
    }
    if (fault_.thrown) {
      std::rethrow_exception(fault_.thrown);
    }
    throw limit_error(file_.path().string() + ": libpng cannot write it: " + fault_.reason.data());
  }

 private:
  void write_all() {
    png_ = png_create_write_struct(PNG_LIBPNG_VER_STRING, &fault_, on_error, on_warning);
    info_ = png_ == nullptr ? nullptr : png_create_info_struct(png_);
    if (info_ == nullptr) {
      fault_.leave("it cannot be started");
    }
    auto const& [shape, pixels, extras, options] = from_;
    png_set_write_fn(png_, this, on_write, on_flush);
    png_set_benign_errors(png_, 1);  // a profile that does not fit is left out
    png_set_compression_level(png_, options.png_level);
    // One filter for all rows: at level 1, trying all five on each doubles the time and saves a twentieth.
    png_set_filter(png_, PNG_FILTER_TYPE_BASE, PNG_FILTER_SUB);
    png_set_IHDR(png_, info_, shape.width, shape.height, shape.bits, colour_types[shape.channels - 1],
                 PNG_INTERLACE_NONE, PNG_COMPRESSION_TYPE_DEFAULT, PNG_FILTER_TYPE_DEFAULT);
    write_extras();
    png_write_info(png_, info_);
    if (shape.bits == 16 && std::endian::native == std::endian::little) {
      png_set_swap(png_);
    }
    for (std::uint32_t row = 0; row < shape.height; ++row) {
      png_write_row(png_, pixels.data() + row * shape.row_bytes());
    }
    png_write_end(png_, nullptr);
  }

  void write_extras() {
    auto const& extras = from_.extras;
    if (!extras.icc_profile.empty()) {
      png_set_iCCP(png_, info_, "ICC profile", PNG_COMPRESSION_TYPE_BASE, extras.icc_profile.data(),
                   static_cast<png_uint_32>(extras.icc_profile.size()));
    }
    if (extras.density.unit != density_unit::none) {
      auto const density = in_metres(extras.density);
      png_set_pHYs(png_, info_, density.x, density.y,
                   density.unit == density_unit::ratio ? PNG_RESOLUTION_UNKNOWN : PNG_RESOLUTION_METER);
    }
  }

  static void on_error(png_structp png, png_const_charp reason) {
    static_cast<library_fault*>(png_get_error_ptr(png))->leave(reason);
  }
  static void on_warning(png_structp /*png*/, png_const_charp /*reason*/) {}
  static void on_write(png_structp png, png_bytep from, std::size_t bytes) {
    auto* const self = static_cast<png_writer*>(png_get_io_ptr(png));
    if (!self->fault_.catches([=] { self->file_.write({reinterpret_cast<char const*>(from), bytes}); })) {
      self->fault_.leave("the file cannot be written");
    }
  }
  static void on_flush(png_structp /*png*/) {}

  atomic_file& file_;
  image_to_write const& from_;
  library_fault fault_;
  png_structp png_ = nullptr;
  png_infop info_ = nullptr;
};

}  // namespace

void write_png(atomic_file& file, image_to_write const& from) { png_writer{file, from}.write(); }

}  // namespace lull::detail
