// SPDX-License-Identifier: Apache-2.0
// The runtime on a real device: the probe task in bubbles of a CUDA stream.
#include <chrono>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include <lull/host/array.hpp>
#include <lull/host/cuda/executor.hpp>
#include <lull/host/cuda/owned.hpp>
#include <lull/host/cuda/pool_memory.hpp>
#include <lull/host/error.hpp>
#include <lull/host/measure/cuda/kernels.hpp>
#include <lull/host/report/bubble_summary.hpp>
#include <lull/host/runtime.hpp>
#include <lull/tasks/synthetic.hpp>
#include <lull/tests/host/cuda/device_probe.hpp>
#include <lull/tests/support/within_time.hpp>

namespace lull {
namespace {

using namespace std::chrono_literals;

class runtime_on_cuda : public testing::Test {
 protected:
  void SetUp() override {
    if (std::string const why = why_no_cuda(0); !why.empty()) GTEST_SKIP() << "NOT RUN: " << why;
    trainer::load();
    stream_ = cuda_stream{0};
    start({.kind = executor_kind::cuda});
  }
  void start(executor_options const& executor) {
    side_.reset();
    side_ = std::make_unique<runtime>(runtime_options{.executor = executor,
                                                      .tasks = {type_of<probe_task>()},
                                                      .log = [](std::string_view line) { ADD_FAILURE() << line; },
                                                      .tuning = {.training_worth = 0}});
  }
  void lend() { dynamic_cast<cuda_executor&>(executor_of(*side_)).capture_stream(); }
  void one_bubble(std::uint64_t ns) {
    bubble const idle{*side_, stream_.get(), site{"wait"}};
    trainer::wait_one_thread(stream_.get(), ns, nullptr);
  }
  /// Opens bubbles until the job ends; fails after 200,000.
  void train(job const& task, std::uint64_t ns) {
    for (int i = 0; i < 200'000 && !task.wait(0ns) && side_->mode() == runtime_mode::on; ++i) {
      one_bubble(ns);
      trainer::burst(stream_.get(), 132, 512, 100, nullptr);
      if (i % 16 == 0) LULL_CUDA(cudaStreamSynchronize(stream_.get()));
    }
    LULL_CUDA(cudaStreamSynchronize(stream_.get()));
    ASSERT_TRUE(task.wait(10s)) << "phases " << task.progress().phases;
  }

