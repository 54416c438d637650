// SPDX-License-Identifier: Apache-2.0
// A side task of a shared library on a real device. The library has its own CUDA runtime, and only that one knows its
// kernels.
#include <chrono>
#include <cstdlib>
#include <memory>
#include <string>

#include <gtest/gtest.h>

#include <lull/host/cuda/owned.hpp>
#include <lull/host/measure/cuda/kernels.hpp>
#include <lull/host/runtime.hpp>
#include <lull/host/solo/solo_run.hpp>
#include <lull/host/task/library_loader.hpp>

namespace lull {
namespace {

using namespace std::chrono_literals;

std::string const counting = LULL_LIBRARIES "/libcounting.so";

class library_on_cuda : public testing::Test {
 protected:
  void SetUp() override {
    if (std::string const why = why_no_cuda(0); !why.empty()) GTEST_SKIP() << "NOT RUN: " << why;
  }
  static std::unique_ptr<task_owner> made(option_values const& values) {
    return task_in(counting, "count_up").make(values);
  }
  static option_values values(std::string_view items, std::string_view rounds) {
    option_values given{task_in(counting, "count_up").options};
    given.set("items", items);
    given.set("rounds", rounds);
    return given;
  }
};

TEST_F(library_on_cuda, runs_to_its_end_alone_and_in_bubbles) {
  auto const executor = make_executor({.kind = executor_kind::cuda, .reserved_groups = 0, .solo = true});
  auto const owner = made(values("100000", "20"));
  owner->prepare(*executor);
  for (solo_run_options const& how : {solo_run_options{}, solo_run_options{.bubble = 50us}}) {
    owner->reset();
    EXPECT_FALSE(owner->verify().ok);
    EXPECT_TRUE(run_to_end(*owner, *executor, how).finished);
    EXPECT_TRUE(owner->verify().ok);
  }
}

TEST_F(library_on_cuda, works_in_a_trainer_s_bubbles_and_in_its_graph) {
  trainer::load();
  option_values const given = values("4096", "40");
  runtime side{{.executor = {.kind = executor_kind::cuda}, .tasks = {task_in(counting, "count_up").type(given)}}};
  cuda_stream const stream{0};
  auto const bubble_in_it = [&] {
    bubble const idle{side, stream.get(), site{"receive"}};
    trainer::wait_one_thread(stream.get(), 50'000, nullptr);
  };
  LULL_CUDA(cudaStreamBeginCapture(stream.get(), cudaStreamCaptureModeGlobal));
  bubble_in_it();
  cudaGraph_t captured{};
  LULL_CUDA(cudaStreamEndCapture(stream.get(), &captured));
  cuda_graph const graph{captured};
  for (bool const in_graph : {false, true}) {
    auto const owner = made(given);
    owner->prepare(executor_of(side));
    job task = side.submit(owner->describe());
    for (int i = 0; i < 100'000 && !task.wait(0ns); ++i) {
      if (in_graph) {
        LULL_CUDA(cudaGraphLaunch(graph.executable(), stream.get()));
      } else {
        bubble_in_it();
      }
      if (i % 32 == 31) LULL_CUDA(cudaStreamSynchronize(stream.get()));
    }
    LULL_CUDA(cudaStreamSynchronize(stream.get()));
    ASSERT_TRUE(task.wait(10s)) << in_graph;
    EXPECT_TRUE(owner->verify().ok) << in_graph;
  }
}

TEST_F(library_on_cuda, runs_in_the_program_in_every_mode) {
  for (char const* const how : {"run", "run --mode naive", "harvest --segment 200us --iterations 2 --pairs 2"}) {
    std::string const command = std::string{LULL_PROGRAM " "} + how + " --executor cuda --verify --task " + counting +
                                ":count_up,items=1000,rounds=30";
    EXPECT_EQ(std::system(command.c_str()), 0) << command;
  }
}

}  // namespace
}  // namespace lull
