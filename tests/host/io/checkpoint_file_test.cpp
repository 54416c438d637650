// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <array>
#include <chrono>
#include <csignal>
#include <stdexcept>
#include <string>
#include <thread>

#include <lull/tests/host/io/checkpoint_state.hpp>
#include <lull/tests/host/io/safetensors_python.hpp>

namespace lull {
namespace {

using namespace test;

TEST(checkpoint_file, reads_what_was_written) {
  test_folder const folder;
  auto const path = folder.at("mlp.safetensors");
  state const written(mlp);
  for (std::size_t const buffer_bytes : {1u, 7u, 60u, 1000u}) {
    write(path, mlp, written, buffer_bytes);
    EXPECT_EQ(read(path, mlp, 61 - buffer_bytes % 60).arrays, written.arrays);
  }
  EXPECT_EQ(files_in(folder.at("")), 1u);
}

std::vector<filled_tensor> tensors_of(state const& written) {
  std::vector<filled_tensor> tensors{
      {{"lull.cursor", tensor_type::u64, {cursor.size()}},
       {reinterpret_cast<char const*>(cursor.data()), cursor.size() * sizeof(std::uint64_t)}}};
  for (std::size_t at = 0; at < mlp.arrays.size(); ++at) tensors.push_back({mlp.arrays[at], written.arrays[at]});
  return tensors;
}

TEST(checkpoint_file, is_a_safetensors_file_that_tells_of_itself) {
  test_folder const folder;
  auto const path = folder.at("mlp.safetensors");
  state const written(mlp);
  write(path, mlp, written);
  expect_equal(read_tensors(path), tensors_of(written));
  safetensors_reader const file(path, 1 << 20);
  EXPECT_TRUE(file.has_checksums());
  EXPECT_EQ(file.metadata(), (safetensors_metadata{{"lull.checkpoint", "3"},
                                                   {"lull.task", "mlp"},
                                                   {"lull.settings", "mlp:hidden=256,data=\"Müller's digits.csv\""},
                                                   {"lull.inputs", "0123456789abcdef"}}));
  expect_format(folder, path, tensors_of(written), "assert metadata['lull.checkpoint'] == '3'\n");
}

TEST(checkpoint_file, pythons_safetensors_agrees) {
  test_folder const folder;
  auto const path = folder.at("mlp.safetensors");
  state const written(mlp);
  write(path, mlp, written);
  expect_safetensors_agrees(folder, path, tensors_of(written));
}

TEST(checkpoint_file, what_cannot_be_described_is_refused) {
  test_folder const folder;
  auto const path = folder.write("mlp.safetensors", "old");
  auto const refused = [&](auto const& change, std::string const& expected) {
    auto description = mlp;
    change(description);
    try {
      write(path, description, state(description));
      ADD_FAILURE() << "written: " << expected;
    } catch (usage_error const& wrong) {
      EXPECT_NE(std::string{wrong.what()}.find(expected), std::string::npos) << wrong.what();
    }
  };
  refused([](auto& description) { description.task.clear(); }, "needs the name of its task");
  for (std::string const inputs : {"", "ABC", "0x1", "é"}) {
    refused([&](auto& description) { description.inputs = inputs; },
            "needs a fingerprint of 1 to 64 hexadecimal digits");
  }
  refused([](auto& description) { description.inputs.assign(65, 'a'); }, "needs a fingerprint");
  refused([](auto& description) { description.arrays[1].name = "lull.cursor"; }, "such names are Lull's own");
  refused([](auto& description) { description.arrays[1].name = "weights"; }, "of that name already");
  refused([](auto& description) { description.settings.assign(17 << 20, 'x'); }, "longer than 16 MiB");
  std::array<std::byte, 8> buffer{};
  EXPECT_THROW(write_checkpoint(path, mlp, cursor, state(mlp).source(), {}), usage_error);
  EXPECT_THROW(write_checkpoint(path, mlp, std::span{cursor}.first(3), state(mlp).source(), buffer), usage_error);
  EXPECT_EQ(content(path), "old");
  EXPECT_EQ(files_in(folder.at("")), 1u);
}

TEST(checkpoint_file, a_source_that_throws_leaves_the_old_file) {
  test_folder const folder;
  auto const path = folder.write("mlp.safetensors", "old");
  std::array<std::byte, 8> buffer{};
  for (int const pieces : {0, 1, 9}) {
    int left = pieces;
    auto const source = [&](auto&&...) {
      if (left-- == 0) throw std::runtime_error("the device is lost");
    };
    EXPECT_THROW(write_checkpoint(path, mlp, cursor, source, buffer), std::runtime_error);
    EXPECT_EQ(content(path), "old");
    EXPECT_EQ(files_in(folder.at("")), 1u);
  }
}

// Kills a process that writes one checkpoint after another: there is always a whole one, and the next writer finds no
// leftovers.
TEST(checkpoint_file, a_kill_at_any_instant_leaves_a_whole_one) {
  test_folder const folder;
  auto const path = folder.at("mlp.safetensors");
  auto large = mlp;
  large.arrays[0].shape = {1000, 500};
  state const states[2] = {state(large, 'a'), state(large, 'A')};
  write(path, large, states[0], 1 << 16);
  for (int round = 0; round < 12; ++round) {
    pid_t const child = ::fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      for (std::size_t turn = 1; turn < 100'000; ++turn) write(path, large, states[turn % 2], 1 << 16);
      ::_exit(0);
    }
    std::this_thread::sleep_for(std::chrono::microseconds(3'000 + 1'700 * round));
    ASSERT_EQ(::kill(child, SIGKILL), 0);
    ASSERT_EQ(::waitpid(child, nullptr, 0), child);
    auto const found = read(path, large, 1 << 16).arrays;
    EXPECT_TRUE(found == states[0].arrays || found == states[1].arrays) << "round " << round;
    EXPECT_LE(files_in(folder.at("")), 2u);
  }
  write(path, large, states[0], 1 << 16);
  EXPECT_EQ(files_in(folder.at("")), 1u);
}

}  // namespace
}  // namespace lull
