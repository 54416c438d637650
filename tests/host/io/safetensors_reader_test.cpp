// SPDX-License-Identifier: Apache-2.0
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <string>
#include <utility>
#include <vector>

#include <lull/host/io/foreign_file.hpp>
#include <lull/tests/host/io/safetensors_file.hpp>
#include <lull/tests/support/test_folder.hpp>

namespace lull {
namespace {

using namespace test;

TEST(safetensors_reader, reads_what_was_written) {
  test_folder const folder;
  auto const path = folder.at("file");
  write_tensors(path, sample_tensors(), {{"one", "1"}, {"other", ""}});
  expect_equal(read_tensors(path), sample_tensors());
  safetensors_reader const file(path, 1 << 20);
  EXPECT_TRUE(file.has_checksums());
  EXPECT_EQ(file.metadata(), (safetensors_metadata{{"one", "1"}, {"other", ""}}));
  write_tensors(path, {});
  EXPECT_TRUE(read_tensors(path).empty());
  EXPECT_TRUE(safetensors_reader(path, 1 << 20).has_checksums());
}

TEST(safetensors_reader, hands_out_pieces_in_order) {
  test_folder const folder;
  auto const path = folder.at("file");
  write_tensors(path, sample_tensors());
  safetensors_reader const file(path, 1 << 20);
  for (auto const& [tensor, expected] : sample_tensors()) {
    for (std::size_t const buffer_bytes : {1u, 7u, 48u, 100u}) {
      std::vector<std::byte> buffer(buffer_bytes);
      std::string got;
      file.read_into(tensor.name, buffer, [&](std::uint64_t offset, std::span<std::byte const> piece) {
        EXPECT_EQ(offset, got.size());
        EXPECT_LE(piece.size(), buffer.size());
        got.append(reinterpret_cast<char const*>(piece.data()), piece.size());
      });
      EXPECT_EQ(got, expected);
    }
  }
}

TEST(safetensors_reader, wrong_calls_are_refused) {
  test_folder const folder;
  auto const path = folder.at("file");
  write_tensors(path, sample_tensors());
  safetensors_reader const file(path, 1 << 20);
  std::vector<std::byte> eight(8);
  EXPECT_EQ(file.find("nothing"), nullptr);
  EXPECT_EQ(file.find("__metadata__"), nullptr);
  ASSERT_NE(file.find("one"), nullptr);
  EXPECT_EQ(file.find("one")->bytes(), 8u);
  file.read_into("one", eight);
  EXPECT_THROW(file.read_into("nothing", eight), usage_error);
  EXPECT_THROW(file.read_into("bytes", eight), usage_error);
  EXPECT_THROW(file.read_into("one", {}, [](std::uint64_t, std::span<std::byte const>) {}), usage_error);
}

TEST(safetensors_reader, truncated_at_every_byte_is_refused) {
  test_folder const folder;
  write_tensors(folder.at("whole"), sample_tensors());
  std::string const whole = content(folder.at("whole"));
  std::size_t const header = whole.find("}}") + 2;
  for (std::size_t bytes = 0; bytes < whole.size(); ++bytes) {
    auto const what = refusal_of(folder.write("cut", whole.substr(0, bytes)));
    EXPECT_NE(what.find(bytes == 0 ? "is empty; do something" : "is cut short"), std::string::npos) << bytes << what;
    if (bytes > header + 8) {
      EXPECT_NE(what.find(" bytes of data, where its header says "), std::string::npos) << what;
    }
  }
  for (std::string const& longer : {whole + '\0', whole + whole}) {
    auto const what = refusal_of(folder.write("longer", longer));
    EXPECT_NE(what.find("has more data than tensors"), std::string::npos) << what;
  }
}

/// Damage to the name of the checksums alone makes it another program's file; then the tensors are still right.
TEST(safetensors_reader, every_flipped_bit_is_found) {
  test_folder const folder;
  auto const path = folder.at("file");
  auto const expected = sample_tensors();
  write_tensors(path, expected, {{"text", "words"}});
  std::string const whole = content(path);
  std::size_t const name = whole.find("lull.crc32");
  int const descriptor = ::open(path.c_str(), O_WRONLY | O_CLOEXEC);
  ASSERT_GE(descriptor, 0);
  for (std::size_t at = 0; at < whole.size(); ++at) {
    for (int const flip : {1, 2, 4, 8, 16, 32, 64, 128, 255}) {
      char const byte = static_cast<char>(whole[at] ^ flip);
      ASSERT_EQ(::pwrite(descriptor, &byte, 1, static_cast<off_t>(at)), 1);
      try {
        auto const found = read_tensors(path);
        EXPECT_TRUE(at >= name && at < name + 10) << "read";
        EXPECT_FALSE(safetensors_reader(path, 1 << 20).has_checksums());
        expect_equal(found, expected);
      } catch (input_error const& wrong) {
        EXPECT_TRUE(std::string_view{wrong.what()}.ends_with("; do something")) << wrong.what();
      }
      if (HasFailure()) FAIL() << "byte " << at << " flipped by " << flip;
    }
    ASSERT_EQ(::pwrite(descriptor, &whole[at], 1, static_cast<off_t>(at)), 1);
  }
  ::close(descriptor);
  expect_equal(read_tensors(path), expected);
}

TEST(safetensors_reader, damaged_data_is_named) {
  test_folder const folder;
  write_tensors(folder.at("file"),
                {{{"first", tensor_type::u8, {4}}, "good"}, {{"second", tensor_type::u8, {4}}, "DATA"}});
  std::string damaged = content(folder.at("file"));
  damaged[damaged.rfind("DATA")] = 'd';
  auto const path = folder.write("damaged", damaged);
  EXPECT_EQ(refusal_of(path),
            path + ": is damaged: the data of tensor second does not match its checksum; do something");
  safetensors_reader const file(path, 1 << 20);
  std::string first(4, '\0');
  file.read_into("first", std::as_writable_bytes(std::span{first}));
  EXPECT_EQ(first, "good");
}

TEST(safetensors_reader, what_is_no_such_file_is_refused) {
  test_folder const folder;
  auto const refused = [](std::string const& path, std::string const& expected, std::uint64_t limit = 1 << 26) {
    EXPECT_EQ(refusal_of(path, [&] { read_tensors(path, limit); }), path + ": " + expected);
  };
  refused(folder.at("missing"), "cannot be opened: No such file or directory");
  ASSERT_EQ(::mkdir(folder.at("folder").c_str(), 0700), 0);
  refused(folder.at("folder"), "is not a regular file");
  ASSERT_EQ(::mkfifo(folder.at("pipe").c_str(), 0600), 0);
  refused(folder.at("pipe"), "is not a regular file");
  refused(folder.write("text", "task,settings\n"),
          "is cut short, or no safetensors file: its header is not all there; do something");
  refused(folder.write("old.npz", "PK\x03\x04" + std::string(1000, 'x')),
          "is a zip archive, as .npz files are, and no safetensors file; do something");
  refused(folder.write("long", foreign_file(std::string((1 << 24) + 8, ' '), "")),
          "has a header of 16777224 bytes, more than the 16777216 that Lull reads; do something");
  write_tensors(folder.at("large"), sample_tensors());
  auto const bytes = content(folder.at("large")).size();
  EXPECT_NO_THROW(read_tensors(folder.at("large"), bytes));
  refused(folder.at("large"),
          "has " + std::to_string(bytes) + " bytes, more than the " + std::to_string(bytes - 1) + " allowed for it",
          bytes - 1);
}

TEST(safetensors_reader, files_of_other_programs_are_read) {
  test_folder const folder;
  // Not in the order of their data, with blanks, and with the checksums of a file that this was read from.
  auto const path = folder.write("file", foreign_file(R"({ "b": {"data_offsets": [4, 8], "shape": [], "dtype": "F32"},
                                "none": {"dtype": "U8", "shape": [2, 0], "data_offsets": [4, 4]},
                                "a": {"dtype": "BF16", "shape": [1, 2], "data_offsets": [0, 4]},
                                "__metadata__": {"lull.crc32": "00000000", "format": "pt"} }   )",
                                                      "datamore"));
  auto const found = read_tensors(path);
  expect_equal(found, {{{"a", tensor_type::bf16, {1, 2}}, "data"},
                       {{"none", tensor_type::u8, {2, 0}}, ""},
                       {{"b", tensor_type::f32, {}}, "more"}});
  EXPECT_EQ(found.front().tensor.name, "a");
  safetensors_reader const file(path, 1 << 20);
  EXPECT_FALSE(file.has_checksums());
  EXPECT_EQ(file.metadata(), (safetensors_metadata{{"format", "pt"}}));
  EXPECT_TRUE(read_tensors(folder.write("none", foreign_file("{}", ""))).empty());
}

