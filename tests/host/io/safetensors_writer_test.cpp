// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <cerrno>
#include <csignal>
#include <cstring>
#include <future>
#include <string>
#include <vector>

#include <lull/host/io/atomic_file.hpp>
#include <lull/tests/host/io/safetensors_file.hpp>
#include <lull/tests/host/io/safetensors_python.hpp>

namespace lull {
namespace {

using namespace test;

std::vector<tensor_info> infos_of(std::vector<filled_tensor> const& tensors) {
  std::vector<tensor_info> infos;
  for (filled_tensor const& each : tensors) infos.push_back(each.tensor);
  return infos;
}

tensor_source source_of(std::vector<filled_tensor> const& tensors) {
  return [&](std::size_t tensor, std::uint64_t offset, std::span<std::byte> piece) {
    std::memcpy(piece.data(), tensors.at(tensor).data.data() + offset, piece.size());
  };
}

TEST(safetensors_writer, pieces_of_any_size_give_the_same_file) {
  test_folder const folder;
  auto const tensors = sample_tensors();
  write_tensors(folder.at("whole"), tensors, {{"by", "a test"}});
  for (std::size_t const most : {1u, 3u, 1000u}) {
    std::vector<std::byte> buffer(most);
    write_safetensors(folder.at("pieces"), infos_of(tensors), {{"by", "a test"}}, source_of(tensors), buffer);
    EXPECT_EQ(content(folder.at("pieces")), content(folder.at("whole")));
  }
}

TEST(safetensors_writer, a_file_is_length_header_and_data) {
  test_folder const folder;
  write_tensors(folder.at("one"), {{{"a", tensor_type::u8, {3}}, "xyz"}}, {{"who", "M\u00fcller"}});
  EXPECT_EQ(content(folder.at("one")),
            std::string("\x78\0\0\0\0\0\0\0", 8) +
                "{\"__metadata__\":{\"lull.crc32\":\"54a33c8f eb8eba67\",\"who\":\"M\u00fcller\"},"
                "\"a\":{\"dtype\":\"U8\",\"shape\":[3],\"data_offsets\":[0,3]}} xyz");
  write_tensors(folder.at("none"), {});
  EXPECT_EQ(content(folder.at("none")).substr(8, 28), R"({"__metadata__":{"lull.crc32)");
}

TEST(safetensors_writer, metadata_that_are_no_utf_8_are_replaced) {
  test_folder const folder;
  write_tensors(folder.at("one"), {}, {{"name", "\xff\x01\"\n"}});
  EXPECT_EQ(safetensors_reader(folder.at("one"), 1 << 20).metadata(),
            (safetensors_metadata{{"name", "\uFFFD\x01\"\n"}}));
}

TEST(safetensors_writer, what_cannot_be_is_refused_and_the_old_file_stays) {
  test_folder const folder;
  auto const path = folder.write("file", "old");
  auto const refused = [&](std::vector<filled_tensor> const& tensors, std::string const& expected,
                           safetensors_metadata const& metadata = {}) {
    try {
      write_tensors(path, tensors, metadata);
      ADD_FAILURE() << "written: " << expected;
    } catch (usage_error const& wrong) {
      EXPECT_TRUE(std::string_view{wrong.what()}.starts_with(path + ": ")) << wrong.what();
      EXPECT_NE(std::string{wrong.what()}.find(expected), std::string::npos) << wrong.what();
    }
  };
  auto const named = [](std::string name) { return filled_tensor{{std::move(name), tensor_type::u8, {1}}, "1"}; };
  for (std::string const name : {"", "a/b", "..\\a", "a b", "\u00e4", "a\n"})
    refused({named(name)}, "tensor \"" + name + "\": its name is not 1 to 128 letters, digits");
  refused({named(std::string(129, 'a'))}, "its name is not 1 to 128");
  refused({named("__metadata__")}, "its name means metadata");
  refused({named("a"), named("b"), named("a")}, "tensor \"a\": there is one of that name already");
  refused({{{"a", tensor_type::u8, std::vector<std::uint64_t>(9, 1)}, "1"}}, "more than 8 dimensions");
  refused({{{"a", tensor_type::u64, {1ULL << 60}}, ""}}, "more than 2^62 bytes");
  refused({{{"a", tensor_type::u8, {1ULL << 32, 1ULL << 32}}, ""}}, "more than 2^62 bytes");
  refused({{{"a", tensor_type::u8, {0, 1ULL << 63}}, ""}}, "more than 2^62 bytes");
  for (std::string const data : {"123", "12345", ""})
    refused({{{"a", tensor_type::u16, {2}}, data}}, "U16 (2,) has 4 bytes, not " + std::to_string(data.size()));
  refused({named("a")}, "lull.crc32 are Lull's own", {{"lull.crc32", "0"}});
  refused({named("a")}, "longer than 16 MiB", {{"text", std::string(17 << 20, 'x')}});
  std::vector<std::byte> buffer(8);
  auto const none = [](auto&&...) { ADD_FAILURE() << "asked"; };
  std::vector<tensor_info> const much{{"a", tensor_type::u8, {1ULL << 62}}, {"b", tensor_type::u8, {1}}};
  EXPECT_THROW(write_safetensors(path, much, {}, none, buffer), usage_error);
  EXPECT_THROW(write_safetensors(path, {{"a", tensor_type::u8, {1}}}, {}, none, {}), usage_error);
  EXPECT_EQ(content(path), "old");
  EXPECT_EQ(files_in(folder.at("")), 1u);
}

TEST(safetensors_writer, a_kill_between_any_two_pieces_leaves_the_old_file) {
  test_folder const folder;
  auto const path = folder.write("file", "old");
  auto const tensors = sample_tensors();
  for (std::size_t pieces = 0; pieces < tensors.size() - 1; ++pieces) {  // one has no bytes
    int const status = in_child([&] {
      std::size_t left = pieces;
      std::vector<std::byte> buffer(64);
      auto const source = [&](std::size_t tensor, std::uint64_t offset, std::span<std::byte> piece) {
        if (left-- == 0) ::_exit(7);
        source_of(tensors)(tensor, offset, piece);
      };
      write_safetensors(path, infos_of(tensors), {}, source, buffer);
      return 8;
    });
    EXPECT_EQ(status, 7);
    EXPECT_EQ(content(path), "old");
  }
  remove_leftovers(path);
  EXPECT_EQ(files_in(folder.at("")), 1u);
}

TEST(safetensors_writer, a_full_disk_leaves_the_old_file_and_nothing_else) {
  test_folder const folder;
  auto const path = folder.write("file", "old");
  for (std::size_t const length : {5'000u, 500'000u}) {  // seen at the end, seen on the way
    int const code = in_child([&] {
      std::signal(SIGXFSZ, SIG_IGN);
      rlimit const limit{4096, 4096};
      ::setrlimit(RLIMIT_FSIZE, &limit);
      try {
        write_tensors(path, {{{"a", tensor_type::u8, {length}}, std::string(length, 'x')}});
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

TEST(safetensors_writer, a_pipe_takes_the_same_bytes) {
  test_folder const folder;
  write_tensors(folder.at("file"), sample_tensors());
  auto const pipe = folder.at("pipe");
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  auto read = std::async(std::launch::async, [&] { return content(pipe); });
  write_tensors(pipe, sample_tensors());
  EXPECT_EQ(read.get(), content(folder.at("file")));
}

// ------------------------------------------------------------------------------------------- what others say of it
TEST(safetensors_writer, keeps_to_the_format) {
  test_folder const folder;
  write_tensors(folder.at("file"), sample_tensors(), {{"text", "\"quoted\", \u00e4 and\nnew line"}});
  expect_format(folder, folder.at("file"), sample_tensors(),
                "assert metadata['text'] == '\"quoted\", \u00e4 and\\nnew line', metadata\n");
}

TEST(safetensors_writer, pythons_safetensors_agrees) {
  test_folder const folder;
  write_tensors(folder.at("file"), sample_tensors(), {{"text", "words"}});
  expect_safetensors_agrees(folder, folder.at("file"), sample_tensors());
}

}  // namespace
}  // namespace lull
