// SPDX-License-Identifier: Apache-2.0
#include <lull/host/io/npz_reader.hpp>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include <algorithm>
#include <cerrno>
#include <system_error>
#include <unordered_set>
#include <utility>

#include <lull/host/error.hpp>

namespace lull {
namespace {

using namespace detail;

std::string reason(int code) { return std::generic_category().message(code); }

}  // namespace

npz_reader::npz_reader(std::string path, std::uint64_t limit_bytes) : path_(std::move(path)) {
  // not blocking, or opening a pipe would wait for a writer; for a regular file it changes nothing
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
    read_members(file_bytes);
  } catch (...) {
    ::close(descriptor_);
    throw;
  }
}

npz_reader::~npz_reader() { ::close(descriptor_); }

void npz_reader::refuse(std::string const& reason) const { throw input_error(path_, 0, reason); }

void npz_reader::refuse_as_damaged(std::string const& place) const {
  refuse("is damaged, or no .npz file that Lull wrote: " + place + " is not as it must be");
}

void npz_reader::read_members(std::uint64_t file_bytes) {
  npz_directory const directory = find_directory(file_bytes);
  std::string const entries = bytes_at(directory.offset, static_cast<std::size_t>(directory.bytes));
  std::string_view left = entries;
  std::uint64_t offset = 0;
  std::unordered_set<std::string> names;
  for (std::uint64_t at = 0; at < directory.members; ++at) {
    npz_member member = read_member(left, offset, directory.offset);
    left.remove_prefix(entry_of(member).size());
    offset += opening_of(member).size() + member.array.bytes() + closing_of(member).size();
    if (!names.insert(member.array.name).second) refuse("holds two arrays named " + member.array.name);
    members_.push_back(std::move(member));
  }
  if (!left.empty() || offset != directory.offset) refuse_as_damaged("the place of its zip directory");
}

npz_directory npz_reader::find_directory(std::uint64_t file_bytes) const {
  std::string const begin = bytes_at(0, static_cast<std::size_t>(std::min<std::uint64_t>(file_bytes, 4)));
  bool const zip =
      begin.size() == 4 && (number_at(begin, 0, 4) == zip_header_mark || number_at(begin, 0, 4) == zip_end_mark);
  if (!zip) refuse(file_bytes == 0 ? "is empty" : "is no .npz file: it does not begin like a zip archive");
  auto const tail_bytes = static_cast<std::size_t>(std::min<std::uint64_t>(file_bytes, zip64_end_bytes));
  std::string const tail = bytes_at(file_bytes - tail_bytes, tail_bytes);
  std::size_t const end = tail.size() - std::min(tail.size(), zip_end_bytes);
  if (tail.size() < zip_end_bytes || number_at(tail, end, 4) != zip_end_mark) {
    refuse("is cut short or damaged: it does not end like a zip archive");
  }
  npz_directory directory{.members = number_at(tail, end + 8, 2),
                          .offset = number_at(tail, end + 16, 4),
                          .bytes = number_at(tail, end + 12, 4)};
  directory.zip64 = directory.offset == zip32_bytes;
  if (directory.zip64 && tail.size() == zip64_end_bytes) {
    directory.bytes = number_at(tail, 40, 8);
    directory.offset = number_at(tail, 48, 8);
  }
  std::string const expected = end_of(directory);
  bool const in_place = directory.offset <= file_bytes && directory.bytes <= file_bytes - directory.offset &&
                        file_bytes - directory.offset - directory.bytes == expected.size();
  // The number of members bounds the directory, so that no more is read than its entries can have.
  if (!in_place || !tail.ends_with(expected) || directory.members > max_npz_members ||
      directory.bytes > directory.members * (zip_entry_bytes + max_name_bytes + max_extra_bytes)) {
    refuse_as_damaged("the end of its zip directory");
  }
  return directory;
}

