// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdio>  // jpeglib.h needs it
//
#include <jpeglib.h>

#include <cstdlib>
#include <lull/tasks/images/codec/image.hpp>
#include <string>
#include <utility>
#include <vector>

#include <lull/tests/tasks/images/raw_exif.hpp>

namespace lull::test {

enum class scans { one, one_a_component, progressive };

/// A JPEG from libjpeg, with features that our own writer does not use.
struct raw_jpeg {
  image const& from;
  J_COLOR_SPACE given = JCS_RGB;
  J_COLOR_SPACE stored = JCS_YCbCr;
  scans order = scans::one;
  int quality = 95;
  std::vector<std::pair<int, std::string>> markers = {};  // number of APPn, content
  image_density density = {};
  bool has_adobe_mark = true;  // where libjpeg would write it: it is of RGB and of CMYK
  bool arithmetic = false;
};

/// Returns the file's bytes. Errors of libjpeg end the test.
inline std::string encoded(raw_jpeg const& wanted) {
  jpeg_compress_struct jpeg{};
  jpeg_error_mgr errors{};
  jpeg.err = jpeg_std_error(&errors);
  jpeg_create_compress(&jpeg);
  unsigned char* data = nullptr;
  unsigned long size = 0;
  jpeg_mem_dest(&jpeg, &data, &size);
  auto const& shape = wanted.from.shape;
  jpeg.image_width = shape.width;
  jpeg.image_height = shape.height;
  jpeg.input_components = shape.channels;
  jpeg.in_color_space = wanted.given;
  jpeg_set_defaults(&jpeg);
  jpeg_set_colorspace(&jpeg, wanted.stored);
  jpeg_set_quality(&jpeg, wanted.quality, TRUE);
  jpeg.write_Adobe_marker = jpeg.write_Adobe_marker && wanted.has_adobe_mark;
  jpeg.arith_code = wanted.arithmetic;
  jpeg.comp_info[0].h_samp_factor = 1;  // no colours are halved
  jpeg.comp_info[0].v_samp_factor = 1;
  if (wanted.density.unit != density_unit::none) {
    jpeg.density_unit = wanted.density.unit == density_unit::inch ? 1 : 2;
    jpeg.X_density = static_cast<UINT16>(wanted.density.x);
    jpeg.Y_density = static_cast<UINT16>(wanted.density.y);
  }
  std::vector<jpeg_scan_info> script;
  if (wanted.order == scans::progressive) {
    jpeg_simple_progression(&jpeg);
  } else if (wanted.order == scans::one_a_component) {
    for (int component = 0; component < shape.channels; ++component) {
      script.push_back({.comps_in_scan = 1, .component_index = {component}, .Ss = 0, .Se = 63, .Ah = 0, .Al = 0});
    }
    jpeg.scan_info = script.data();
    jpeg.num_scans = shape.channels;
  }
  jpeg_start_compress(&jpeg, TRUE);
  for (auto const& [number, content] : wanted.markers) {
    jpeg_write_marker(&jpeg, JPEG_APP0 + number, reinterpret_cast<JOCTET const*>(content.data()),
                      static_cast<unsigned>(content.size()));
  }
  while (jpeg.next_scanline < jpeg.image_height) {
    auto* row = const_cast<JSAMPLE*>(wanted.from.pixels.data() + jpeg.next_scanline * shape.row_bytes());
    jpeg_write_scanlines(&jpeg, &row, 1);
  }
  jpeg_finish_compress(&jpeg);
  std::string bytes{reinterpret_cast<char const*>(data), size};
  jpeg_destroy_compress(&jpeg);
  std::free(data);
  return bytes;
}

/// Returns an image that a JPEG keeps almost unchanged.
inline image slopes(std::uint32_t width, std::uint32_t height, std::uint8_t channels) {
  image made{{width, height, channels, 8}, {}, {}};
  for (std::uint32_t y = 0; y < height; ++y) {
    for (std::uint32_t x = 0; x < width; ++x) {
      for (unsigned channel = 0; channel < channels; ++channel) {
        made.pixels.push_back(
            static_cast<std::uint8_t>(20 + 80 * channel / 4 + 60 * x / width + (80 - 20 * channel) * y / height));
      }
    }
  }
  return made;
}

}  // namespace lull::test