TEST(safetensors_reader, a_number_with_a_point_or_an_exponent_may_be_whole) {
  test_folder const folder;
  for (std::string const four : {"4", "4.0", "4e0", "0.4E1", "40e-1", "4.000"}) {
    auto const found = read_tensors(folder.write(
        "file",
        foreign_file(R"({"a":{"dtype":"U8","shape":[)" + four + R"(],"data_offsets":[-0,)" + four + "]}}", "data")));
    expect_equal(found, {{{"a", tensor_type::u8, {4}}, "data"}});
  }
}

TEST(safetensors_reader, metadata_may_be_null) {
  test_folder const folder;
  safetensors_reader const file{folder.write("file", foreign_file(R"({"__metadata__":null})", "")), 1 << 20};
  EXPECT_TRUE(file.tensors().empty());
}

TEST(safetensors_reader, what_a_failed_download_left_is_named) {
  test_folder const folder;
  for (std::string const& text : {std::string{"version https://git-lfs.github.com/spec/v1\noid sha256:0\n"},
                                  std::string{"<!DOCTYPE html>"}, std::string{"<html>"}}) {
    std::string const path = folder.write("file", text);
    EXPECT_EQ(refusal_of(path), path + ": " + download_fault(text)) << "without the advice to make it again";
  }
}