/// The member at `offset`, of which `entry` and what follows tells; the directory begins at `end`.
npz_member npz_reader::read_member(std::string_view entry, std::uint64_t offset, std::uint64_t end) const {
  std::string const place = "the entry of array " + std::to_string(members_.size() + 1);
  if (entry.size() < zip_entry_bytes) refuse_as_damaged(place);
  std::size_t const name_bytes = number_at(entry, 28, 2);
  std::string_view name = entry.substr(zip_entry_bytes, name_bytes);
  if (name.size() != name_bytes || !name.ends_with(".npy")) refuse_as_damaged(place);
  name.remove_suffix(4);

  npz_member member{.offset = offset,
                    .crc = static_cast<std::uint32_t>(number_at(entry, 16, 4)),
                    .zip64 = number_at(entry, 24, 4) == zip32_bytes};
  member.array.name = name;
  std::size_t const header_bytes = zip_header_bytes + name_bytes + (member.zip64 ? 20 : 0);
  std::uint64_t const room = end - offset;
  std::string const begin =
      bytes_at(offset, static_cast<std::size_t>(std::min(room, header_bytes + max_npy_header_bytes)));
  bool const parsed =
      begin.size() > header_bytes && parse_npy_header(std::string_view{begin}.substr(header_bytes), member.array);
  if (!parsed || !npz_fault(member.array).empty())
    refuse_as_damaged("the header of array " + std::to_string(members_.size() + 1));

  std::string const opening = opening_of(member);
  std::string const closing = closing_of(member);
  std::uint64_t const content = member.array.bytes();
  if (!begin.starts_with(opening)) refuse_as_damaged("the header of array " + member.array.name);
  if (!entry.starts_with(entry_of(member))) refuse_as_damaged("the entry of array " + member.array.name);
  bool const fits = content <= room && opening.size() + closing.size() <= room - content &&
                    (member.zip64 || std::max(offset, content_bytes(member.array)) < zip32_bytes);
  if (!fits || bytes_at(offset + opening.size() + content, closing.size()) != closing) {
    refuse_as_damaged("the end of array " + member.array.name);
  }
  return member;
}

npz_array const* npz_reader::find(std::string_view name) const noexcept {
  auto const found =
      std::find_if(members_.begin(), members_.end(), [&](auto const& member) { return member.array.name == name; });
  return found == members_.end() ? nullptr : &found->array;
}

npz_member const& npz_reader::member(std::string_view name) const {
  auto const found =
      std::find_if(members_.begin(), members_.end(), [&](auto const& member) { return member.array.name == name; });
  if (found == members_.end()) throw usage_error(path_ + " holds no array " + std::string{name});
  return *found;
}

void npz_reader::read_into(std::string_view name, std::span<std::byte> data) const {
  npz_array const& array = member(name).array;
  if (data.size() != array.bytes()) {
    throw usage_error(path_ + ": array " + array.name + " has " + std::to_string(array.bytes()) + " bytes, not " +
                      std::to_string(data.size()));
  }
  std::byte none{};
  read_into(name, data.empty() ? std::span{&none, 1} : data, [](std::uint64_t, std::span<std::byte const>) {});
}

void npz_reader::read_into(std::string_view name, std::span<std::byte> buffer,
                           std::function<void(std::uint64_t, std::span<std::byte const>)> const& take) const {
  if (buffer.empty()) throw usage_error(path_ + ": an array cannot be read through a buffer of no bytes");
  npz_member const& from = member(name);
  std::string const header = npy_header(from.array);
  auto crc = ::crc32_z(0, reinterpret_cast<Bytef const*>(header.data()), header.size());
  std::uint64_t const begin = from.offset + opening_of(from).size();
  for (std::uint64_t offset = 0; offset < from.array.bytes();) {
    auto const piece =
        buffer.first(static_cast<std::size_t>(std::min<std::uint64_t>(buffer.size(), from.array.bytes() - offset)));
    fill(begin + offset, piece);
    crc = ::crc32_z(crc, reinterpret_cast<Bytef const*>(piece.data()), piece.size());
    take(offset, piece);
    offset += piece.size();
  }
  if (crc != from.crc) refuse("is damaged: the data of array " + from.array.name + " does not match its checksum");
}

std::string npz_reader::bytes_at(std::uint64_t offset, std::size_t count) const {
  std::string bytes(count, '\0');
  fill(offset, std::as_writable_bytes(std::span{bytes}));
  return bytes;
}

void npz_reader::fill(std::uint64_t offset, std::span<std::byte> bytes) const {
  while (!bytes.empty()) {
    auto const got = ::pread(descriptor_, bytes.data(), bytes.size(), static_cast<off_t>(offset));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) refuse("cannot be read: " + reason(errno));
    if (got == 0) refuse("was cut short while it was read");
    bytes = bytes.subspan(static_cast<std::size_t>(got));
    offset += static_cast<std::uint64_t>(got);
  }
}

}  // namespace lull
