// SPDX-License-Identifier: Apache-2.0
#include <lull/host/io/npz_array.hpp>

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

std::string format_npz_shape(npz_array const& array) {
  std::string text{name_of(array.type)};
  text += " (";
  for (std::size_t at = 0; at < array.shape.size(); ++at)
    text += (at == 0 ? "" : ", ") + std::to_string(array.shape[at]);
  return text + (array.shape.size() == 1 ? ",)" : ")");
}

std::string npz_fault(npz_array const& array) {
  if (array.name.empty() || array.name.size() > max_name ||
      !std::all_of(array.name.begin(), array.name.end(), in_name)) {
    return "its name is not 1 to " + std::to_string(max_name) + " letters, digits, '_', '-' and '.'";
  }
  if (array.name.ends_with(".npy")) return "its name ends in .npy, which NumPy takes off";
  if (array.shape.size() > max_dimensions) return "it has more than " + std::to_string(max_dimensions) + " dimensions";
  std::uint64_t room = max_bytes / element_bytes(array.type);
  for (std::uint64_t const extent :
       array.shape) {  // a zero after large extents does not excuse them: NumPy multiplies, too
    if (extent > room) return "it has more than 2^62 bytes";
    room /= std::max<std::uint64_t>(extent, 1);
  }
  return {};
}

}  // namespace lull
