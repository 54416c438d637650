// SPDX-License-Identifier: Apache-2.0
#include <lull/host/io/npz_layout.hpp>

#include <algorithm>
#include <charconv>
#include <utility>

namespace lull::detail {
namespace {

constexpr std::string_view npy_magic{"\x93NUMPY\x01\x00", 8};
constexpr std::size_t npy_fixed_bytes = npy_magic.size() + 2;
constexpr std::string_view before_type = "{'descr': '";
constexpr std::string_view before_shape = "', 'fortran_order': False, 'shape': (";

constexpr std::uint64_t flag_sizes_behind = 1 << 3;
// 1 January 1980: the same arrays give the same file, whenever written.
constexpr std::uint64_t first_day = (1 << 5) | 1;
constexpr std::uint64_t wide = 0xFFFF'FFFF;  // look in the extra field

/// A record under construction; fields are little-endian.
class record {
 public:
  explicit record(std::uint32_t mark) { add(4, mark); }
  record& add(std::size_t length, std::uint64_t number) {
    for (std::size_t byte = 0; byte < length; ++byte) bytes_ += static_cast<char>(number >> (8 * byte) & 0xFF);
    return *this;
  }
  record& text(std::string_view text) {
    bytes_ += text;
    return *this;
  }
  std::string take() { return std::move(bytes_); }

 private:
  std::string bytes_;
};

std::uint64_t version(bool zip64) { return zip64 ? 45 : 20; }

/// What header and entry have in common: version, flags, method (stored), time and day.
record& add_method(record& bytes, npz_member const& member) {
  return bytes.add(2, version(member.zip64)).add(2, flag_sizes_behind).add(2, 0).add(2, 0).add(2, first_day);
}

}  // namespace

std::string npy_header(npz_array const& array) {
  std::string text{before_type};
  text += element_bytes(array.type) == 1 ? '|' : '<';
  text += name_of(array.type);
  text += before_shape;
  std::string const shape = format_npz_shape(array);
  text += shape.substr(shape.find('(') + 1) + ", }";
  text.append(63 - (npy_fixed_bytes + text.size()) % 64, ' ');
  text += '\n';
  std::string header{npy_magic};
  header += static_cast<char>(text.size() & 0xFF);
  header += static_cast<char>(text.size() >> 8);
  return header + text;
}

bool parse_npy_header(std::string_view bytes, npz_array& array) {
  if (!bytes.starts_with(npy_magic) || bytes.size() < npy_fixed_bytes) return false;
  std::string_view text = bytes.substr(npy_fixed_bytes);
  if (!text.starts_with(before_type) || text.size() < before_type.size() + 3) return false;
  auto const type = std::find(npz_type_names.begin(), npz_type_names.end(), text.substr(before_type.size() + 1, 2));
  if (type == npz_type_names.end()) return false;
  array.type = static_cast<npz_type>(type - npz_type_names.begin());
  text.remove_prefix(before_type.size() + 3);
  if (!text.starts_with(before_shape)) return false;
  text.remove_prefix(before_shape.size());
  array.shape.clear();
  while (!text.empty() && text.front() != ')') {
    std::uint64_t extent = 0;
    auto const [rest, code] = std::from_chars(text.data(), text.data() + text.size(), extent);
    if (code != std::errc{}) return false;
    array.shape.push_back(extent);
    text.remove_prefix(static_cast<std::size_t>(rest - text.data()));
    while (text.starts_with(',') || text.starts_with(' ')) text.remove_prefix(1);
  }
  return !text.empty();
}

std::uint64_t content_bytes(npz_array const& array) { return npy_header(array).size() + array.bytes(); }

std::string opening_of(npz_member const& member) {
  std::string const name = member.array.name + ".npy";
  record bytes{zip_header_mark};
  std::uint64_t const size = member.zip64 ? wide : 0;
  add_method(bytes, member)
      .add(4, 0)
      .add(4, size)
      .add(4, size)
      .add(2, name.size())
      .add(2, member.zip64 ? 20 : 0)
      .text(name);
  if (member.zip64) bytes.add(2, 1).add(2, 16).add(8, 0).add(8, 0);
  return bytes.take() + npy_header(member.array);
}

std::string closing_of(npz_member const& member) {
  std::uint64_t const size = content_bytes(member.array);
  std::size_t const length = member.zip64 ? 8 : 4;
  return record{zip_closing_mark}.add(4, member.crc).add(length, size).add(length, size).take();
}

std::string entry_of(npz_member const& member) {
  std::string const name = member.array.name + ".npy";
  std::uint64_t const size = content_bytes(member.array);
  record bytes{zip_entry_mark};
  add_method(bytes.add(2, version(member.zip64)), member).add(4, member.crc);
  bytes.add(4, member.zip64 ? wide : size).add(4, member.zip64 ? wide : size);
  bytes.add(2, name.size()).add(2, member.zip64 ? max_extra_bytes : 0);
  bytes.add(2, 0).add(2, 0).add(2, 0).add(4, 0);  // no comment, first disk, no attributes
  bytes.add(4, member.zip64 ? wide : member.offset).text(name);
  if (member.zip64) bytes.add(2, 1).add(2, 24).add(8, size).add(8, size).add(8, member.offset);
  return bytes.take();
}

std::string end_of(npz_directory const& directory) {
  std::string bytes;
  if (directory.zip64) {
    record end{zip64_end_mark};
    end.add(8, 44).add(2, version(true)).add(2, version(true)).add(4, 0).add(4, 0);
    end.add(8, directory.members).add(8, directory.members).add(8, directory.bytes).add(8, directory.offset);
    bytes += end.take();
    bytes += record{zip64_locator_mark}.add(4, 0).add(8, directory.offset + directory.bytes).add(4, 1).take();
  }
  record end{zip_end_mark};
  end.add(2, 0).add(2, 0).add(2, directory.members).add(2, directory.members);
  end.add(4, directory.zip64 ? wide : directory.bytes).add(4, directory.zip64 ? wide : directory.offset).add(2, 0);
  return bytes + end.take();
}

std::uint64_t number_at(std::string_view bytes, std::size_t at, std::size_t length) {
  std::uint64_t number = 0;
  for (std::size_t byte = 0; byte < length; ++byte) {
    number |= std::uint64_t{static_cast<unsigned char>(bytes[at + byte])} << (8 * byte);
  }
  return number;
}

}  // namespace lull::detail
