// SPDX-License-Identifier: Apache-2.0
#include <cstddef>
#include <cstdio>  // jpeglib.h needs it
//
#include <jpeglib.h>
// After jpeglib.h, which says of which version the library is: the messages' numbers depend on it.
#include <jerror.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <lull/host/error.hpp>
#include <lull/tasks/images/codec/exif_orientation.hpp>
#include <lull/tasks/images/codec/image_limits.hpp>
#include <lull/tasks/images/codec/image_reader.hpp>
#include <lull/tasks/images/codec/library_call.hpp>
#include <new>
#include <string>
#include <system_error>
#include <vector>

#ifndef LIBJPEG_TURBO_VERSION_NUMBER
#error "this is not libjpeg-turbo, which reads and writes ICC profiles: install libjpeg-dev of Debian or Ubuntu"
#endif

namespace lull::detail {
namespace {

constexpr std::size_t buffer_bytes = 64UL * 1024;
constexpr unsigned max_marker = 0xffff;

/// Returns whether libjpeg's warning leaves the image whole: every other warning means that pixels were guessed.
bool is_harmless(int code) {
  return code == JWRN_EXTRANEOUS_DATA || code == JWRN_JFIF_MAJOR || code == JWRN_ADOBE_XFORM ||
         code == JWRN_NOT_SEQUENTIAL || code == JWRN_BOGUS_ICC;
}

/// How a file stores the inks of CMYK.
enum class inks { none, full_is_255, full_is_0 };

/// Makes RGB of what the inks of each pixel leave of white.
void put_light(std::span<std::uint8_t const> cmyk, inks stored, std::uint8_t* to) noexcept {
  unsigned const inverts = stored == inks::full_is_255 ? 255 : 0;
  for (std::size_t at = 0; at < cmyk.size(); at += 4) {
    unsigned const unblackened = cmyk[at + 3] ^ inverts;
    for (std::size_t ink = 0; ink < 3; ++ink) {
      *to++ = static_cast<std::uint8_t>(((cmyk[at + ink] ^ inverts) * unblackened + 127) / 255);
    }
  }
}

class jpeg_reader final : public image_reader {
 public:
  jpeg_reader(image_file& file, image_colours colours) : file_(file), colours_(colours) {
    file_.leave_out_zeros();
    jpeg_.err = jpeg_std_error(&errors_);
    jpeg_.client_data = this;
    errors_.error_exit = on_error;
    errors_.emit_message = on_message;
    errors_.output_message = [](j_common_ptr) {};
    progress_.progress_monitor = on_progress;
    source_.init_source = [](j_decompress_ptr) {};
    source_.fill_input_buffer = on_fill;
    source_.skip_input_data = on_skip;
    source_.resync_to_restart = jpeg_resync_to_restart;
    source_.term_source = [](j_decompress_ptr) {};
  }
  ~jpeg_reader() override { jpeg_destroy_decompress(&jpeg_); }
  jpeg_reader(jpeg_reader const&) = delete;
  jpeg_reader& operator=(jpeg_reader const&) = delete;

  image_header header() override {
    run([this] { read_to_image_data(); });
    choose_colours();
    for (auto const* marker = jpeg_.marker_list; marker != nullptr && orientation_ == 1; marker = marker->next) {
      if (marker->marker == JPEG_APP0 + 1) {
        orientation_ = exif_orientation({marker->data, marker->data_length});
      }
    }
    shape_ = {.width = jpeg_.image_width,
              .height = jpeg_.image_height,
              .channels = static_cast<std::uint8_t>(jpeg_.out_color_space == JCS_GRAYSCALE ? 1 : 3),
              .bits = 8};
    return {.kind = image_kind::jpeg, .shape = upright(orientation_, shape_), .decoder_bytes = coefficient_bytes()};
  }

  image_extras extras() override {
    image_extras found;
    unsigned char* profile = nullptr;
    unsigned bytes = 0;
    run([this, &profile, &bytes] { jpeg_read_icc_profile(&jpeg_, &profile, &bytes); });
    std::unique_ptr<unsigned char, void (*)(void*)> const owned{profile, std::free};
    if (inks_ == inks::none && !is_made_rgb_) {  // it would be of other colours
      found.icc_profile.assign(profile, profile + bytes);
    }
    if (jpeg_.saw_JFIF_marker && jpeg_.X_density != 0 && jpeg_.Y_density != 0 && jpeg_.density_unit <= 2) {
      constexpr std::array units{density_unit::ratio, density_unit::inch, density_unit::centimetre};
      found.density = {units.at(jpeg_.density_unit), jpeg_.X_density, jpeg_.Y_density};
      if (exchanges_sides(orientation_)) {
        std::swap(found.density.x, found.density.y);
      }
    }
    return found;
  }

