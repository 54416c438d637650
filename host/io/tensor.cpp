// SPDX-License-Identifier: Apache-2.0
#include <lull/host/io/tensor.hpp>

#include <algorithm>

namespace lull {
namespace {

constexpr std::size_t max_name = 128;
constexpr std::size_t max_dimensions = 8;
constexpr std::uint64_t max_bytes = std::uint64_t{1} << 62;

bool in_name(char byte) {
  return (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z') || (byte >= '0' && byte <= '9') || byte == '_' ||
         byte == '-' || byte == '.';
}

}  // namespace

std::string format_shape(tensor_info const& tensor) {
  std::string text{name_of(tensor.type)};
  text += " (";
  for (std::size_t at = 0; at < tensor.shape.size(); ++at)
    text += (at == 0 ? "" : ", ") + std::to_string(tensor.shape[at]);
  return text + (tensor.shape.size() == 1 ? ",)" : ")");
}

std::string tensor_fault(tensor_info const& tensor) {
  if (tensor.name.empty() || tensor.name.size() > max_name ||
      !std::all_of(tensor.name.begin(), tensor.name.end(), in_name)) {
    return "its name is not 1 to " + std::to_string(max_name) + " letters, digits, '_', '-' and '.'";
  }
  if (tensor.name == "__metadata__") return "its name means metadata in the safetensors format";
  if (tensor.shape.size() > max_dimensions) return "it has more than " + std::to_string(max_dimensions) + " dimensions";
  std::uint64_t room = max_bytes / element_bytes(tensor.type);
  for (std::uint64_t const extent : tensor.shape) {  // a zero does not excuse large extents: readers multiply, too
    if (extent > room) return "it has more than 2^62 bytes";
    room /= std::max<std::uint64_t>(extent, 1);
  }
  return {};
}

}  // namespace lull
