// SPDX-License-Identifier: Apache-2.0
#include <lull/host/io/safetensors_writer.hpp>

#include <algorithm>
#include <cstring>
#include <numeric>
#include <set>
#include <string>

#include <lull/host/error.hpp>
#include <lull/host/io/atomic_file.hpp>
#include <lull/host/io/crc32.hpp>

namespace lull {
namespace {

constexpr std::uint64_t max_data_bytes = std::uint64_t{1} << 62;
constexpr std::size_t copied_at_once = std::size_t{1} << 16;

[[noreturn]] void refuse(std::filesystem::path const& path, std::string const& fault) {
  throw usage_error(path.string() + ": " + fault);
}

std::string named(tensor_info const& tensor) { return "tensor \"" + tensor.name + "\": "; }

void check(std::filesystem::path const& path, std::vector<tensor_info> const& tensors,
           safetensors_metadata const& metadata) {
  std::set<std::string> names;
  std::uint64_t room = max_data_bytes;
  for (tensor_info const& each : tensors) {
    if (std::string const fault = tensor_fault(each); !fault.empty()) refuse(path, named(each) + fault);
    if (!names.insert(each.name).second) refuse(path, named(each) + "there is one of that name already");
    if (each.bytes() > room) refuse(path, named(each) + "with those before it there are more than 2^62 bytes");
    room -= each.bytes();
  }
  if (metadata.contains(std::string{detail::checksums_key})) refuse(path, "the metadata lull.crc32 are Lull's own");
}

}  // namespace

void write_safetensors(std::filesystem::path const& path, std::vector<tensor_info> const& tensors,
                       safetensors_metadata const& metadata, tensor_source const& source, std::span<std::byte> buffer) {
  if (buffer.empty()) refuse(path, "tensors need a buffer of at least one byte to go through");
  check(path, tensors, metadata);
  std::vector<std::size_t> order(tensors.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](std::size_t one, std::size_t other) {
    return element_bytes(tensors[one].type) > element_bytes(tensors[other].type);
  });
  detail::safetensors_header header{{}, metadata, std::vector<std::uint32_t>(tensors.size())};
  for (std::size_t const tensor : order) header.tensors.push_back(tensors[tensor]);
  if (header.bytes().size() > detail::max_header_bytes) refuse(path, "names and metadata are longer than 16 MiB");

  atomic_file file{path};
  auto const each_piece = [&](auto const& take) {
    for (std::size_t at = 0; at < order.size(); ++at) {
      std::uint64_t const bytes = header.tensors[at].bytes();
      std::uint32_t sum = 0;
      for (std::uint64_t offset = 0; offset < bytes;) {
        auto const piece =
            buffer.first(static_cast<std::size_t>(std::min<std::uint64_t>(buffer.size(), bytes - offset)));
        source(order[at], offset, piece);
        sum = crc32_of(sum, piece);
        take(piece);
        offset += piece.size();
      }
      header.checksums[at] = sum;
    }
  };
  if (file.written_directly()) each_piece([](std::span<std::byte const>) {});
  file.write(header.bytes());
  each_piece([&](std::span<std::byte const> piece) {
    file.write({reinterpret_cast<char const*>(piece.data()), piece.size()});
  });
  if (!file.written_directly()) file.overwrite_begin(header.bytes());
  file.commit();
}

void write_safetensors(std::filesystem::path const& path, std::vector<tensor_view> const& tensors,
                       safetensors_metadata const& metadata) {
  std::vector<tensor_info> infos;
  for (auto const& [info, data] : tensors) {
    if (tensor_fault(info).empty() && data.size() != info.bytes()) {
      refuse(path, named(info) + format_shape(info) + " has " + std::to_string(info.bytes()) + " bytes, not " +
                       std::to_string(data.size()));
    }
    infos.push_back(info);
  }
  std::vector<std::byte> buffer(copied_at_once);
  auto const source = [&](std::size_t tensor, std::uint64_t offset, std::span<std::byte> piece) {
    std::memcpy(piece.data(), tensors[tensor].data.data() + offset, piece.size());
  };
  write_safetensors(path, infos, metadata, source, buffer);
}

}  // namespace lull