  void pixels(std::span<std::uint8_t> to) override {
    auto const row_bytes = shape_.row_bytes();
    std::vector<std::uint8_t> strip(orientation_ == 1 ? 0 : strip_rows * row_bytes);
    std::vector<std::uint8_t> cmyk(inks_ == inks::none ? 0 : shape_.width * std::size_t{4});
    run([this] { jpeg_start_decompress(&jpeg_); });
    for (std::uint32_t row = 0; row < shape_.height;) {
      auto const rows = std::min(strip_rows, shape_.height - row);
      auto* const begin = strip.empty() ? to.data() + row * row_bytes : strip.data();
      run([this, begin, row_bytes, end = row + rows, of_inks = std::span{cmyk}] {
        auto* at = begin;
        while (jpeg_.output_scanline < end) {
          auto* read = of_inks.empty() ? at : of_inks.data();
          jpeg_read_scanlines(&jpeg_, &read, 1);
          if (!of_inks.empty()) {
            put_light(of_inks, inks_, at);
          }
          at += row_bytes;
        }
      });
      if (!strip.empty()) {
        put_upright(orientation_, shape_, std::span{strip}.first(rows * row_bytes), row, to);
      }
      row += rows;
    }
    bool const all_there = has_all_pixels();
    run([this] { jpeg_finish_decompress(&jpeg_); });
    if (ended_ && !all_there) {
      refuse_truncated();
    }
  }

  std::vector<image_note> notes() const override {
    std::vector<image_note> made;
    auto const add_if = [&made](bool so, image_note note) {
      if (so) {
        made.push_back(note);
      }
    };
    add_if(ended_, image_note::no_end_mark);
    add_if(has_damaged_profile_ && inks_ == inks::none, image_note::damaged_profile);
    add_if(inks_ == inks::full_is_0, image_note::inverted_inks);
    add_if(inks_ == inks::full_is_255, image_note::inks);
    add_if(is_made_rgb_, image_note::grey_made_rgb);
    return made;
  }

 private:
  /// Runs calls of libjpeg; throws if one of them fails.
  template <class Calls>
  void run(Calls const& calls) {
    if (returns(fault_, calls)) {
      return;
    }
    if (errors_.msg_code == JERR_OUT_OF_MEMORY) {
      throw std::bad_alloc();
    }
    if (file_.error() != 0) {
      throw input_error(file_.path(), 0, "cannot be read: " + std::generic_category().message(file_.error()));
    }
    if (ended_) {
      refuse_truncated();
    }
    throw input_error(file_.path(), 0,
                      std::string{"damaged JPEG, or one of a kind that is not read: "} + fault_.reason.data());
  }
  [[noreturn]] void refuse_truncated() const {
    throw input_error(file_.path(), 0, "truncated: the JPEG ends before its end mark");
  }

  /// Returns whether every scan was read that the image needs, so that no scan can have been lost at the end.
  /// A scan that is cut off raises a warning, except with arithmetic coding, whose decoder takes zeros instead.
  bool has_all_pixels() const noexcept {
    for (int index = 0; index < jpeg_.num_components; ++index) {
      if (jpeg_.comp_info[index].quant_table == nullptr) {  // set by its first scan
        return false;
      }
      // For each coefficient the bits that are still unknown, -1: all
      auto const* const bits = jpeg_.progressive_mode ? jpeg_.coef_bits[index] : nullptr;
      if (bits != nullptr && std::any_of(bits, bits + DCTSIZE2, [](int unknown) { return unknown != 0; })) {
        return false;
      }
    }
    return !jpeg_.arith_code;
  }

  void read_to_image_data() {
    jpeg_create_decompress(&jpeg_);
    jpeg_.src = &source_;
    jpeg_.progress = &progress_;
    jpeg_save_markers(&jpeg_, JPEG_APP0 + 1, max_marker);
    jpeg_save_markers(&jpeg_, JPEG_APP0 + 2, max_marker);
    jpeg_read_header(&jpeg_, TRUE);
    // A file may have endlessly many more of them between scans.
    jpeg_save_markers(&jpeg_, JPEG_APP0 + 1, 0);
    jpeg_save_markers(&jpeg_, JPEG_APP0 + 2, 0);
    in_header_ = false;
  }