  /// Launches a kernel right after the opening: it is there before the workers are.
  void arrives_in_mid_bubble(std::function<void()> const& kernel) {
    trainer::wait_one_thread(stream_.get(), 100'000, nullptr);
    kernel();
  }
  /// Bubbles that end with `wait` end by nothing else, so the worker left it a place.
  void is_never_shut_out(std::function<void()> const& wait, bool late_ones_too = true);

  cuda_stream stream_;
  std::unique_ptr<runtime> side_;
};

TEST_F(runtime_on_cuda, a_job_is_done_in_bubbles_exactly_once) {
  device_probe probe{executor_of(*side_), {5000, 1, 0, 170, 30000, 2}};
  job const task = side_->submit(probe.task(), "probe");
  train(task, 50'000);
  EXPECT_EQ(task.progress().state, job_state::finished);
  EXPECT_STREQ(probe.wrong(), nullptr);
  EXPECT_GT(side_->counts()[counted::opened], 0U);
}

TEST_F(runtime_on_cuda, chunks_that_poll_are_handed_back_and_done_once) {
  device_probe probe{executor_of(*side_), {20000, 10, 3000}};
  probe_task with_polls = probe.task();
  with_polls.polls = 8;
  job const task = side_->submit(with_polls);
  train(task, 20'000);
  EXPECT_STREQ(probe.wrong(), nullptr);
}

TEST_F(runtime_on_cuda, several_jobs_share_the_bubbles) {
  std::vector<std::unique_ptr<device_probe>> probes;
  std::vector<job> jobs;
  for (int i = 0; i < 3; ++i) {
    probes.push_back(std::make_unique<device_probe>(executor_of(*side_), std::vector<std::uint64_t>{3000, 40, 3000}));
    jobs.push_back(side_->submit(probes.back()->task()));
  }
  for (job const& each : jobs) train(each, 40'000);
  for (auto const& each : probes) EXPECT_STREQ(each->wrong(), nullptr);
}

TEST_F(runtime_on_cuda, a_report_tells_what_of_a_bubble_the_successor_did) {
  device_probe first{executor_of(*side_), {300, 40}};
  device_probe behind{executor_of(*side_), {50, 20}};
  job const current = side_->submit(first.task());
  job const successor = side_->submit(behind.task());
  while (current.progress().state != job_state::placed || successor.progress().state != job_state::placed) {
  }
  one_bubble(100'000'000);
  LULL_CUDA(cudaStreamSynchronize(stream_.get()));
  ASSERT_TRUE(current.wait(10s) && successor.wait(10s));
  std::vector<bubble_report> found;
  for (int i = 0; i < 100'000'000 && found.empty(); ++i) found = side_->take_bubbles();
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].record().items, 410U);
  EXPECT_EQ(found[0].successor.record.items, 70U);
  EXPECT_NE(found[0].current.launched, 0U);
  EXPECT_EQ(found[0].successor.launched, found[0].current.launched);
}

TEST_F(runtime_on_cuda, a_second_job_of_a_kind_does_not_change_the_grid_of_the_first) {
  device_probe first{executor_of(*side_), {1u << 22}};
  device_probe second{executor_of(*side_), {1u << 22}};
  job_description narrow = describe(first.task());
  job_description wide = describe(second.task());
  narrow.blocks_per_processor = 1;
  wide.blocks_per_processor = 2;
  std::vector<job> jobs{side_->submit(narrow), side_->submit(wide)};
  for (job const& each : jobs) {
    while (each.progress().state != job_state::placed) {
    }
  }
  one_bubble(1'000'000);
  LULL_CUDA(cudaStreamSynchronize(stream_.get()));
  std::vector<bubble_report> found;
  for (int i = 0; i < 100'000'000 && found.empty(); ++i) found = side_->take_bubbles();
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].successor.launched, 2 * found[0].current.launched);
  for (job& each : jobs) each.cancel();
  for (job& each : jobs) EXPECT_TRUE(each.wait(10s));
}

TEST_F(runtime_on_cuda, cancel_inside_a_long_bubble_takes_no_lease) {
  device_probe probe{executor_of(*side_), {1u << 22}};
  job task = side_->submit(probe.task());
  while (!side_->ready(stream_.get())) {
  }
  one_bubble(300'000'000);  // the worker is inside for 0.3 s; control must not wait for it
  task.cancel();
  ASSERT_TRUE(task.wait(10s));
  EXPECT_EQ(task.progress().state, job_state::cancelled);
  EXPECT_EQ(cudaStreamQuery(stream_.get()), cudaErrorNotReady);
  LULL_CUDA(cudaStreamSynchronize(stream_.get()));
}

TEST_F(runtime_on_cuda, a_second_one_that_harvests_the_device_is_refused_and_one_that_observes_is_not) {
  runtime_options second{.executor = {.kind = executor_kind::cuda}, .tasks = {type_of<probe_task>()}};
  EXPECT_THROW(runtime{second}, usage_error);
  second.mode = runtime_mode::observe;
  runtime observer{second};
  {
    device_probe probe{executor_of(*side_), {5000, 1, 0, 170, 30000, 2}};
    job const task = side_->submit(probe.task(), "probe");
    for (int i = 0; i < 200'000 && !task.wait(0ns); ++i) {
      bubble const seen{observer, stream_.get(), site{"wait"}};
      one_bubble(50'000);
      if (i % 16 == 0) LULL_CUDA(cudaStreamSynchronize(stream_.get()));
    }
    LULL_CUDA(cudaStreamSynchronize(stream_.get()));
    ASSERT_TRUE(task.wait(10s));
    EXPECT_STREQ(probe.wrong(), nullptr);
  }
  EXPECT_GT(observer.counts()[counted::opened], 0U);
  side_.reset();
  second.mode = runtime_mode::on;
  EXPECT_EQ(runtime{second}.mode(), runtime_mode::on);
}

TEST_F(runtime_on_cuda, ten_million_chunks_are_committed_once) {
  device_probe probe{executor_of(*side_), {3'333'333, 1, 3'333'333, 3'333'333}};
  job const task = side_->submit(probe.task());
  train(task, 200'000);
  EXPECT_STREQ(probe.wrong(), nullptr);
  EXPECT_EQ(task.progress().items, 10'000'000U);
}

TEST_F(runtime_on_cuda, groups_reserved_by_sm_id_keep_a_job_whole_and_room_for_nccl) {
  start({.kind = executor_kind::cuda, .green_context = false});
  EXPECT_EQ(executor_of(*side_).place().how, "reserved groups by SM id");
  EXPECT_LT(executor_of(*side_).place().owned_processors, executor_of(*side_).place().processors);
  device_probe probe{executor_of(*side_), {5000, 1, 0, 170, 30000, 2}};
  job const task = side_->submit(probe.task());
  train(task, 50'000);
  EXPECT_STREQ(probe.wrong(), nullptr);
  // A worker that comes late may come just when the kernel does (docs/decisions/more-room.md, open).
  is_never_shut_out([&] { trainer::wait_nccl_shape(stream_.get(), 100'000, nullptr); }, false);
}

TEST_F(runtime_on_cuda, without_reserved_groups_half_of_each_sm_is_left_to_the_trainer) {
  start({.kind = executor_kind::cuda, .reserved_groups = 0});
  is_never_shut_out([&] { trainer::wait_one_thread(stream_.get(), 100'000, nullptr); });
}

TEST_F(runtime_on_cuda, a_kernel_in_the_shape_of_nccl_finds_room_beside_the_worker) {
  is_never_shut_out([&] { trainer::wait_nccl_shape(stream_.get(), 100'000, nullptr); });
}

/// Next to a worker none of the kernel's blocks finds a place; in one group of eight they run half after half.
TEST_F(runtime_on_cuda, reserves_a_group_where_a_kernel_was_seen_to_wait) {
  std::mutex said_mutex;
  std::string said;
  side_.reset();
  side_ = std::make_unique<runtime>(runtime_options{.executor = {.kind = executor_kind::cuda, .reserved_groups = 0},
                                                    .tasks = {type_of<compute_task>()},
                                                    .log =
                                                        [&](std::string_view line) {
                                                          std::lock_guard const lock{said_mutex};
                                                          said += line;
                                                        },
                                                    .tuning = {.training_worth = 0}});
  int const before = executor_of(*side_).place().owned_processors;
  auto sink = std::make_unique<device_array<float>>(side_->memory(), 1);
  // Never ends; uses half of an SM's threads.
  job task = side_->submit(compute_task{sink->data(), 1U << 30, 1U << 30, 2000});
  while (!side_->ready(stream_.get())) {
  }
  auto const lease_exits_of = [&](auto const& wait) {
    std::uint64_t const seen = side_->summary().seen();
    {
      bubble const idle{*side_, stream_.get(), site{"recv"}};
      wait();
    }
    LULL_CUDA(cudaStreamSynchronize(stream_.get()));
    await_that([&] { return side_->summary().seen() != seen; });
    return side_->take_bubbles().back().record().lease_blocks;
  };
  auto const exchange = [&] {
    arrives_in_mid_bubble([&] { trainer::wait_nccl_shape(stream_.get(), 100'000, nullptr); });
  };
  // After that the next lease is 50 ms.
  for (int i = 0; i < 2; ++i)
    EXPECT_EQ(lease_exits_of([&] { trainer::wait_one_thread(stream_.get(), 1'000'000, nullptr); }), 0U);
  // Two in a row that the dispatcher sees in time; on a busy machine it may be late.
  for (int i = 0; i < 20 && side_->counts()[counted::groups_added] == 0; ++i) EXPECT_GT(lease_exits_of(exchange), 0U);
  EXPECT_EQ(side_->counts()[counted::groups_added], 1U);
  EXPECT_EQ(executor_of(*side_).place().owned_processors, before - 8);
  for (int i = 0; i < 2; ++i) EXPECT_EQ(lease_exits_of(exchange), 0U);
  task.cancel();
  ASSERT_TRUE(task.wait(10s));
  std::lock_guard const lock{said_mutex};
  EXPECT_NE(said.find("one more group of SMs"), std::string::npos) << said;
}

TEST_F(runtime_on_cuda, a_report_tells_clocks_and_power_and_what_memory_was_free) {
  side_.reset();
  runtime observer{{.executor = {.kind = executor_kind::cuda}, .mode = runtime_mode::observe}};
  auto const give_up = std::chrono::steady_clock::now() + 10s;
  bubble_summary seen = observer.summary();
  auto const is_told = [&] {
    return seen.gpu()->samples != 0 && seen.sites().size() == 1 && seen.sites()[0].min_free_bytes;
  };
  while (!is_told() && std::chrono::steady_clock::now() < give_up) {
    {
      bubble const idle{observer, stream_.get(), site{"wait"}};
      trainer::wait_one_thread(stream_.get(), 1'000'000, nullptr);
    }
    LULL_CUDA(cudaStreamSynchronize(stream_.get()));
    seen = observer.summary();
  }
  ASSERT_TRUE(is_told());
  EXPECT_GT(seen.gpu()->sm_mhz.least(), 100);
  EXPECT_GT(seen.gpu()->power_w.least(), 1);
  EXPECT_GT(seen.gpu()->power_limit_w.value_or(0), 10);
  EXPECT_GT(*seen.sites()[0].min_free_bytes, 1U << 20);
}

std::size_t free_bytes() {
  std::size_t free = 0;
  std::size_t all = 0;
  LULL_CUDA(cudaMemGetInfo(&free, &all));
  return free;
}

/// While a kernel of the trainer runs, and a worker waits for the bubble after it: memory waits for neither.
TEST_F(runtime_on_cuda, memory_that_is_released_is_the_trainers_again_at_once) {
  constexpr std::size_t bytes = std::size_t{1} << 30;
  constexpr std::size_t granularity = std::size_t{64} << 20;
  device_probe probe{executor_of(*side_), {1u << 22}};
  job task = side_->submit(probe.task());
  while (!side_->ready(stream_.get())) {
  }
  auto array = std::make_unique<device_array<char>>(side_->memory(), bytes);
  std::size_t const before = free_bytes();
  trainer::wait_one_thread(stream_.get(), 1'000'000'000, nullptr);
  one_bubble(1'000'000);
  auto const began = std::chrono::steady_clock::now();
  array.reset();
  EXPECT_LT(std::chrono::steady_clock::now() - began, 500ms);
  EXPECT_GE(free_bytes(), before + bytes - granularity);
  EXPECT_EQ(cudaStreamQuery(stream_.get()), cudaErrorNotReady);
  LULL_CUDA(cudaStreamSynchronize(stream_.get()));
  task.cancel();
  ASSERT_TRUE(task.wait(10s));
}

TEST_F(runtime_on_cuda, memory_of_small_pieces_is_the_trainers_again_too) {
  constexpr std::size_t piece = std::size_t{3} << 20;
  constexpr std::size_t pieces = 256;
  constexpr std::size_t granularity = std::size_t{64} << 20;
  std::uint64_t const before = executor_of(*side_).free_bytes().bytes;
  std::vector<std::unique_ptr<device_array<char>>> arrays;
  for (std::size_t i = 0; i < pieces; ++i)
    arrays.push_back(std::make_unique<device_array<char>>(side_->memory(), piece));
  EXPECT_LT(executor_of(*side_).free_bytes().bytes, before - piece * pieces / 2);
  std::size_t const taken = free_bytes();
  arrays.clear();
  EXPECT_GE(free_bytes() + granularity, taken + piece * pieces);
  EXPECT_GE(executor_of(*side_).free_bytes().bytes + granularity, before);
}

TEST_F(runtime_on_cuda, memory_of_another_librarys_pool_is_within_the_limit_and_may_outlive_the_runtime) {
  constexpr std::size_t bytes = std::size_t{64} << 20;
  start({.kind = executor_kind::cuda, .memory_limit_bytes = 5 * bytes / 2});
  EXPECT_EQ(allocate_for_pool(0, bytes), nullptr) << "nothing is captured";
  lend();
  EXPECT_EQ(allocate_for_pool(-1, bytes), nullptr);
  std::size_t const before = free_bytes();
  void* const first = allocate_for_pool(0, bytes);
  void* const second = allocate_for_pool(0, bytes);
  ASSERT_NE(first, nullptr);
  ASSERT_NE(second, nullptr);
  EXPECT_EQ(allocate_for_pool(0, bytes), nullptr) << "above the limit";
  EXPECT_THROW((void)executor_of(*side_).allocate(bytes), limit_error) << "a task's memory and a pool's are one";
  release_from_pool(first, 0);
  EXPECT_GE(free_bytes() + bytes + bytes / 2, before) << "it is the trainer's again";
  void* const third = allocate_for_pool(0, bytes);
  EXPECT_NE(third, nullptr);
  side_.reset();
  EXPECT_EQ(allocate_for_pool(0, bytes), nullptr);
  LULL_CUDA(cudaMemset(second, 7, bytes));
  LULL_CUDA(cudaDeviceSynchronize());
  for (void* const each : {second, third, third, static_cast<void*>(nullptr)}) release_from_pool(each, 0);
  EXPECT_GE(free_bytes() + bytes / 2, before);
}

TEST_F(runtime_on_cuda, a_pool_takes_memory_while_a_stream_is_captured) {
  lend();
  LULL_CUDA(cudaStreamBeginCapture(stream_.get(), cudaStreamCaptureModeThreadLocal));
  void* const memory = allocate_for_pool(0, std::size_t{64} << 20);
  EXPECT_NE(memory, nullptr);
  release_from_pool(memory, 0);
  cudaGraph_t graph = nullptr;
  LULL_CUDA(cudaStreamEndCapture(stream_.get(), &graph));
  LULL_CUDA(cudaGraphDestroy(graph));
}

void runtime_on_cuda::is_never_shut_out(std::function<void()> const& wait, bool late_ones_too) {
  device_probe probe{executor_of(*side_), {1u << 22}};
  job task = side_->submit(probe.task());
  while (!side_->ready(stream_.get())) {
  }
  for (int i = 0; i < 200; ++i) {
    bubble const idle{*side_, stream_.get(), site{"wait"}};
    arrives_in_mid_bubble(wait);
  }
  LULL_CUDA(cudaStreamSynchronize(stream_.get()));
  std::uint64_t bubbles = 0;
  std::uint64_t checked = 0;
  for (int i = 0; i < 100'000 && bubbles < 200; ++i) {
    for (bubble_report const& one : side_->take_bubbles()) {
      ++bubbles;
      if (!one.armed && !late_ones_too) continue;
      ++checked;
      EXPECT_EQ(one.record().lease_blocks, 0U) << "bubble " << bubbles << (one.armed ? ", armed" : ", not armed");
    }
  }
  EXPECT_GT(checked, 0U);
  task.cancel();
  ASSERT_TRUE(task.wait(10s));
}

}  // namespace
}  // namespace lull
