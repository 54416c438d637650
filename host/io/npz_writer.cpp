// SPDX-License-Identifier: Apache-2.0
#include <lull/host/io/npz_writer.hpp>

#include <zlib.h>

#include <algorithm>
#include <string_view>
#include <utility>

#include <lull/host/error.hpp>

namespace lull {
namespace {

std::uint32_t crc_of(std::uint32_t before, void const* bytes, std::size_t count) {
  return static_cast<std::uint32_t>(::crc32_z(before, static_cast<Bytef const*>(bytes), count));
}

}  // namespace

npz_writer::npz_writer(std::filesystem::path path, std::uint64_t zip64_from)
    : file_(std::move(path)), zip64_from_(std::min(zip64_from, detail::zip32_bytes)) {}

void npz_writer::refuse(npz_array const& array, std::string const& fault) const {
  throw usage_error(file_.path().string() + ": array \"" + array.name + "\": " + fault);
}

void npz_writer::add(npz_array array) {
  if (left_ != 0) refuse(members_.back().array, "ends " + std::to_string(left_) + " bytes before its shape does");
  if (std::string const fault = npz_fault(array); !fault.empty()) refuse(array, fault);
  if (members_.size() == detail::max_npz_members)
    refuse(array, "the file holds 65,534 arrays already, and no more fit");
  if (names_.contains(array.name)) refuse(array, "the file holds an array of that name already");
  close_array();
  names_.insert(array.name);
  detail::npz_member member{.array = std::move(array), .offset = offset_};
  member.zip64 = std::max(member.offset, detail::content_bytes(member.array)) >= zip64_from_;
  std::string const header = detail::npy_header(member.array);
  member.crc = crc_of(0, header.data(), header.size());
  left_ = member.array.bytes();
  open_ = true;
  put(detail::opening_of(member));
  members_.push_back(std::move(member));
}

void npz_writer::write(std::span<std::byte const> piece) {
  if (piece.size() > left_) {
    if (members_.empty()) throw usage_error(file_.path().string() + ": data before the first array");
    refuse(members_.back().array, std::to_string(piece.size() - left_) + " bytes more than its shape has");
  }
  if (piece.empty()) return;
  auto& crc = members_.back().crc;
  crc = crc_of(crc, piece.data(), piece.size());
  file_.write({reinterpret_cast<char const*>(piece.data()), piece.size()});
  offset_ += piece.size();
  left_ -= piece.size();
}

void npz_writer::add(npz_array array, std::span<std::byte const> data) {
  add(std::move(array));
  write(data);
}

void npz_writer::commit() {
  if (left_ != 0) refuse(members_.back().array, "ends " + std::to_string(left_) + " bytes before its shape does");
  close_array();
  detail::npz_directory directory{.members = members_.size(), .offset = offset_};
  for (detail::npz_member const& member : members_) put(detail::entry_of(member));
  directory.bytes = offset_ - directory.offset;
  directory.zip64 = std::max(directory.offset, directory.bytes) >= zip64_from_;
  put(detail::end_of(directory));
  file_.commit();
}

void npz_writer::close_array() {
  if (std::exchange(open_, false)) put(detail::closing_of(members_.back()));
}

void npz_writer::put(std::string const& bytes) {
  file_.write(bytes);
  offset_ += bytes.size();
}

}  // namespace lull
