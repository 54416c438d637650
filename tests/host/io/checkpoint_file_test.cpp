// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <array>
#include <chrono>
#include <csignal>
#include <stdexcept>
#include <string>
#include <thread>

#include <lull/tests/graph/graph_file.hpp>
#include <lull/tests/host/io/checkpoint_state.hpp>
#include <lull/tests/host/io/numpy.hpp>

namespace lull {
namespace {

using namespace test;

TEST(CheckpointFile, ReadsWhatWasWritten) {
  test_folder const folder;
  auto const path = folder.at("mlp.npz");
  state const written(mlp);
  for (std::size_t const buffer_bytes : {1u, 7u, 60u, 1000u}) {
    write(path, mlp, written, buffer_bytes);
    EXPECT_EQ(read(path, mlp, 61 - buffer_bytes % 60).arrays, written.arrays);
  }
  EXPECT_EQ(files_in(folder.at("")), 1u);
}

TEST(CheckpointFile, IsAnNpzFileThatTellsOfItself) {
  test_folder const folder;
  auto const path = folder.at("mlp.npz");
  write(path, mlp, state(mlp));
  auto const arrays = read_npz(path);
  ASSERT_EQ(arrays.size(), 2 + mlp.arrays.size());
  EXPECT_EQ(arrays[0].array.name, "lull.checkpoint");
  EXPECT_EQ(arrays[0].array.type, npz_type::u1);
  EXPECT_EQ(arrays[0].data, R"({
 "format": "lull.checkpoint",
 "version": 2,
 "task": "mlp",
 "settings": "mlp:hidden=256,data=\"Müller's digits.csv\"",
 "inputs": "0123456789abcdef"
})");
  EXPECT_EQ(arrays[1].array, (npz_array{"lull.cursor", npz_type::u8, {4}}));
  for (std::size_t at = 0; at < mlp.arrays.size(); ++at) EXPECT_EQ(arrays[2 + at].array, mlp.arrays[at]);
}

TEST(CheckpointFile, NumpyFindsItsArrays) {
  test_folder const folder;
  auto const path = folder.at("mlp.npz");
  state const written(mlp);
  write(path, mlp, written);
  auto expected = read_npz(path);
  for (std::size_t at = 0; at < mlp.arrays.size(); ++at) expected.at(2 + at) = {mlp.arrays[at], written.arrays[at]};
  expect_numpy_finds(folder, {path}, expected);
}

TEST(CheckpointFile, WhatCannotBeDescribedIsRefused) {
  test_folder const folder;
  auto const path = folder.write("mlp.npz", "old");
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
  refused([](auto& description) { description.settings.assign(2 << 20, 'x'); },
          "too long for a checkpoint's description");
  std::array<std::byte, 8> buffer{};
  EXPECT_THROW(write_checkpoint(path, mlp, cursor, state(mlp).source(), {}), usage_error);
  EXPECT_THROW(write_checkpoint(path, mlp, std::span{cursor}.first(3), state(mlp).source(), buffer), usage_error);
  EXPECT_EQ(content(path), "old");
  EXPECT_EQ(files_in(folder.at("")), 1u);
}

TEST(CheckpointFile, ASourceThatThrowsLeavesTheOldFile) {
  test_folder const folder;
  auto const path = folder.write("mlp.npz", "old");
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

// Killed while it writes one checkpoint after the other: there is always a whole one, and the next writer finds no
// rubbish.
TEST(CheckpointFile, AKillAtAnyInstantLeavesAWholeOne) {
  test_folder const folder;
  auto const path = folder.at("mlp.npz");
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
