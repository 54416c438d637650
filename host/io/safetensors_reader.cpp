// SPDX-License-Identifier: Apache-2.0
#include <lull/host/io/safetensors_reader.hpp>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <system_error>
#include <utility>

#include <lull/host/error.hpp>
#include <lull/host/io/crc32.hpp>
#include <lull/host/io/foreign_file.hpp>

namespace lull {
namespace {

std::string reason(int code) { return std::generic_category().message(code); }

}  // namespace

safetensors_reader::safetensors_reader(std::string path, std::uint64_t limit_bytes, std::string advice)
    : path_(std::move(path)), advice_(std::move(advice)) {
  // Not blocking: opening a pipe would wait for a writer. A regular file does not differ.
  descriptor_ = ::open(path_.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (descriptor_ < 0) refuse("cannot be opened: " + reason(errno));
  try {
    struct stat status {};
    if (::fstat(descriptor_, &status) != 0 || !S_ISREG(status.st_mode)) refuse("is not a regular file");
    auto const file_bytes = static_cast<std::uint64_t>(status.st_size);
    if (file_bytes > limit_bytes) {
      refuse("has " + std::to_string(file_bytes) + " bytes, more than the " + std::to_string(limit_bytes) +
             " allowed for it");
    }
    read_header(file_bytes);
  } catch (detail::header_fault const& fault) {
    ::close(descriptor_);
    refuse(fault.what() + advice_);
  } catch (...) {
    ::close(descriptor_);
    throw;
  }
}

safetensors_reader::~safetensors_reader() { ::close(descriptor_); }

void safetensors_reader::refuse(std::string const& reason) const { throw input_error(path_, 0, reason); }

void safetensors_reader::read_header(std::uint64_t file_bytes) {
  using detail::header_fault;
  if (file_bytes == 0) throw header_fault{"is empty"};
  std::string const begin =
      bytes_at(0, static_cast<std::size_t>(std::min<std::uint64_t>(file_bytes, detail::length_bytes)));
  if (begin.starts_with("PK")) throw header_fault{"is a zip archive, as .npz files are, and no safetensors file"};
  if (auto const fault = download_fault(bytes_at(0, std::min<std::uint64_t>(file_bytes, foreign_beginning)));
      !fault.empty()) {
    refuse(fault);
  }
  std::uint64_t length = 0;
  for (std::size_t at = begin.size(); at-- != 0;) length = length << 8 | static_cast<unsigned char>(begin[at]);
  if (begin.size() < detail::length_bytes || length > file_bytes - detail::length_bytes)
    throw header_fault{"is cut short, or no safetensors file: its header is not all there"};
  if (length > detail::max_header_bytes) {
    throw header_fault{"has a header of " + std::to_string(length) + " bytes, more than the " +
                       std::to_string(detail::max_header_bytes) + " that Lull reads"};
  }
  std::uint64_t offset = detail::length_bytes + length;
  header_ = detail::parse_header(bytes_at(detail::length_bytes, static_cast<std::size_t>(length)), file_bytes - offset);
  for (tensor_info const& each : header_.tensors) {
    offsets_.push_back(offset);
    offset += each.bytes();
  }
}

std::string safetensors_reader::bytes_at(std::uint64_t offset, std::size_t count) const {
  std::string bytes(count, '\0');
  fill(offset, std::as_writable_bytes(std::span{bytes}));
  return bytes;
}

void safetensors_reader::fill(std::uint64_t offset, std::span<std::byte> bytes) const {
  while (!bytes.empty()) {
    auto const got = ::pread(descriptor_, bytes.data(), bytes.size(), static_cast<off_t>(offset));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) refuse("cannot be read: " + reason(errno));
    if (got == 0) refuse("was cut short while it was read");
    bytes = bytes.subspan(static_cast<std::size_t>(got));
    offset += static_cast<std::uint64_t>(got);
  }
}

tensor_info const* safetensors_reader::find(std::string_view name) const noexcept {
  auto const found = std::find_if(header_.tensors.begin(), header_.tensors.end(),
                                  [&](tensor_info const& each) { return each.name == name; });
  return found == header_.tensors.end() ? nullptr : &*found;
}

std::size_t safetensors_reader::index_of(std::string_view name) const {
  tensor_info const* const found = find(name);
  if (found == nullptr) throw usage_error(path_ + " holds no tensor " + std::string{name});
  return static_cast<std::size_t>(found - header_.tensors.data());
}

void safetensors_reader::read_into(std::string_view name, std::span<std::byte> data) const {
  std::uint64_t const bytes = header_.tensors[index_of(name)].bytes();
  if (data.size() != bytes) {
    throw usage_error(path_ + ": tensor " + std::string{name} + " has " + std::to_string(bytes) + " bytes, not " +
                      std::to_string(data.size()));
  }
  std::byte none{};
  read_into(name, data.empty() ? std::span{&none, 1} : data, [](std::uint64_t, std::span<std::byte const>) {});
}

void safetensors_reader::read_into(std::string_view name, std::span<std::byte> buffer,
                                   std::function<void(std::uint64_t, std::span<std::byte const>)> const& take) const {
  if (buffer.empty()) throw usage_error(path_ + ": a tensor cannot be read through a buffer of no bytes");
  std::size_t const at = index_of(name);
  std::uint64_t const bytes = header_.tensors[at].bytes();
  std::uint32_t sum = 0;
  for (std::uint64_t offset = 0; offset < bytes;) {
    auto const piece = buffer.first(static_cast<std::size_t>(std::min<std::uint64_t>(buffer.size(), bytes - offset)));
    fill(offsets_[at] + offset, piece);
    sum = crc32_of(sum, piece);
    take(offset, piece);
    offset += piece.size();
  }
  if (header_.has_checksums && sum != header_.checksums[at])
    refuse("is damaged: the data of tensor " + std::string{name} + " does not match its checksum" + advice_);
}

}  // namespace lull
