// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <array>
#include <string>

#include <lull/tests/graph/graph_file.hpp>
#include <lull/tests/host/io/checkpoint_state.hpp>

namespace lull {
namespace {

using namespace test;

/// Refused with exactly this behind the file's name, and before anything was handed out.
void expect_refused(std::string const& path, checkpoint_description const& expected, std::string const& message) {
  std::array<std::byte, 64> buffer{};
  auto const what = refusal_of(path, [&] {
    read_checkpoint(
        path, expected, [](auto&&...) { ADD_FAILURE() << "handed out"; }, buffer);
  });
  EXPECT_EQ(what, path + ": " + message);
}

TEST(CheckpointRefused, AnotherJobsIsRefused) {
  test_folder const folder;
  auto const path = folder.at("mlp.npz");
  write(path, mlp, state(mlp));
  auto other = mlp;
  other.task = "pagerank";
  other.settings = "pagerank";  // the task is what is named first
  expect_refused(
      path, other,
      "is a checkpoint of the task \"mlp\", but \"pagerank\" was asked for: give each job a folder of its own for "
      "checkpoints");
  other = mlp;
  other.settings = "mlp:hidden=512";
  expect_refused(path, other,
                 "is a checkpoint of the settings \"mlp:hidden=256,data=\"Müller's digits.csv\"\", but "
                 "\"mlp:hidden=512\" was asked "
                 "for: resume with those, or remove the file to start again");
  other = mlp;
  other.inputs = "0123456789abcdee";
  expect_refused(
      path, other,
      "is a checkpoint of inputs of the fingerprint \"0123456789abcdef\", but \"0123456789abcdee\" was asked for: the "
      "input files have changed since: put the old ones back, or remove the file to start again");
}

TEST(CheckpointRefused, OtherArraysAreRefused) {
  test_folder const folder;
  auto const path = folder.at("mlp.npz");
  write(path, mlp, state(mlp));
  std::string const again = "; remove the file, or name another folder for checkpoints, to start again";
  auto other = mlp;
  other.arrays.push_back({"logits", npz_type::f8, {30}});
  expect_refused(
      path, other,
      "lacks the array logits, f8 (30,), that the task has: it was written by another version of the task" + again);
  other = mlp;
  other.arrays.erase(other.arrays.begin() + 1);
  expect_refused(
      path, other,
      "holds an array moments, u2 (30,), that the task does not have: it was written by another version of the task" +
          again);
  other = mlp;
  other.arrays[0].type = npz_type::i4;
  expect_refused(path, other, "holds the array weights as f4 (3, 5), but the task has it as i4 (3, 5)" + again);
  other = mlp;
  other.arrays[0].shape = {5, 3};
  expect_refused(path, other, "holds the array weights as f4 (3, 5), but the task has it as f4 (5, 3)" + again);
  other = mlp;
  other.arrays[4].shape = {1};
  expect_refused(path, other, "holds the array loss as f8 (), but the task has it as f8 (1,)" + again);
  other = mlp;
  other.arrays[5] = {"progress", npz_type::u2, {1, 7}};
  expect_refused(path, other, "holds the array progress as u1 (2, 7), but the task has it as u2 (1, 7)" + again);
  other = mlp;
  other.cursor_words = 5;
  expect_refused(path, other, "holds the array lull.cursor as u8 (4,), but the task has it as u8 (5,)" + again);
}

// A checkpoint file with another description.
std::string described(test_folder const& folder, std::string const& text, npz_type type = npz_type::u1) {
  auto const path = folder.at("described.npz");
  std::uint64_t const elements = type == npz_type::u1 ? text.size() : 1;
  write_npz(path, {{{"lull.checkpoint", type, {elements}}, text}, {{"lull.cursor", npz_type::u8, {1}}, "12345678"}});
  return path;
}

TEST(CheckpointRefused, OtherVersionsAreRefused) {
  test_folder const folder;
  std::string const again =
      " than version 2, which this Lull reads: resume with the Lull that wrote it; remove the file, or name another "
      "folder for "
      "checkpoints, to start again";
  // What else such a description holds is not looked at.
  expect_refused(described(folder, R"({"format": "lull.checkpoint", "version": 0})"), mlp,
                 "is a checkpoint of version 0, older" + again);
  expect_refused(described(folder, R"({"format": "lull.checkpoint", "version": 18446744073709551615, "task": 1})"), mlp,
                 "is a checkpoint of version 18446744073709551615, newer" + again);
}

// Version 1 had every array as bytes.
TEST(CheckpointRefused, OneOfBytesIsRefusedByItsVersion) {
  test_folder const folder;
  auto const path = folder.at("mlp.npz");
  write(path, mlp, state(mlp));
  auto arrays = read_npz(path);
  std::string& text = arrays[0].data;
  text.replace(text.find("\"version\": 2"), 12, "\"version\": 1");
  for (auto& [array, data] : std::span{arrays}.subspan(2)) array = {array.name, npz_type::u1, {data.size()}};
  write_npz(path, arrays);
  expect_refused(path, mlp,
                 "is a checkpoint of version 1, older than version 2, which this Lull reads: resume with the Lull that "
                 "wrote it; remove the file, or name another folder for checkpoints, to start again");
}

TEST(CheckpointRefused, OtherFilesAreRefused) {
  test_folder const folder;
  auto const other = folder.at("other.npz");
  write_npz(other, {{{"weights", npz_type::f4, {1}}, "1234"}});
  std::string const no_member =
      "is an .npz file, but no checkpoint: it has no member lull.checkpoint that tells of one";
  expect_refused(other, mlp, no_member);
  expect_refused(described(folder, "{     } ", npz_type::i8), mlp, no_member);
  expect_refused(described(folder, std::string((1 << 20) + 1, ' ')), mlp, no_member);
  std::string const not_ours = "is no checkpoint: its member lull.checkpoint is not the description of one";
  for (std::string const text : {"", "{", "[]", "1", "{}", R"({"format": "other", "version": 1})", R"({"format": 1})",
                                 "{\"format\": \"\xff\"}"}) {
    expect_refused(described(folder, text), mlp, not_ours);
  }
  for (std::string const version : {"", R"(, "version": -1)", R"(, "version": "1")", R"(, "version": 1.0)"}) {
    expect_refused(described(folder, R"({"format": "lull.checkpoint")" + version + "}"), mlp,
                   "is no checkpoint: its description has no version");
  }
  std::string const begin = R"({"format": "lull.checkpoint", "version": 2)";
  expect_refused(described(folder, begin + "}"), mlp, "is no checkpoint: its description has no task");
  expect_refused(described(folder, begin + R"(, "task": "mlp", "settings": 1})"), mlp,
                 "is no checkpoint: its description has no settings");
}

TEST(CheckpointRefused, ATornOrDamagedFileIsRefused) {
  test_folder const folder;
  write(folder.at("whole.npz"), mlp, state(mlp));
  std::string const whole = content(folder.at("whole.npz"));
  for (std::size_t bytes = 0; bytes <= whole.size(); ++bytes) {
    auto damaged = whole;
    if (bytes < whole.size()) damaged[bytes] = static_cast<char>(damaged[bytes] ^ 0x20);
    for (auto const& content : {damaged, whole.substr(0, bytes)}) {
      if (content == whole) continue;
      auto const path = folder.write("damaged.npz", content);
      state into(mlp);
      std::array<std::byte, 64> buffer{};
      refusal_of(path, [&] { read_checkpoint(path, mlp, into.sink(), buffer); });
      if (HasFailure()) FAIL() << "byte " << bytes;
    }
  }
}

TEST(CheckpointRefused, SettingsOfAnyBytesAreKeptApart) {
  test_folder const folder;
  auto const path = folder.at("mlp.npz");
  auto bytes = mlp;
  bytes.settings = std::string("mlp:data=\xff\x01\0.csv", 15);
  write(path, bytes, state(bytes));
  EXPECT_EQ(read(path, bytes).arrays, state(bytes).arrays);
  auto other = bytes;
  other.settings.back() = 'x';
  expect_refused(path, other,
                 "is a checkpoint of the settings \"mlp:data=\uFFFD??.cs\", but \"mlp:data=\uFFFD??.cx\" was asked "
                 "for: resume with "
                 "those, or remove the file to start again");
}

}  // namespace
}  // namespace lull
