// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <cctype>
#include <filesystem>
#include <fstream>
#include <lull/host/error.hpp>
#include <lull/tasks/images/codec/image_file.hpp>
#include <lull/tasks/images/codec/image_limits.hpp>
#include <lull/tasks/images/codec/image_reader.hpp>
#include <lull/tasks/images/codec/read_image.hpp>
#include <new>
#include <system_error>

namespace lull {
namespace {

/// An open file, with its header read and its sides within the limit.
class open_image {
 public:
  open_image(std::string const& path, image_colours colours)
      : file_(path),
        reader_(file_.kind() == image_kind::png ? detail::read_png(file_, colours) : detail::read_jpeg(file_, colours)),
        header_(reader_->header()) {
    header_.colours = colours;
    auto const& [width, height, channels, bits] = header_.shape;
    if (std::max(width, height) > max_image_side) {
      throw input_error(path, 0,
                        "claims " + std::to_string(width) + " x " + std::to_string(height) + " pixels: at most " +
                            std::to_string(max_image_side) + " a side are read");
    }
  }

  image_header const& header() const noexcept { return header_; }
  image_extras read(std::span<std::uint8_t> pixels) {
    auto extras = reader_->extras();
    reader_->pixels(pixels);
    extras.notes = reader_->notes();
    return extras;
  }

 private:
  detail::image_file file_;
  std::unique_ptr<detail::image_reader> reader_;
  image_header header_;
};

template <class Work>
auto with_memory(std::string const& path, Work const& work) {
  try {
    return work();
  } catch (std::bad_alloc const&) {
    throw limit_error(path + ": not enough memory for this image on this computer");
  }
}

}  // namespace

std::optional<image_kind> image_kind_by_name(std::string const& path) {
  auto const dot = path.rfind('.');
  auto ending = dot == std::string::npos ? std::string{} : path.substr(dot);
  std::transform(ending.begin(), ending.end(), ending.begin(),
                 [](unsigned char letter) { return static_cast<char>(std::tolower(letter)); });
  if (ending == ".png") {
    return image_kind::png;
  }
  return ending == ".jpg" || ending == ".jpeg" ? std::optional{image_kind::jpeg} : std::nullopt;
}

bool is_no_picture(std::string const& path) {
  std::error_code why;
  if (image_kind_by_name(path) || !std::filesystem::is_regular_file(path, why)) {
    return false;
  }
  std::ifstream file{path, std::ios::binary};
  if (!file) {
    return false;
  }
  std::array<char, detail::picture_beginning> bytes{};
  file.read(bytes.data(), bytes.size());
  return !file.bad() && detail::picture_format({bytes.data(), static_cast<std::size_t>(file.gcount())}).empty();
}

image_header read_header(std::string const& path, image_colours colours) {
  return with_memory(path, [&] { return open_image{path, colours}.header(); });
}

image decode(std::string const& path, image_limits const& limits, image_colours colours) {
  return with_memory(path, [&] {
    open_image file{path, colours};
    auto const& header = file.header();
    auto const bytes = header.decoded_bytes() + header.decoder_bytes;
    if (bytes > limits.max_bytes) {
      throw input_error(path, 0,
                        "needs " + std::to_string(bytes) + " bytes of memory to decode: the limit is " +
                            std::to_string(limits.max_bytes));
    }
    image made{header.shape, std::vector<std::uint8_t>(header.decoded_bytes()), {}};
    made.extras = file.read(made.pixels);
    return made;
  });
}

image_extras decode_to(std::string const& path, image_header const& expected, std::span<std::uint8_t> pixels) {
  if (pixels.size() != expected.decoded_bytes()) {
    throw usage_error("decode_to: " + std::to_string(pixels.size()) + " bytes of room for an image of " +
                      std::to_string(expected.decoded_bytes()));
  }
  return with_memory(path, [&] {
    open_image file{path, expected.colours};
    if (file.header() != expected) {
      throw input_error(path, 0, "was changed since its header was read");
    }
    return file.read(pixels);
  });
}

}  // namespace lull