  void choose_colours() {
    switch (jpeg_.jpeg_color_space) {
      case JCS_GRAYSCALE:
        is_made_rgb_ = colours_ == image_colours::rgb;
        jpeg_.out_color_space = is_made_rgb_ ? JCS_RGB : JCS_GRAYSCALE;
        return;
      case JCS_YCbCr:
      case JCS_RGB:
        jpeg_.out_color_space = JCS_RGB;
        return;
      case JCS_CMYK:
      case JCS_YCCK:
        // Adobe's programs, and all that write its mark, store what an ink leaves of the light.
        inks_ = jpeg_.saw_Adobe_marker ? inks::full_is_0 : inks::full_is_255;
        jpeg_.out_color_space = JCS_CMYK;
        return;
      default:
        throw input_error(file_.path(), 0,
                          "is a JPEG of " + std::to_string(jpeg_.num_components) +
                              " components of unknown meaning: only grey, YCbCr, RGB, CMYK and YCCK are read");
    }
  }

  /// Returns the coefficients of the whole image, which are kept if it comes in several scans.
  std::size_t coefficient_bytes() {
    if (!jpeg_has_multiple_scans(&jpeg_)) {
      return 0;
    }
    std::size_t bytes = 0;
    for (int index = 0; index < jpeg_.num_components; ++index) {
      auto const& part = jpeg_.comp_info[index];
      auto const whole = [](std::size_t blocks, int factor) { return (blocks + factor - 1) / factor * factor; };
      bytes += whole(part.width_in_blocks, part.h_samp_factor) * whole(part.height_in_blocks, part.v_samp_factor) *
               sizeof(JBLOCK);
    }
    return bytes;
  }

  static jpeg_reader& self(j_common_ptr jpeg) { return *static_cast<jpeg_reader*>(jpeg->client_data); }
  static void on_error(j_common_ptr jpeg) {
    std::array<char, JMSG_LENGTH_MAX> reason{};
    jpeg->err->format_message(jpeg, reason.data());
    self(jpeg).fault_.leave(reason.data());
  }
  static void on_message(j_common_ptr jpeg, int level) {
    auto& reader = self(jpeg);
    auto const code = jpeg->err->msg_code;
    reader.has_damaged_profile_ = reader.has_damaged_profile_ || (level < 0 && code == JWRN_BOGUS_ICC);
    // What precedes an end mark that we made up may be pixels that nobody could read.
    bool const is_lost = reader.ended_ && code == JWRN_EXTRANEOUS_DATA;
    if (level < 0 && (is_lost || !is_harmless(code))) {  // others are traces
      on_error(jpeg);
    }
  }
  static void on_progress(j_common_ptr jpeg) {
    auto& reader = self(jpeg);
    if (reader.jpeg_.input_scan_number > max_jpeg_scans) {  // each may be a few bytes, and costs a pass over the image
      reader.fault_.leave("too many scans");
    }
  }
  static boolean on_fill(j_decompress_ptr jpeg) {
    auto& reader = self(reinterpret_cast<j_common_ptr>(jpeg));
    auto got = reader.file_.read(reader.buffer_.data(), buffer_bytes);
    if (got == 0) {
      if (reader.in_header_ || reader.ended_ || reader.file_.error() != 0) {
        reader.ended_ = true;
        reader.fault_.leave("no more data");
      }
      // Makes up an end mark, once: if pixels are missing, libjpeg warns that it came too early.
      reader.ended_ = true;
      reader.buffer_[got++] = 0xff;
      reader.buffer_[got++] = JPEG_EOI;
    }
    reader.bytes_read_ += got;
    if (reader.in_header_ && reader.bytes_read_ > max_metadata_bytes) {
      reader.fault_.leave("too much metadata");
    }
    reader.source_.next_input_byte = reader.buffer_.data();
    reader.source_.bytes_in_buffer = got;
    return TRUE;
  }
  static void on_skip(j_decompress_ptr jpeg, long bytes) {
    auto& source = *jpeg->src;
    auto left = bytes > 0 ? static_cast<std::size_t>(bytes) : 0;
    while (left > source.bytes_in_buffer) {
      left -= source.bytes_in_buffer;
      on_fill(jpeg);
    }
    source.next_input_byte += left;
    source.bytes_in_buffer -= left;
  }

  image_file& file_;
  image_colours const colours_;
  library_fault fault_;
  jpeg_decompress_struct jpeg_{};
  jpeg_error_mgr errors_{};
  jpeg_progress_mgr progress_{};
  jpeg_source_mgr source_{};
  std::array<JOCTET, buffer_bytes> buffer_;
  std::size_t bytes_read_ = 0;
  bool in_header_ = true;
  bool ended_ = false;  // without an end mark
  bool has_damaged_profile_ = false;
  bool is_made_rgb_ = false;
  inks inks_ = inks::none;
  unsigned orientation_ = 1;
  image_shape shape_;  // as stored
};

}  // namespace

std::unique_ptr<image_reader> read_jpeg(image_file& file, image_colours colours) {
  return std::make_unique<jpeg_reader>(file, colours);
}

}  // namespace lull::detail
