// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <lull/host/error.hpp>
#include <lull/host/io/npz_reader.hpp>
#include <lull/host/io/npz_writer.hpp>

namespace lull::test {

struct filled_array {
  npz_array array;
  std::string data;
};

/// Every type once, with bytes that tell their places apart; one element, no element and many dimensions among them.
inline std::vector<filled_array> sample_arrays() {
  std::vector<filled_array> arrays{
      {{"bytes", npz_type::u1, {7}}, {}},          {{"bf16", npz_type::u2, {2, 3}}, {}},
      {{"labels", npz_type::u4, {5}}, {}},         {{"cursor", npz_type::u8, {4}}, {}},
      {{"Signed-1", npz_type::i4, {1, 2, 1}}, {}}, {{"wide", npz_type::i8, {2}}, {}},
      {{"layer.0", npz_type::f4, {3, 4}}, {}},     {{"double", npz_type::f8, {2, 1, 1, 1, 1, 1, 1, 2}}, {}},
      {{"none", npz_type::f4, {0, 12}}, {}},       {{"one", npz_type::f8, {}}, {}},
      {{"small", npz_type::i1, {3}}, {}},          {{"half", npz_type::i2, {2, 2}}, {}},
  };
  std::uint64_t state = 1;
  for (auto& [array, data] : arrays) {
    for (std::uint64_t at = 0; at < array.bytes(); ++at) {
      state = state * 6364136223846793005 + 1442695040888963407;
      data += static_cast<char>(state >> 57);  // below 128: no float of these is a NaN
    }
  }
  return arrays;
}

inline std::span<std::byte const> bytes_of(std::string const& data) { return std::as_bytes(std::span{data}); }

inline void write_npz(std::string const& path, std::vector<filled_array> const& arrays,
                      std::uint64_t zip64_from = detail::zip32_bytes) {
  npz_writer file(path, zip64_from);
  for (auto const& [array, data] : arrays) file.add(array, bytes_of(data));
  file.commit();
}

/// Opens the file and reads all of it.
inline std::vector<filled_array> read_npz(std::string const& path, std::uint64_t limit_bytes = 1 << 30) {
  npz_reader const file(path, limit_bytes);
  std::vector<filled_array> arrays;
  for (std::size_t at = 0; at < file.size(); ++at) {
    npz_array const& array = file.array(at);
    std::string data(static_cast<std::size_t>(array.bytes()), '\0');
    file.read_into(array.name, std::as_writable_bytes(std::span{data}));
    arrays.push_back({array, data});
  }
  return arrays;
}

inline void expect_equal(std::vector<filled_array> const& found, std::vector<filled_array> const& expected) {
  ASSERT_EQ(found.size(), expected.size());
  for (std::size_t at = 0; at < found.size(); ++at) {
    EXPECT_EQ(found[at].array, expected[at].array) << expected[at].array.name;
    EXPECT_EQ(found[at].data, expected[at].data) << expected[at].array.name;
  }
}

inline std::string content(std::string const& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

/// What the reader says of a file that it must refuse.
template <class Read>
std::string refusal_of(std::string const& path, Read const& read) {
  try {
    read();
  } catch (input_error const& wrong) {
    EXPECT_EQ(wrong.file(), path);
    EXPECT_TRUE(std::string_view{wrong.what()}.starts_with(path + ": ")) << wrong.what();
    return wrong.what();
  }
  ADD_FAILURE() << path << " was read";
  return {};
}
inline std::string refusal_of(std::string const& path) {
  return refusal_of(path, [&] { read_npz(path); });
}

/// Runs `work` in a process of its own, which ends without any destructor; returns its exit status.
template <class Work>
int in_child(Work const& work) {
  pid_t const child = ::fork();
  if (child == 0) {
    int status = 99;
    try {
      status = work();
    } catch (...) {
    }
    ::_exit(status);
  }
  int status = -1;
  EXPECT_EQ(::waitpid(child, &status, 0), child);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

inline std::size_t files_in(std::filesystem::path const& folder) {
  return static_cast<std::size_t>(std::distance(std::filesystem::directory_iterator(folder), {}));
}

}  // namespace lull::test