TEST(safetensors_reader, headers_that_cannot_be_are_refused) {
  test_folder const folder;
  auto const refused = [&](std::string const& header, std::string const& expected, std::string const& data = "data") {
    auto const path = folder.write("file", foreign_file(header, data));
    EXPECT_EQ(refusal_of(path), path + ": " + expected + "; do something") << header;
  };
  auto const tensor = [](std::string const& name, std::string const& type, std::string const& shape,
                         std::string const& offsets) {
    return '"' + name + R"(":{"dtype":")" + type + R"(","shape":[)" + shape + R"(],"data_offsets":[)" + offsets + "]}";
  };
  std::string const no_json = "is damaged, or no safetensors file: its header is no JSON object";
  for (std::string const header : {"", "[]", "null", "{", "{}x", " {}", R"({"a":1,})", "{\"a\xff\":1}"})
    refused(header, no_json);
  refused("\xef\xbb\xbf{}", no_json);
  for (std::string const text : {"{}", R"({"a":1})", "", "[]", " "})  // what follows would be ignored
    refused(text + '\0' + "{}", "is damaged, or no safetensors file: its header has a zero byte");
  refused(R"({"a":{"b":[[)" + std::string(100'000, '['), "is no safetensors file: its header is nested too deeply");
  refused(R"({"a":{"b":{"c":{}}}})", "is no safetensors file: its header is nested too deeply");

  std::string const a = tensor("a", "U8", "4", "0,4");
  refused('{' + a + ',' + a + '}', "has \"a\" twice in its header");
  refused(R"({"a":{"dtype":"U8","dtype":"I8","shape":[4],"data_offsets":[0,4]}})", "has \"dtype\" twice in its header");
  refused(R"({"__metadata__":{"x\n":"","x\n":""},)" + a + '}', "has \"x\\n\" twice in its header");
  for (std::string const metadata : {R"({"x":1})", R"({"x":[]})", "[]", R"({"x":null})", R"("text")"})
    refused(R"({"__metadata__":)" + metadata + ',' + a + '}', "has metadata that are not texts by their names");

  std::string const bad = "has a bad tensor \"a\": ";
  for (std::string const value :
       {"1", "{}", R"({"dtype":"U8","shape":[4]})", R"({"dtype":1,"shape":[4],"data_offsets":[0,4]})",
        R"({"dtype":"U8","shape":4,"data_offsets":[0,4]})", R"({"dtype":"U8","shape":[-4],"data_offsets":[0,4]})",
        R"({"dtype":"U8","shape":[4.5],"data_offsets":[0,4]})", R"({"dtype":"U8","shape":[4],"data_offsets":[0]})",
        R"({"dtype":"U8","shape":["4"],"data_offsets":[0,4]})",
        R"({"dtype":"U8","shape":[4],"data_offsets":[0,1e300]})",
        R"({"dtype":"U8","shape":[],"data_offsets":{"a":0,"b":4}})",
        R"({"dtype":"U8","shape":[4],"data_offsets":[0,4,8]})",
        R"({"dtype":"U8","shape":[4],"data_offsets":[0,18446744073709551616]})"}) {
    refused(R"({"a":)" + value + '}', bad + "it has no dtype, shape and data_offsets");
  }
  refused('{' + tensor("a", "F8_E4M3", "4", "0,4") + '}', bad + "Lull reads no element type \"F8_E4M3\"");
  refused('{' + tensor("a/b", "U8", "4", "0,4") + '}',
          "has a bad tensor \"a/b\": its name is not 1 to 128 letters, digits, '_', '-' and '.'");
  refused('{' + tensor("a", "U8", "1,1,1,1,1,1,1,1,4", "0,4") + '}', bad + "it has more than 8 dimensions");
  for (std::string const shape : {"18446744073709551615,2", "4294967296,4294967296", "0,18446744073709551615"})
    refused('{' + tensor("a", "U8", shape, "0,4") + '}', bad + "it has more than 2^62 bytes");
  refused('{' + tensor("a", "F32", "1,3", "0,4") + '}',
          bad + "F32 (1, 3) has 12 bytes, but its data_offsets are [0,4]");
  refused('{' + tensor("a", "U8", "4", "4,0") + '}', bad + "U8 (4,) has 4 bytes, but its data_offsets are [4,0]");

  auto const misplaced = [](std::string const& name, int begin, int expected) {
    return "has a tensor \"" + name + "\" that begins at byte " + std::to_string(begin) + " of the data, where " +
           std::to_string(expected) + " is expected: data without gaps, each byte once";
  };
  refused('{' + tensor("a", "U8", "3", "1,4") + '}', misplaced("a", 1, 0));
  refused('{' + tensor("a", "U8", "2", "0,2") + ',' + tensor("b", "U8", "1", "3,4") + '}', misplaced("b", 3, 2));
  refused('{' + tensor("a", "U8", "3", "0,3") + ',' + tensor("b", "U8", "2", "2,4") + '}', misplaced("b", 2, 3));
  refused('{' + tensor("a", "U8", "4", "0,4") + ',' + tensor("b", "U8", "4", "0,4") + '}', misplaced("b", 0, 4));
  refused('{' + tensor("a", "U8", "0", "1,1") + '}', misplaced("a", 1, 0));
  refused('{' + a + '}', "is cut short: 3 bytes of data, where its header says 4", "dat");
  refused('{' + a + '}', "has more data than tensors: 5 bytes of data, where its header says 4", "data5");
  refused("{}", "has more data than tensors: 4 bytes of data, where its header says 0");
}

TEST(safetensors_reader, wrong_checksums_are_refused) {
  test_folder const folder;
  detail::safetensors_header header{{{"a", tensor_type::u8, {4}}, {"b", tensor_type::u8, {0}}}, {}, {}};
  for (std::size_t const count : {0u, 1u, 3u}) {
    header.checksums.assign(count, 0);
    auto const path = folder.write("file", header.bytes() + "data");
    EXPECT_EQ(refusal_of(path), path + ": has another number of checksums than of tensors; do something");
  }
  header.checksums.assign(2, 0);
  auto const path = folder.write("file", header.bytes() + "data");
  EXPECT_EQ(refusal_of(path), path + ": is damaged: the data of tensor a does not match its checksum; do something");
  std::string bytes = header.bytes();
  bytes[bytes.find("[4]") + 1] = '5';
  EXPECT_EQ(
      refusal_of(folder.write("file", bytes + "data")),
      path +
          ": is damaged, or carries the metadata lull.crc32 of another file: its header does not match; do something");
}

TEST(safetensors_reader, beyond_four_gibibytes) {
  test_folder const folder;
  auto const path = folder.at("large");
  std::string const begin =
      foreign_file(R"({"large":{"dtype":"F32","shape":[5,268435456],"data_offsets":[0,5368709120]},)"
                   R"("small":{"dtype":"U8","shape":[4],"data_offsets":[5368709120,5368709124]}})",
                   "");
  int const descriptor = ::open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
  ASSERT_GE(descriptor, 0);
  EXPECT_EQ(::pwrite(descriptor, begin.data(), begin.size(), 0), static_cast<ssize_t>(begin.size()));
  ssize_t const written = ::pwrite(descriptor, "data", 4, static_cast<off_t>(begin.size() + 5368709120));
  ::close(descriptor);
  if (written < 0) GTEST_SKIP() << "NOT RUN: no file of 5 GiB can be made here, not even of holes";

  safetensors_reader const file(path, 1ULL << 40);
  ASSERT_EQ(file.tensors().size(), 2u);
  EXPECT_EQ(file.tensors().front(), (tensor_info{"large", tensor_type::f32, {5, 1ULL << 28}}));
  std::string got(4, '\0');
  file.read_into("small", std::as_writable_bytes(std::span{got}));
  EXPECT_EQ(got, "data");
}

}  // namespace
}  // namespace lull
