// SPDX-License-Identifier: Apache-2.0
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include <cstdlib>
#include <string>

#include <lull/tests/graph/graph_file.hpp>
#include <lull/tests/host/io/npz_file.hpp>

namespace lull {
namespace {

using namespace test;
using detail::npz_member;

TEST(NpzReader, ReadsWhatWasWritten) {
  test_folder const folder;
  auto const path = folder.at("file.npz");
  for (std::uint64_t const zip64_from : {~0ULL, 0ULL, 700ULL, 1ULL << 20}) {  // 700: some arrays with, some without
    write_npz(path, sample_arrays(), zip64_from);
    expect_equal(read_npz(path), sample_arrays());
  }
  write_npz(path, {});
  EXPECT_TRUE(read_npz(path).empty());
}

TEST(NpzReader, HandsOutPiecesInOrder) {
  test_folder const folder;
  auto const path = folder.at("file.npz");
  write_npz(path, sample_arrays());
  npz_reader const file(path, 1 << 20);
  std::string const expected = sample_arrays()[6].data;
  for (std::size_t const buffer_bytes : {1u, 7u, 48u, 100u}) {
    std::vector<std::byte> buffer(buffer_bytes);
    std::string got;
    file.read_into("layer.0", buffer, [&](std::uint64_t offset, std::span<std::byte const> piece) {
      EXPECT_EQ(offset, got.size());
      EXPECT_LE(piece.size(), buffer_bytes);
      got.append(reinterpret_cast<char const*>(piece.data()), piece.size());
    });
    EXPECT_EQ(got, expected);
  }
}

TEST(NpzReader, WrongCallsAreRefused) {
  test_folder const folder;
  auto const path = folder.at("file.npz");
  write_npz(path, sample_arrays());
  npz_reader const file(path, 1 << 20);
  std::vector<std::byte> eight(8);
  EXPECT_EQ(file.find("nothing"), nullptr);
  EXPECT_EQ(file.find("bytes.npy"), nullptr);
  ASSERT_NE(file.find("one"), nullptr);
  EXPECT_EQ(file.find("one")->bytes(), 8u);
  file.read_into("one", eight);
  EXPECT_THROW(file.read_into("nothing", eight), usage_error);
  EXPECT_THROW(file.read_into("bytes", eight), usage_error);
  EXPECT_THROW(file.read_into("one", {}, [](std::uint64_t, std::span<std::byte const>) {}), usage_error);
}

TEST(NpzReader, TruncatedAtEveryByteIsRefused) {
  test_folder const folder;
  for (std::uint64_t const zip64_from : {~0ULL, 0ULL}) {
    write_npz(folder.at("whole.npz"), sample_arrays(), zip64_from);
    std::string const whole = content(folder.at("whole.npz"));
    for (std::size_t bytes = 0; bytes < whole.size(); ++bytes) {
      auto const what = refusal_of(folder.write("cut.npz", whole.substr(0, bytes)));
      auto const* const expected = bytes == 0 ? "is empty" : bytes < 4 ? "is no .npz file" : "is cut short or damaged";
      EXPECT_NE(what.find(expected), std::string::npos) << bytes << ": " << what;
    }
    refusal_of(folder.write("longer.npz", whole + '\0'));
    refusal_of(folder.write("twice.npz", whole + whole));
    refusal_of(folder.write("before.npz", "PK\x03\x04" + whole));
  }
}

TEST(NpzReader, EveryFlippedBitIsFound) {
  test_folder const folder;
  auto const path = folder.at("file.npz");
  for (std::uint64_t const zip64_from : {~0ULL, 0ULL}) {
    write_npz(path, sample_arrays(), zip64_from);
    std::string const whole = content(path);
    int const descriptor = ::open(path.c_str(), O_WRONLY | O_CLOEXEC);
    ASSERT_GE(descriptor, 0);
    for (std::size_t at = 0; at < whole.size(); ++at) {
      for (int const flip : {1, 2, 4, 8, 16, 32, 64, 128, 255}) {
        char const byte = static_cast<char>(whole[at] ^ flip);
        ASSERT_EQ(::pwrite(descriptor, &byte, 1, static_cast<off_t>(at)), 1);
        refusal_of(path);
        if (HasFailure()) FAIL() << "byte " << at << " flipped by " << flip;
      }
      ASSERT_EQ(::pwrite(descriptor, &whole[at], 1, static_cast<off_t>(at)), 1);
    }
    ::close(descriptor);
    expect_equal(read_npz(path), sample_arrays());
  }
}

TEST(NpzReader, DamagedDataIsNamed) {
  test_folder const folder;
  write_npz(folder.at("file.npz"), {{{"first", npz_type::u1, {4}}, "good"}, {{"second", npz_type::u1, {4}}, "data"}});
  std::string damaged = content(folder.at("file.npz"));
  damaged[damaged.find("data")] = 'D';
  auto const path = folder.write("damaged.npz", damaged);
  EXPECT_NE(refusal_of(path).find("is damaged: the data of array second does not match its checksum"),
            std::string::npos);
  npz_reader const file(path, 1 << 20);
  std::string first(4, '\0');
  file.read_into("first", std::as_writable_bytes(std::span{first}));
  EXPECT_EQ(first, "good");
}

TEST(NpzReader, WhatIsNoFileOfOursIsRefused) {
  test_folder const folder;
  auto const refused = [](std::string const& path, std::string const& expected, std::uint64_t limit = 1 << 20) {
    auto const what = refusal_of(path, [&] { read_npz(path, limit); });
    EXPECT_NE(what.find(expected), std::string::npos) << what;
  };
  refused(folder.at("missing.npz"), "cannot be opened: No such file or directory");
  ASSERT_EQ(::mkdir(folder.at("folder.npz").c_str(), 0700), 0);
  refused(folder.at("folder.npz"), "is not a regular file");
  ASSERT_EQ(::mkfifo(folder.at("pipe.npz").c_str(), 0600), 0);
  refused(folder.at("pipe.npz"), "is not a regular file");
  refused(folder.write("text.npz", "task,settings\n"), "is no .npz file: it does not begin like a zip archive");
  refused(folder.write("zip.npz", "PK\x03\x04" + std::string(1000, 'x')), "does not end like a zip archive");
  write_npz(folder.at("large.npz"), sample_arrays());
  auto const bytes = content(folder.at("large.npz")).size();
  EXPECT_NO_THROW(read_npz(folder.at("large.npz"), bytes));
  refused(folder.at("large.npz"), "more than the " + std::to_string(bytes - 1) + " allowed for it", bytes - 1);
}

TEST(NpzReader, OtherPeoplesArchivesAreRefused) {
  test_folder const folder;
  auto const script = folder.write("make.py", R"(
import sys, zipfile
npy = b'\x93NUMPY\x01\x00v\x00' + b"{'descr': '|u1', 'fortran_order': False, 'shape': (3,), }".ljust(117) + b'\nxyz'
for name, method in (('stored', zipfile.ZIP_STORED), ('deflated', zipfile.ZIP_DEFLATED)):
    with zipfile.ZipFile(sys.argv[1] + '/' + name + '.npz', 'w', method) as archive:
        archive.writestr('a.npy', npy)
with zipfile.ZipFile(sys.argv[1] + '/text.npz', 'w') as archive:
    archive.writestr('a.txt', 'text')
with zipfile.ZipFile(sys.argv[1] + '/comment.npz', 'w') as archive:
    archive.comment = b'comment'
)");
  ASSERT_EQ(std::system((std::string{LULL_PYTHON} + " -B \"" + script + "\" \"" + folder.at("") + '"').c_str()), 0);
  for (std::string const name : {"stored", "deflated", "text"}) {
    auto const what = refusal_of(folder.at(name + ".npz"));
    EXPECT_NE(what.find("is damaged, or no .npz file that Lull wrote: the "), std::string::npos) << what;
  }
  refusal_of(folder.at("comment.npz"));
}

// A file put together from parts that need not fit.
std::string put_together(std::vector<std::pair<npz_member, std::string>> members, std::string const& gap = {},
                         std::string const& behind_entries = {}) {
  std::string file;
  std::string entries;
  for (auto& [member, data] : members) {
    member.offset = file.size();
    std::string const header = detail::npy_header(member.array) + data;
    member.crc = static_cast<std::uint32_t>(::crc32_z(0, reinterpret_cast<Bytef const*>(header.data()), header.size()));
    file += detail::opening_of(member) + data + detail::closing_of(member);
    entries += detail::entry_of(member);
  }
  file += gap;
  entries += behind_entries;
  return file + entries + detail::end_of({.members = members.size(), .offset = file.size(), .bytes = entries.size()});
}

TEST(NpzReader, PartsThatDoNotFitAreRefused) {
  test_folder const folder;
  auto const member = [](npz_array array) { return npz_member{.array = std::move(array)}; };
  auto const refused = [&](std::string const& bytes, std::string const& expected) {
    auto const what = refusal_of(folder.write("file.npz", bytes));
    EXPECT_NE(what.find(expected), std::string::npos) << what;
  };
  npz_array const good{"a", npz_type::u1, {4}};
  expect_equal(read_npz(folder.write("good.npz", put_together({{member(good), "data"}}))), {{good, "data"}});
  refused(put_together({{member(good), "data"}, {member(good), "more"}}), "holds two arrays named a");
  for (std::string const data : {"dat", "data5", ""})
    refused(put_together({{member(good), data}}), "the end of array a");
  refused(put_together({{member(good), "data"}}, "gap"), "the place of its zip directory");
  refused(put_together({{member(good), "data"}}, "", "more"), "the place of its zip directory");
  refused(put_together({}, "PK\x03\x04"), "the place of its zip directory");
  refused(put_together({{member({"a", npz_type::u1, {std::uint64_t{1} << 62}}), "data"}}), "the end of array a");
  refused(put_together({{member({"a", npz_type::u8, {std::uint64_t{1} << 61}}), "data"}}), "the header of array 1");
  refused(put_together({{member({"a", npz_type::u1, {0, ~0ULL}}), ""}}), "the header of array 1");
  refused(put_together({{member({"a", npz_type::u1, std::vector<std::uint64_t>(9, 1)}), "1"}}),
          "the header of array 1");
  refused(put_together({{member({"a/b", npz_type::u1, {1}}), "1"}}), "the header of array 1");
  refused(put_together({{member({"", npz_type::u1, {1}}), "1"}}), "the header of array 1");
}

TEST(NpzReader, BeyondFourGibibytes) {
  test_folder const folder;
  auto const path = folder.at("large.npz");
  npz_member large{.array = {"large", npz_type::f4, {5, 1ULL << 28}}, .crc = 1, .zip64 = true};  // a hole on the disk
  npz_member small{.array = {"small", npz_type::u1, {4}}, .zip64 = true};
  std::string const data = "data";
  std::string const content = detail::npy_header(small.array) + data;
  small.crc = static_cast<std::uint32_t>(::crc32_z(0, reinterpret_cast<Bytef const*>(content.data()), content.size()));
  std::string const opening = detail::opening_of(large);
  std::uint64_t const closing_at = opening.size() + large.array.bytes();
  small.offset = closing_at + detail::closing_of(large).size();
  std::string behind = detail::closing_of(large) + detail::opening_of(small) + data + detail::closing_of(small);
  std::string const entries = detail::entry_of(large) + detail::entry_of(small);
  behind += entries + detail::end_of({2, closing_at + behind.size(), entries.size(), true});

  int const descriptor = ::open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
  ASSERT_GE(descriptor, 0);
  EXPECT_EQ(::pwrite(descriptor, opening.data(), opening.size(), 0), static_cast<ssize_t>(opening.size()));
  ssize_t const written = ::pwrite(descriptor, behind.data(), behind.size(), static_cast<off_t>(closing_at));
  ::close(descriptor);
  if (written < 0) GTEST_SKIP() << "NOT RUN: no file of 5 GiB can be made here, not even of holes";

  npz_reader const file(path, 1ULL << 40);
  ASSERT_EQ(file.size(), 2u);
  EXPECT_EQ(file.array(0), large.array);
  std::string got(4, '\0');
  file.read_into("small", std::as_writable_bytes(std::span{got}));
  EXPECT_EQ(got, data);
}

}  // namespace
}  // namespace lull
