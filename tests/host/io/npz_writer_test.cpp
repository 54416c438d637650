// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <cerrno>
#include <csignal>
#include <string>
#include <vector>

#include <lull/host/io/atomic_file.hpp>
#include <lull/tests/graph/graph_file.hpp>
#include <lull/tests/host/io/npz_file.hpp>
#include <lull/tests/host/io/numpy.hpp>

namespace lull {
namespace {

using namespace test;

TEST(NpzWriter, PiecesOfAnySizeGiveTheSameFile) {
  test_folder const folder;
  auto const arrays = sample_arrays();
  write_npz(folder.at("whole.npz"), arrays);
  for (std::size_t const most : {1u, 3u, 1000u}) {
    npz_writer file(folder.at("pieces.npz"));
    for (auto const& [array, data] : arrays) {
      file.add(array);
      for (std::size_t at = 0; at < data.size(); at += most) {
        file.write(bytes_of(data).subspan(at, std::min(most, data.size() - at)));
        file.write({});
      }
    }
    file.commit();
    EXPECT_EQ(content(folder.at("pieces.npz")), content(folder.at("whole.npz")));
  }
}

TEST(NpzWriter, AFileIsItsMembersAndThenTheDirectory) {
  test_folder const folder;
  write_npz(folder.at("one.npz"), {{{"a", npz_type::u1, {3}}, "xyz"}});
  std::string const file = content(folder.at("one.npz"));
  // zip header and name, .npy header, data, closing; entry and name; end
  ASSERT_EQ(file.size(), 30u + 5 + 128 + 3 + 16 + 46 + 5 + 22);
  EXPECT_EQ(file.substr(35, 6), "\x93NUMPY");
  EXPECT_EQ(file.substr(45, 59), "{'descr': '|u1', 'fortran_order': False, 'shape': (3,), }  ");
  EXPECT_EQ(file.substr(162, 4), "\nxyz");
}

TEST(NpzWriter, Zip64FieldsAreWhereTheFormatHasThem) {
  test_folder const folder;
  write_npz(folder.at("one.npz"), {{{"a", npz_type::u1, {3}}, "xyz"}, {{"b", npz_type::u1, {0}}, ""}}, 0);
  std::string const file = content(folder.at("one.npz"));
  constexpr std::size_t member = 30 + 5 + 20 + 128 + 24;  // and its data
  constexpr std::size_t entry = 46 + 5 + 28;
  constexpr std::size_t directory = 2 * member + 3;
  ASSERT_EQ(file.size(), directory + 2 * entry + 56 + 20 + 22);
  auto const at = [&](std::size_t place, std::size_t length) { return detail::number_at(file, place, length); };
  EXPECT_EQ(at(18, 8), ~0ULL);                     // both sizes
  EXPECT_EQ(at(35, 4), 1u | 16u << 16);            // the extra field and its length
  EXPECT_EQ(at(member + 3 - 24, 4), 0x08074b50u);  // closing
  EXPECT_EQ(at(member + 3 - 16, 8), 131u);         // compressed size
  EXPECT_EQ(at(member + 3 - 8, 8), 131u);          // size
  EXPECT_EQ(at(directory + 20, 8), ~0ULL);         // both sizes
  EXPECT_EQ(at(directory + 42, 4), 0xFFFF'FFFFu);  // offset
  EXPECT_EQ(at(directory + 51, 4), 1u | 24u << 16);
  EXPECT_EQ(at(directory + 55, 8), 131u);
  EXPECT_EQ(at(directory + 63, 8), 131u);
  EXPECT_EQ(at(directory + entry + 55, 8), 128u);
  EXPECT_EQ(at(directory + entry + 71, 8), member + 3);
  std::size_t const end = directory + 2 * entry;
  EXPECT_EQ(at(end + 4, 8), 44u);
  EXPECT_EQ(at(end + 32, 8), 2u);
  EXPECT_EQ(at(end + 40, 8), 2 * entry);
  EXPECT_EQ(at(end + 48, 8), directory);
  EXPECT_EQ(at(end + 56 + 8, 8), end);
}

TEST(NpzWriter, WhatCannotBeIsRefusedBeforeAByteIsWritten) {
  test_folder const folder;
  npz_writer file(folder.at("file.npz"));
  auto const refused = [&](npz_array const& array, std::string const& expected) {
    try {
      file.add(array);
      ADD_FAILURE() << array.name << " was added";
    } catch (usage_error const& wrong) {
      EXPECT_NE(std::string{wrong.what()}.find(expected), std::string::npos) << wrong.what();
    }
  };
  EXPECT_THROW(file.write(bytes_of("x")), usage_error);
  refused({"", npz_type::u1, {1}}, "its name is not 1 to 128 letters, digits");
  refused({std::string(129, 'a'), npz_type::u1, {1}}, "its name is not 1 to 128");
  for (std::string const name : {"a/b", "..\\a", "a b", "ä", "a\n"})
    refused({name, npz_type::u1, {1}}, "its name is not");
  refused({"a.npy", npz_type::u1, {1}}, "ends in .npy");
  refused({"a", npz_type::u1, std::vector<std::uint64_t>(9, 1)}, "more than 8 dimensions");
  refused({"a", npz_type::u8, {1ULL << 60}}, "more than 2^62 bytes");
  refused({"a", npz_type::u1, {1ULL << 32, 1ULL << 32}}, "more than 2^62 bytes");
  refused({"a", npz_type::u1, {0, 1ULL << 63}}, "more than 2^62 bytes");
  file.add({"a", npz_type::u2, {2}});
  EXPECT_THROW(file.write(bytes_of("12345")), usage_error);
  file.write(bytes_of("123"));
  refused({"b", npz_type::u1, {1}}, "array \"a\": ends 1 bytes before its shape does");
  EXPECT_THROW(file.commit(), usage_error);
  file.write(bytes_of("4"));
  EXPECT_THROW(file.write(bytes_of("5")), usage_error);
  refused({"a", npz_type::u1, {1}}, "of that name already");
  file.commit();
  EXPECT_THROW(file.commit(), usage_error);
  expect_equal(read_npz(folder.at("file.npz")), {{{"a", npz_type::u2, {2}}, "1234"}});
}

TEST(NpzWriter, AKillBetweenAnyTwoPiecesLeavesTheOldFile) {
  test_folder const folder;
  auto const path = folder.write("file.npz", "old");
  auto const arrays = sample_arrays();
  for (std::size_t pieces = 0; pieces <= 2 * arrays.size(); ++pieces) {
    int const status = in_child([&] {
      npz_writer file(path);
      std::size_t left = pieces;
      for (auto const& [array, data] : arrays) {
        if (left-- == 0) ::_exit(7);
        file.add(array);
        if (left-- == 0) ::_exit(7);
        file.write(bytes_of(data));
      }
      return 7;  // all but the commit
    });
    EXPECT_EQ(status, 7);
    EXPECT_EQ(content(path), "old");
  }
  remove_leftovers(path);
  EXPECT_EQ(files_in(folder.at("")), 1u);
}

TEST(NpzWriter, AFullDiskLeavesTheOldFileAndNothingElse) {
  test_folder const folder;
  auto const path = folder.write("file.npz", "old");
  for (std::size_t const length : {5'000u, 500'000u}) {  // seen at commit, seen at write
    int const code = in_child([&] {
      std::signal(SIGXFSZ, SIG_IGN);
      rlimit const limit{4096, 4096};
      ::setrlimit(RLIMIT_FSIZE, &limit);
      try {
        write_npz(path, {{{"a", npz_type::u1, {length}}, std::string(length, 'x')}});
      } catch (device_error const& wrong) {
        return wrong.code();
      }
      return 98;
    });
    EXPECT_EQ(code, EFBIG);
    EXPECT_EQ(content(path), "old");
    EXPECT_EQ(files_in(folder.at("")), 1u);
  }
}

// ------------------------------------------------------------------------------------------------ what others say of
// it
TEST(NpzWriter, PythonsZipArchivesAgree) {
  test_folder const folder;
  auto const script = folder.write("check.py", R"(
import sys, zipfile
for path in sys.argv[1:]:
    with zipfile.ZipFile(path) as archive:
        assert archive.testzip() is None
        members = archive.infolist()
        assert len(members) == 12, len(members)
        assert all(m.compress_type == zipfile.ZIP_STORED and m.date_time == (1980, 1, 1, 0, 0, 0) for m in members)
        assert members[0].filename == 'bytes.npy' and archive.read('bytes.npy').startswith(b'\x93NUMPY\x01\x00')
)");
  std::string paths;
  for (std::uint64_t const zip64_from : {0u, 700u, 1u << 20}) {
    auto const path = folder.at(std::to_string(zip64_from) + ".npz");
    write_npz(path, sample_arrays(), zip64_from);
    paths += '"' + path + "\" ";
  }
  EXPECT_EQ(run_python(script, paths), 0);
}

TEST(NpzWriter, NumpyLoadsIt) {
  test_folder const folder;
  std::vector<std::string> paths;
  for (std::uint64_t const zip64_from : {0u, 700u, 1u << 20}) {
    paths.push_back(folder.at(std::to_string(zip64_from) + ".npz"));
    write_npz(paths.back(), sample_arrays(), zip64_from);
  }
  expect_numpy_finds(folder, paths, sample_arrays());
}

}  // namespace
}  // namespace lull
