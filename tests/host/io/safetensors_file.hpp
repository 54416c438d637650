// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
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
#include <lull/host/io/safetensors_reader.hpp>
#include <lull/host/io/safetensors_writer.hpp>
#include <lull/tests/support/forked.hpp>

namespace lull::test {

struct filled_tensor {
  tensor_info tensor;
  std::string data;
};

/// Returns every type once, with bytes that differ by place; among them one element, no element and many dimensions.
inline std::vector<filled_tensor> sample_tensors() {
  std::vector<filled_tensor> tensors{
      {{"bytes", tensor_type::u8, {7}}, {}},      {{"weights", tensor_type::bf16, {2, 3}}, {}},
      {{"labels", tensor_type::u32, {5}}, {}},    {{"cursor", tensor_type::u64, {4}}, {}},
      {{"short", tensor_type::u16, {3}}, {}},     {{"Signed-1", tensor_type::i32, {1, 2, 1}}, {}},
      {{"wide", tensor_type::i64, {2}}, {}},      {{"layer.0", tensor_type::f32, {3, 4}}, {}},
      {{"none", tensor_type::f32, {0, 12}}, {}},  {{"double", tensor_type::f64, {2, 1, 1, 1, 1, 1, 1, 2}}, {}},
      {{"one", tensor_type::f64, {}}, {}},        {{"small", tensor_type::i8, {3}}, {}},
      {{"half", tensor_type::f16, {2, 2}}, {}},   {{"signed-2", tensor_type::i16, {2, 2}}, {}},
      {{"yes", tensor_type::boolean, {2, 2}}, {}}};
  std::uint64_t state = 1;
  for (auto& [tensor, data] : tensors) {
    for (std::uint64_t at = 0; at < tensor.bytes(); ++at) {
      state = state * 6364136223846793005 + 1442695040888963407;
      // Below 124: no float of these is a NaN.
      data += static_cast<char>(tensor.type == tensor_type::boolean ? state >> 63 : (state >> 57) % 124);
    }
  }
  return tensors;
}

inline std::span<std::byte const> bytes_of(std::string const& data) { return std::as_bytes(std::span{data}); }

inline void write_tensors(std::string const& path, std::vector<filled_tensor> const& tensors,
                          safetensors_metadata const& metadata = {}) {
  std::vector<tensor_view> views;
  for (auto const& [tensor, data] : tensors) views.push_back({tensor, bytes_of(data)});
  write_safetensors(path, views, metadata);
}

/// Opens the file and reads all of it.
inline std::vector<filled_tensor> read_tensors(std::string const& path, std::uint64_t limit_bytes = 1 << 30) {
  safetensors_reader const file(path, limit_bytes, "; do something");
  std::vector<filled_tensor> tensors;
  for (tensor_info const& each : file.tensors()) {
    std::string data(static_cast<std::size_t>(each.bytes()), '\0');
    file.read_into(each.name, std::as_writable_bytes(std::span{data}));
    tensors.push_back({each, data});
  }
  return tensors;
}

/// Expects these tensors; their order in a file is that of their alignment.
inline void expect_equal(std::vector<filled_tensor> found, std::vector<filled_tensor> expected) {
  ASSERT_EQ(found.size(), expected.size());
  for (auto* const each : {&found, &expected}) {
    std::sort(each->begin(), each->end(),
              [](filled_tensor const& one, filled_tensor const& other) { return one.tensor.name < other.tensor.name; });
  }
  for (std::size_t at = 0; at < found.size(); ++at) {
    EXPECT_EQ(found[at].tensor, expected[at].tensor) << expected[at].tensor.name;
    EXPECT_EQ(found[at].data, expected[at].data) << expected[at].tensor.name;
  }
}

/// Returns a safetensors file of another program: this header, unchanged, and this data.
inline std::string foreign_file(std::string const& header, std::string const& data) {
  std::string file;
  for (std::size_t byte = 0; byte < 8; ++byte) file += static_cast<char>(header.size() >> (8 * byte) & 0xff);
  return file + header + data;
}

inline std::string content(std::string const& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

/// Returns the reader's message for a file that it must refuse.
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
  return refusal_of(path, [&] { read_tensors(path); });
}

/// Runs `work` in a separate process, which ends without any destructor; returns its exit status.
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
  int const status = status_of(child);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

inline std::size_t files_in(std::filesystem::path const& folder) {
  return static_cast<std::size_t>(std::distance(std::filesystem::directory_iterator(folder), {}));
}

}  // namespace lull::test
