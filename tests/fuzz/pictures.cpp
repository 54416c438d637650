// SPDX-License-Identifier: Apache-2.0
// PNG and JPEG, and what EXIF says of them.
#include <lull/tests/fuzz/readers.hpp>

#include <string>

#include <lull/tasks/images/codec/exif_orientation.hpp>
#include <lull/tasks/images/codec/read_image.hpp>

namespace lull::fuzz {

void read_picture(std::string_view input) {
  std::string const path = file_of(input, ".picture");
  bool const is_none = is_no_picture(path);
  for (image_colours const colours : {image_colours::stored, image_colours::rgb}) {
    image const made = decode(path, {.max_bytes = max_machine_bytes}, colours);
    require(!is_none, "what is read is a picture");
    require(made.pixels.size() == made.shape.bytes() && !made.pixels.empty(), "there are all pixels");
    require(read_header(path, colours).shape == made.shape, "the header tells the shape");
    require(colours == image_colours::stored || made.shape.channels >= 3, "colours are made where asked for");
  }
}

void read_exif(std::string_view input) {
  using namespace std::string_literals;
  for (std::string const& segment : {std::string{input}, "Exif\0\0"s + std::string{input}}) {
    unsigned const found =
        detail::exif_orientation({reinterpret_cast<std::uint8_t const*>(segment.data()), segment.size()});
    require(found >= 1 && found <= 8, "an orientation is from 1 to 8");
  }
}

}  // namespace lull::fuzz
