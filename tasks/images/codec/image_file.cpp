// SPDX-License-Identifier: Apache-2.0
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <lull/host/error.hpp>
#include <lull/host/io/foreign_file.hpp>
#include <lull/tasks/images/codec/image_file.hpp>
#include <lull/tasks/images/codec/image_limits.hpp>
#include <lull/tasks/images/codec/read_image.hpp>
#include <string_view>
#include <system_error>

namespace lull::detail {
namespace {

using namespace std::string_view_literals;

constexpr auto png_beginning = "\x89PNG\r\n\x1a\n"sv;
constexpr auto jpeg_beginning = "\xff\xd8\xff"sv;

/// Formats that are not read, but whose files nobody should miss.
struct foreign_format {
  char const* name;
  std::size_t place;
  std::string_view mark;
};
constexpr foreign_format foreign_formats[] = {
    {"GIF", 0, "GIF87a"sv},
    {"GIF", 0, "GIF89a"sv},
    {"TIFF", 0, "II*\0"sv},
    {"TIFF", 0, "MM\0*"sv},
    {"BigTIFF", 0, "II+\0"sv},
    {"BigTIFF", 0, "MM\0+"sv},
    {"WebP", 8, "WEBP"sv},
    {"AVIF", 4, "ftypavif"sv},
    {"AVIF", 4, "ftypavis"sv},
    {"HEIF", 4, "ftyphei"sv},
    {"HEIF", 4, "ftyphev"sv},
    {"HEIF", 4, "ftypmif1"sv},
    {"HEIF", 4, "ftypmsf1"sv},
    {"JPEG XL", 0, "\xff\x0a"sv},
    {"JPEG XL", 0, "\0\0\0\x0cJXL \r\n\x87\n"sv},
    {"JPEG 2000", 0, "\0\0\0\x0cjP  \r\n\x87\n"sv},
    {"JPEG 2000", 0, "\xff\x4f\xff\x51"sv},
    {"Photoshop", 0, "8BPS\0\1"sv},
    {"Photoshop", 0, "8BPS\0\2"sv},
};

std::string reason(int code) { return std::generic_category().message(code); }

}  // namespace

image_file::image_file(std::string const& path)
    // Not blocking: opening a pipe would wait for a writer. A regular file does not differ.
    : path_(path), descriptor_(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)) {
  if (descriptor_ < 0) {
    throw input_error(path, 0, "cannot be opened: " + reason(errno));
  }
  try {
    kind_ = find_kind();
  } catch (...) {
    ::close(descriptor_);
    throw;
  }
}

image_file::~image_file() { ::close(descriptor_); }

image_kind image_file::find_kind() {
  struct stat status {};
  if (::fstat(descriptor_, &status) != 0 || !S_ISREG(status.st_mode)) {
    throw input_error(path_, 0, "is not a regular file");
  }
  if (status.st_size == 0) {
    throw input_error(path_, 0, "is empty");
  }
  if (static_cast<std::uint64_t>(status.st_size) > max_image_file_bytes) {
    throw input_error(path_, 0, "is larger than the " + std::to_string(max_image_file_bytes) + " bytes allowed");
  }
  size_ = static_cast<std::uint64_t>(status.st_size);
  bytes_left_ = max_image_file_bytes;
  std::array<char, picture_beginning> bytes{};
  std::string_view const beginning{bytes.data(), read_at(0, bytes.data(), bytes.size())};
  if (error_ != 0) {
    throw input_error(path_, 0, "cannot be read: " + reason(error_));
  }
  bool const is_png = beginning.starts_with(png_beginning);
  if (!is_png && !beginning.starts_with(jpeg_beginning)) {
    std::array<char, foreign_beginning> more{};
    if (auto const fault = download_fault({more.data(), read_at(0, more.data(), more.size())}); !fault.empty())
      throw input_error(path_, 0, fault);
    auto const format = picture_format(beginning);
    throw input_error(path_, 0,
                      format.empty() ? "is neither a PNG nor a JPEG"
                                     : "is neither a PNG nor a JPEG, but a picture of the format " + format +
                                           ", which is not read: convert it");
  }
  auto const kind = is_png ? image_kind::png : image_kind::jpeg;
  if (image_kind_by_name(path_).value_or(kind) != kind) {
    throw input_error(
        path_, 0,
        is_png ? "is a PNG, but its name says JPEG: rename it" : "is a JPEG, but its name says PNG: rename it");
  }
  return kind;
}

template <class Read>
std::size_t image_file::read_all(void* to, std::size_t bytes, Read const& read) noexcept {
  std::size_t got = 0;
  while (got < bytes && error_ == 0) {
    auto const more = read(static_cast<char*>(to) + got, bytes - got, got);
    if (more < 0 && errno == EINTR) {
      continue;
    }
    if (more < 0) {
      error_ = errno;
    }
    if (more <= 0) {
      break;
    }
    got += static_cast<std::size_t>(more);
  }
  return got;
}

std::size_t image_file::read(void* to, std::size_t bytes) noexcept {
  bytes = static_cast<std::size_t>(std::min<std::uint64_t>(bytes, bytes_left_));
  auto const got = read_all(
      to, bytes, [this](char* into, std::size_t left, std::size_t) { return ::read(descriptor_, into, left); });
  bytes_left_ -= got;
  return got;
}

std::size_t image_file::read_at(std::uint64_t place, void* to, std::size_t bytes) noexcept {
  return read_all(to, bytes, [this, place](char* into, std::size_t left, std::size_t got) {
    return ::pread(descriptor_, into, left, static_cast<::off_t>(place + got));
  });
}

void image_file::leave_out_zeros() noexcept {
  std::array<unsigned char, 4096> part;
  for (std::uint64_t end = size_; end > 0;) {
    auto const bytes = static_cast<std::size_t>(std::min<std::uint64_t>(end, part.size()));
    if (read_at(end - bytes, part.data(), bytes) < bytes) {
      return;  // `read` finds the same
    }
    auto kept = bytes;
    while (kept > 0 && part[kept - 1] == 0) {
      --kept;
    }
    end -= bytes - kept;
    if (kept > 0) {
      bytes_left_ = end + (part[kept - 1] == 0xff && end < size_ ? 1 : 0);
      return;
    }
  }
}

std::string picture_format(std::string_view beginning) {
  if (beginning.starts_with(png_beginning)) {
    return "PNG";
  }
  if (beginning.starts_with(jpeg_beginning)) {
    return "JPEG";
  }
  for (auto const& [name, place, mark] : foreign_formats) {
    if (beginning.size() >= place && beginning.substr(place).starts_with(mark)) {
      return name;
    }
  }
  // Text may begin with BM, too. A BMP has four zeros after its size.
  return beginning.starts_with("BM") && beginning.size() >= 10 && beginning.substr(6, 4) == "\0\0\0\0"sv ? "BMP" : "";
}

}  // namespace lull::detail
