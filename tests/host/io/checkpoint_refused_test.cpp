// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <array>
#include <string>

#include <lull/tests/host/io/checkpoint_state.hpp>
#include <lull/tests/support/test_folder.hpp>

namespace lull {
namespace {

using namespace test;

/// Expects a refusal with exactly this after the file's name, before anything was handed out.
void expect_refused(std::string const& path, checkpoint_description const& expected, std::string const& message) {
  std::array<std::byte, 64> buffer{};
  auto const what = refusal_of(path, [&] {
    read_checkpoint(
        path, expected, [](auto&&...) { ADD_FAILURE() << "handed out"; }, buffer);
  });
  EXPECT_EQ(what, path + ": " + message);
}

TEST(checkpoint_refused, another_jobs_is_refused) {
  test_folder const folder;
  auto const path = folder.at("mlp.safetensors");
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

TEST(checkpoint_refused, other_arrays_are_refused) {
  test_folder const folder;
  auto const path = folder.at("mlp.safetensors");
  write(path, mlp, state(mlp));
  std::string const again = "; remove the file, or name another folder for checkpoints, to start again";
  auto other = mlp;
  other.arrays.push_back({"logits", tensor_type::f64, {30}});
  expect_refused(
      path, other,
      "lacks the array logits, F64 (30,), that the task has: it was written by another version of the task" + again);
  other = mlp;
  other.arrays.erase(other.arrays.begin() + 1);
  expect_refused(
      path, other,
      "holds an array moments, BF16 (30,), that the task does not have: it was written by another version of the task" +
          again);
  other = mlp;
  other.arrays[0].type = tensor_type::i32;
  expect_refused(path, other, "holds the array weights as F32 (3, 5), but the task has it as I32 (3, 5)" + again);
  other = mlp;
  other.arrays[0].shape = {5, 3};
  expect_refused(path, other, "holds the array weights as F32 (3, 5), but the task has it as F32 (5, 3)" + again);
  other = mlp;
  other.arrays[4].shape = {1};
  expect_refused(path, other, "holds the array loss as F64 (), but the task has it as F64 (1,)" + again);
  other = mlp;
  other.arrays[5] = {"progress", tensor_type::u16, {1, 7}};
  expect_refused(path, other, "holds the array progress as U8 (2, 7), but the task has it as U16 (1, 7)" + again);
  other = mlp;
  other.cursor_words = 5;
  expect_refused(path, other, "holds the array lull.cursor as U64 (4,), but the task has it as U64 (5,)" + again);
}

std::string const start_again = "; remove the file, or name another folder for checkpoints, to start again";

/// A checkpoint file with other metadata.
std::string described(test_folder const& folder, safetensors_metadata const& metadata) {
  auto const path = folder.at("described.safetensors");
  write_tensors(path, {{{"lull.cursor", tensor_type::u64, {1}}, "12345678"}}, metadata);
  return path;
}

TEST(checkpoint_refused, other_versions_are_refused) {
  test_folder const folder;
  std::string const than = " than version 3, which this Lull reads: resume with the Lull that wrote it" + start_again;
  // The other content of such a file is not read.
  expect_refused(described(folder, {{"lull.checkpoint", "0"}}), mlp, "is a checkpoint of version 0, older" + than);
  expect_refused(described(folder, {{"lull.checkpoint", "18446744073709551615"}, {"lull.task", "1"}}), mlp,
                 "is a checkpoint of version 18446744073709551615, newer" + than);
}

TEST(checkpoint_refused, other_files_are_refused) {
  test_folder const folder;
  std::string const other = "is a safetensors file, but no checkpoint: it has no metadata ";
  expect_refused(described(folder, {}), mlp, other + "lull.checkpoint" + start_again);
  for (std::string const version : {"", "x", "-1", "3.0", " 3", "3 ", "18446744073709551616"}) {
    expect_refused(described(folder, {{"lull.checkpoint", version}}), mlp,
                   "is no checkpoint: its version is \"" + version + '"' + start_again);
  }
  expect_refused(described(folder, {{"lull.checkpoint", "3"}}), mlp, other + "lull.task" + start_again);
  expect_refused(described(folder, {{"lull.checkpoint", "3"}, {"lull.task", "mlp"}}), mlp,
                 other + "lull.settings" + start_again);
  expect_refused(folder.write("old.npz", "PK\x03\x04" + std::string(1000, 'x')), mlp,
                 "is a zip archive, as .npz files are, and no safetensors file" + start_again);
}

TEST(checkpoint_refused, one_that_another_program_has_written_is_refused) {
  test_folder const folder;
  expect_refused(folder.write("mlp.safetensors",
                              foreign_file(R"({"__metadata__":{"lull.checkpoint":"3","lull.task":"mlp"}})", "")),
                 mlp, "has no checksums: another program has written it since, or it is damaged" + start_again);
}

TEST(checkpoint_refused, a_torn_or_damaged_file_is_refused) {
  test_folder const folder;
  write(folder.at("whole.safetensors"), mlp, state(mlp));
  std::string const whole = content(folder.at("whole.safetensors"));
  for (std::size_t bytes = 0; bytes <= whole.size(); ++bytes) {
    auto damaged = whole;
    if (bytes < whole.size()) damaged[bytes] = static_cast<char>(damaged[bytes] ^ 0x20);
    for (auto const& content : {damaged, whole.substr(0, bytes)}) {
      if (content == whole) continue;
      auto const path = folder.write("damaged.safetensors", content);
      state into(mlp);
      std::array<std::byte, 64> buffer{};
      refusal_of(path, [&] { read_checkpoint(path, mlp, into.sink(), buffer); });
      if (HasFailure()) FAIL() << "byte " << bytes;
    }
  }
}

TEST(checkpoint_refused, settings_of_any_bytes_are_kept_apart) {
  test_folder const folder;
  auto const path = folder.at("mlp.safetensors");
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
