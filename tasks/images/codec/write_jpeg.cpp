// SPDX-License-Identifier: Apache-2.0
#include <cstddef>
#include <cstdio>  // jpeglib.h needs it
//
#include <jpeglib.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <lull/host/error.hpp>
#include <lull/tasks/images/codec/image_writer.hpp>
#include <lull/tasks/images/codec/library_call.hpp>

namespace lull::detail {
namespace {

constexpr std::size_t buffer_bytes = 64UL * 1024;

/// Converts to inches or centimetres in 16 bits, as JFIF requires. Scales a ratio that does not fit.
image_density in_jfif(image_density const& given) {
  constexpr double most = 65535;
  double const larger = std::max({given.x, given.y, 1U});
  double const wanted = given.unit == density_unit::metre ? 0.0254 : 1;
  double const factor = std::min(wanted, most / larger);
  auto const pixels = [factor](std::uint32_t density) {
    return static_cast<std::uint32_t>(std::max(1.0, std::round(density * factor)));
  };
  auto const unit = given.unit == density_unit::metre ? density_unit::inch : given.unit;
  return {factor < wanted ? density_unit::ratio : unit, pixels(given.x), pixels(given.y)};
}

class jpeg_writer {
 public:
  jpeg_writer(atomic_file& file, image_to_write const& from) : file_(file), from_(from) {
    jpeg_.err = jpeg_std_error(&errors_);
    jpeg_.client_data = this;
    errors_.error_exit = on_error;
    errors_.emit_message = [](j_common_ptr, int) {};
    errors_.output_message = [](j_common_ptr) {};
    target_.init_destination = [](j_compress_ptr jpeg) { self(jpeg).empty(); };
    target_.empty_output_buffer = on_full;
    target_.term_destination = [](j_compress_ptr jpeg) { self(jpeg).put(buffer_bytes - jpeg->dest->free_in_buffer); };
  }
  ~jpeg_writer() { jpeg_destroy_compress(&jpeg_); }
  jpeg_writer(jpeg_writer const&) = delete;
  jpeg_writer& operator=(jpeg_writer const&) = delete;

  void write() {
    if (returns(fault_, [this] { write_all(); })) {
      return;
    }
    if (fault_.thrown) {
      std::rethrow_exception(fault_.thrown);
    }
    throw limit_error(file_.path().string() + ": libjpeg cannot write it: " + fault_.reason.data());
  }

 private:
  void write_all() {
    auto const& [shape, pixels, extras, options] = from_;
    jpeg_create_compress(&jpeg_);
    jpeg_.dest = &target_;
    jpeg_.image_width = shape.width;
    jpeg_.image_height = shape.height;
    jpeg_.input_components = shape.channels;
    jpeg_.in_color_space = shape.channels == 1 ? JCS_GRAYSCALE : JCS_RGB;
    jpeg_set_defaults(&jpeg_);
    jpeg_set_quality(&jpeg_, options.jpeg_quality, TRUE);
    int const factor = shape.channels == 3 && options.chroma == jpeg_chroma::halved ? 2 : 1;
    jpeg_.comp_info[0].h_samp_factor = factor;
    jpeg_.comp_info[0].v_samp_factor = factor;
    if (extras.density.unit != density_unit::none) {
      auto const density = in_jfif(extras.density);
      jpeg_.density_unit = density.unit == density_unit::inch ? 1 : density.unit == density_unit::centimetre ? 2 : 0;
      jpeg_.X_density = static_cast<UINT16>(density.x);
      jpeg_.Y_density = static_cast<UINT16>(density.y);
    }
    jpeg_start_compress(&jpeg_, TRUE);
    if (!extras.icc_profile.empty()) {
      jpeg_write_icc_profile(&jpeg_, extras.icc_profile.data(), static_cast<unsigned>(extras.icc_profile.size()));
    }
    while (jpeg_.next_scanline < jpeg_.image_height) {
      auto* row = const_cast<JSAMPLE*>(pixels.data() + jpeg_.next_scanline * shape.row_bytes());  // it only reads
      jpeg_write_scanlines(&jpeg_, &row, 1);
    }
    jpeg_finish_compress(&jpeg_);
  }

  void empty() {
    target_.next_output_byte = buffer_.data();
    target_.free_in_buffer = buffer_bytes;
  }
  void put(std::size_t bytes) {
    if (!fault_.catches([=, this] { file_.write({reinterpret_cast<char const*>(buffer_.data()), bytes}); })) {
      fault_.leave("the file cannot be written");
    }
    empty();
  }

  template <class Jpeg>
  static jpeg_writer& self(Jpeg* jpeg) {
    return *static_cast<jpeg_writer*>(jpeg->client_data);
  }
  static void on_error(j_common_ptr jpeg) {
    std::array<char, JMSG_LENGTH_MAX> reason{};
    jpeg->err->format_message(jpeg, reason.data());
    self(jpeg).fault_.leave(reason.data());
  }
  static boolean on_full(j_compress_ptr jpeg) {
    self(jpeg).put(buffer_bytes);  // all of it, whatever the count says: libjpeg's rule
    return TRUE;
  }

  atomic_file& file_;
  image_to_write const& from_;
  library_fault fault_;
  jpeg_compress_struct jpeg_{};
  jpeg_error_mgr errors_{};
  jpeg_destination_mgr target_{};
  std::array<JOCTET, buffer_bytes> buffer_;
};

}  // namespace

void write_jpeg(atomic_file& file, image_to_write const& from) { jpeg_writer{file, from}.write(); }

}  // namespace lull::detail
