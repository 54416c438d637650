// SPDX-License-Identifier: Apache-2.0
// CUDA graphs as side work, on a real device.
#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <numeric>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include <lull/tests/host/cuda_graph/graph_as_side_work.hpp>
#include <lull/tests/support/within_time.hpp>

namespace lull {
namespace {

using namespace std::chrono_literals;
using test::captured;
using test::counted_step;
using test::graph_as_side_work;

TEST_F(graph_as_side_work, runs_whole_in_one_long_bubble) {
  counted_step step{executor(), 2'000};
  job const work = submit(*side_, {.graph = step.graph(), .steps = 3});
  train(work, 50'000'000);
  EXPECT_EQ(work.progress().state, job_state::finished);
  EXPECT_EQ(work.rounds(), 3U);
  EXPECT_EQ(work.progress().items,
            2U * counted_step::nodes);  // but for the first step, which comes with the submission
  EXPECT_EQ(step.found(), step.expect(3));
}

TEST_F(graph_as_side_work, is_cut_by_bubbles_and_gives_the_bits_of_plain_replays) {
  counted_step step{executor(), 5'000};
  job const work = submit(*side_, {.graph = step.graph(), .steps = 300, .segment = 30us});
  train(work);
  EXPECT_EQ(work.progress().state, job_state::finished);
  EXPECT_EQ(step.found(), step.expect(300));
}

TEST_F(graph_as_side_work, its_first_step_runs_with_the_submission) {
  counted_step step{executor(), 2'000};
  job work = submit(*side_, {.graph = step.graph(), .steps = 5});
  EXPECT_EQ(work.rounds(), 1U);
  EXPECT_EQ(work.progress().state, job_state::queued);
  EXPECT_EQ(step.found(), step.expect(1));
  work.cancel();
  EXPECT_TRUE(work.wait(10s));
}

/// The program may destroy its own graph as soon as it has submitted it.
TEST_F(graph_as_side_work, keeps_what_its_graph_holds_until_the_job_has_gone) {
  counted_step step{executor(), 2'000};
  std::atomic<bool> is_held{true};
  cudaUserObject_t object{};
  auto const let_go = [](void* at) { *static_cast<std::atomic<bool>*>(at) = false; };
  LULL_CUDA(cudaUserObjectCreate(&object, &is_held, let_go, 1, cudaUserObjectNoDestructorSync));
  cudaGraph_t mine{};
  LULL_CUDA(cudaGraphClone(&mine, step.graph()));
  LULL_CUDA(cudaGraphRetainUserObject(mine, object, 1, cudaGraphUserObjectMove));
  job work = submit(*side_, {.graph = mine, .steps = 20});
  LULL_CUDA(cudaGraphDestroy(mine));
  train(work);
  EXPECT_EQ(step.found(), step.expect(20));
  EXPECT_TRUE(is_held) << "its kernels might have read it";
  work = {};
  EXPECT_TRUE(within_time([&] { return !is_held; }));
}

TEST_F(graph_as_side_work, of_one_step_is_over_in_the_next_bubble) {
  counted_step step{executor(), 2'000};
  job const work = submit(*side_, {.graph = step.graph()});
  train(work);
  EXPECT_EQ(work.rounds(), 1U);
  EXPECT_EQ(step.found(), step.expect(1));
}

TEST_F(graph_as_side_work, runs_more_segments_in_a_bubble_than_one_graph_may_launch) {
  counted_step step{executor(), 1'000};
  job const work = submit(*side_, {.graph = step.graph(), .steps = 60, .segment = 1us});
  await_placed(work);
  one_bubble(1'000'000'000);
  LULL_CUDA(cudaStreamSynchronize(stream_.get()));
  EXPECT_TRUE(work.wait(10s));  // it took that one bubble
  EXPECT_EQ(work.rounds(), 60U);
  EXPECT_EQ(step.found(), step.expect(60));
}

/// An executable ends a little after its last node, and one that has not ended cannot be launched.
TEST_F(graph_as_side_work, of_one_short_node_runs_as_often_as_asked) {
  device_array<std::uint32_t> x{executor(), std::vector<std::uint32_t>(1, 1)};
  device_array<std::uint32_t> const ones{executor(), std::vector<std::uint32_t>(1, 1)};
  cuda_graph const tiny =
      captured([&](cudaStream_t stream) { test::apply_node(stream, x.data(), ones.data(), 1, 7, 0); });
  job const work = submit(*side_, {.graph = tiny.get(), .steps = 3'000});
  train(work, 200'000);
  std::uint32_t expected = 1;
  for (int step = 0; step < 3'000; ++step) expected = test::applied_node(expected, 1, 7);
  EXPECT_EQ(x.read(), std::vector<std::uint32_t>{expected});
}

TEST_F(graph_as_side_work, is_refused_where_the_runtime_only_observes_and_none_of_it_runs) {
  counted_step step{executor(), 1'000};
  runtime watching{{.executor = {.kind = executor_kind::cuda}, .mode = runtime_mode::observe}};
  EXPECT_THROW(submit(watching, {.graph = step.graph(), .steps = 5}), usage_error);
  EXPECT_EQ(step.found(), step.expect(0));
}

TEST_F(graph_as_side_work, with_a_node_that_takes_too_long_is_refused_by_name) {
  device_array<std::uint32_t> x{executor(), 256};
  cuda_graph const slow = captured([&](cudaStream_t stream) {
    test::apply_node(stream, x.data(), x.data(), 256, 1, 1'000);
    test::apply_node(stream, x.data(), x.data(), 256, 1, 3'000'000);
  });
  refused({.graph = slow.get(), .steps = 5}, "node 1 of the graph, lull::test::apply_kernel, takes ");
  job const work = submit(*side_, {.graph = slow.get(), .steps = 3, .node_limit = 5ms});
  train(work, 5'000'000);
}

TEST_F(graph_as_side_work, with_a_node_that_takes_too_long_once_is_tried_again) {
  device_array<std::uint32_t> runs{executor(), std::vector<std::uint32_t>{0}};
  cuda_graph const slow = captured([&](cudaStream_t stream) { test::slow_first_node(stream, runs.data(), 3'000'000); });
  job const work = submit(*side_, {.graph = slow.get(), .steps = 5});
  EXPECT_EQ(work.rounds(), 2U);
  train(work);
  EXPECT_EQ(runs.read(), std::vector<std::uint32_t>{5});
  // A step that may not run again, and one that the caller has to feed.
  for (graph_task const& asked : {graph_task{.graph = slow.get()}, {.graph = slow.get(), .steps = 5, .is_fed = true}}) {
    runs.write(std::vector<std::uint32_t>{0});
    EXPECT_THROW(submit(*side_, asked), slow_node_error);
    EXPECT_EQ(runs.read(), std::vector<std::uint32_t>{1});
  }
}

TEST_F(graph_as_side_work, may_be_destroyed_once_it_is_submitted) {
  auto step = std::make_unique<counted_step>(executor(), 2'000);
  cudaGraph_t copy = nullptr;
  LULL_CUDA(cudaGraphClone(&copy, step->graph()));
  job const work = submit(*side_, {.graph = copy, .steps = 200});
  LULL_CUDA(cudaGraphDestroy(copy));
  train(work);
  EXPECT_EQ(step->found(), step->expect(200));
}

TEST_F(graph_as_side_work, keeps_off_the_reserved_sms) {
  device_array<std::uint32_t> sms{executor(), 1024};
  cuda_graph const noting = captured([&](cudaStream_t stream) { test::note_sms(stream, sms.data()); });
  job const work = submit(*side_, {.graph = noting.get(), .steps = 20});
  train(work, 2'000'000);
  std::vector<std::uint32_t> const found = sms.read();
  placement const place = executor().place();
  EXPECT_EQ(std::accumulate(found.begin(), found.end(), 0), place.owned_processors) << place.how;
  EXPECT_LT(place.owned_processors, place.processors);
}

TEST_F(graph_as_side_work, is_paused_between_two_segments_and_goes_on) {
  counted_step step{executor(), 5'000};
  job work = submit(*side_, {.graph = step.graph(), .steps = 400});
  train_until([&] { return work.rounds() > 20; });
  work.pause();
  train_until([&] { return work.progress().state == job_state::paused; });
  std::uint64_t const rounds = work.rounds();
  for (int i = 0; i < 50; ++i) one_bubble(100'000);
  LULL_CUDA(cudaStreamSynchronize(stream_.get()));
  EXPECT_EQ(work.rounds(), rounds);
  work.resume();
  train(work);
  EXPECT_EQ(step.found(), step.expect(400));
}

TEST_F(graph_as_side_work, is_cancelled_in_the_middle_and_its_memory_may_go) {
  auto step = std::make_unique<counted_step>(executor(), 5'000);
  job work = submit(*side_, {.graph = step->graph(), .steps = 1'000'000});
  train_until([&] { return work.rounds() > 5; });
  work.cancel();
  EXPECT_TRUE(work.wait(10s));
  EXPECT_EQ(work.progress().state, job_state::cancelled);
  step.reset();
  for (int i = 0; i < 20; ++i) one_bubble(100'000);
  LULL_CUDA(cudaStreamSynchronize(stream_.get()));
}

TEST_F(graph_as_side_work, begins_a_step_only_when_it_is_fed_and_lets_the_successor_in) {
  counted_step step{executor(), 2'000};
  device_probe probe{executor(), {3'000, 10}};
  job work = submit(*side_, {.graph = step.graph(), .steps = 100, .priority = 1, .is_fed = true});
  job const behind = side_->submit(probe.task(), "behind");
  work.feed(2);
  train(behind, 300'000);
  EXPECT_STREQ(probe.wrong(), nullptr);
  train_until([&] { return work.rounds() == 2; });
  for (int i = 0; i < 20; ++i) one_bubble(100'000);
  LULL_CUDA(cudaStreamSynchronize(stream_.get()));
  EXPECT_EQ(work.rounds(), 2U);
  work.feed(100);
  train(work);
  EXPECT_EQ(step.found(), step.expect(100));
}

TEST_F(graph_as_side_work, comes_after_a_functor_in_one_bubble) {
  device_probe probe{executor(), {300, 40}};
  counted_step step{executor(), 2'000};
  job const first = side_->submit(probe.task(), "first");
  job const work = submit(*side_, {.graph = step.graph(), .steps = 3});
  await_placed(first);
  await_placed(work);
  one_bubble(100'000'000);
  LULL_CUDA(cudaStreamSynchronize(stream_.get()));
  EXPECT_TRUE(first.wait(10s) && work.wait(10s));
  std::vector<bubble_report> found;
  for (int i = 0; i < 100'000'000 && found.empty(); ++i) found = side_->take_bubbles();
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].record().items, 340U + 2U * counted_step::nodes);
  EXPECT_EQ(found[0].successor.record.items, 2U * counted_step::nodes);
  EXPECT_EQ(step.found(), step.expect(3));
}

TEST_F(graph_as_side_work, several_graphs_share_the_bubbles) {
  counted_step one{executor(), 3'000};
  counted_step other{executor(), 1'000};
  counted_step third{executor(), 2'000};
  job const a = submit(*side_, {.graph = one.graph(), .steps = 60});
  job const b = submit(*side_, {.graph = other.graph(), .steps = 60, .priority = 2});
  job const c = submit(*side_, {.graph = third.graph(), .steps = 60});
  for (job const& each : {a, b, c}) train(each);
  EXPECT_EQ(one.found(), one.expect(60));
  EXPECT_EQ(other.found(), other.expect(60));
  EXPECT_EQ(third.found(), third.expect(60));
}

/// Conductors of two jobs follow one another in a stream, with no bubble's opening to wait for in between.
TEST_F(graph_as_side_work, of_two_jobs_run_where_the_host_is_far_ahead) {
  counted_step one{executor(), 1'000};
  counted_step other{executor(), 1'000};
  job const a = submit(*side_, {.graph = one.graph(), .steps = 600, .segment = 20us});
  job const b = submit(*side_, {.graph = other.graph(), .steps = 600, .priority = 1, .segment = 20us});
  for (job const& each : {b, a}) train(each, 20'000, 90);
  for (job const& each : {a, b}) EXPECT_EQ(each.progress().state, job_state::finished);
  EXPECT_EQ(one.found(), one.expect(600));
  EXPECT_EQ(other.found(), other.expect(600));
}

TEST_F(graph_as_side_work, is_destroyed_with_the_runtime_in_every_state) {
  std::vector<job> jobs;  // they keep the machine
  counted_step step{executor(), 5'000};
  for (int i = 0; i < 4; ++i) jobs.push_back(submit(*side_, {.graph = step.graph(), .steps = 1'000'000}));
  jobs[3].pause();
  for (int i = 0; i < 200; ++i) one_bubble(80'000);
  side_.reset();
  for (job const& each : jobs) EXPECT_EQ(each.progress().state, job_state::cancelled);
}

TEST_F(graph_as_side_work, is_quiet_within_a_bubble) {
  counted_step step{executor(), 5'000};
  job work = submit(*side_, {.graph = step.graph(), .steps = 1'000'000});
  train_until([&] { return work.rounds() > 5; });
  one_bubble(20'000'000);
  ASSERT_TRUE(side_->pause_all(5s));
  std::uint64_t const rounds = work.rounds();
  for (int i = 0; i < 20; ++i) one_bubble(100'000);
  LULL_CUDA(cudaStreamSynchronize(stream_.get()));
  EXPECT_EQ(work.rounds(), rounds);
  side_->resume_all();
  train_until([&] { return work.rounds() > rounds; });
  work.cancel();
  EXPECT_TRUE(work.wait(10s));
}

TEST_F(graph_as_side_work, is_submitted_while_the_trainer_captures) {
  counted_step step{executor(), 1'000};
  cudaGraph_t made = nullptr;
  LULL_CUDA(cudaStreamBeginCapture(stream_.get(), cudaStreamCaptureModeGlobal));
  trainer::burst(stream_.get(), 132, 512, 100, nullptr);
  job work;
  std::thread{[&] { work = submit(*side_, {.graph = step.graph(), .steps = 50}); }}.join();
  LULL_CUDA(cudaStreamEndCapture(stream_.get(), &made));
  cuda_graph const trainers{made};
  train(work);
  EXPECT_EQ(step.found(), step.expect(50));
}

TEST_F(graph_as_side_work, waits_beside_captured_bubbles) {
  counted_step step{executor(), 1'000};
  job work = submit(*side_, {.graph = step.graph(), .steps = 10});
  await_placed(work);
  cuda_graph const replayed = [&] {
    cudaGraph_t made = nullptr;
    LULL_CUDA(cudaStreamBeginCapture(stream_.get(), cudaStreamCaptureModeRelaxed));
    one_bubble(100'000);
    LULL_CUDA(cudaStreamEndCapture(stream_.get(), &made));
    return cuda_graph{made};
  }();
  for (int i = 0; i < 50; ++i) LULL_CUDA(cudaGraphLaunch(replayed.executable(), stream_.get()));
  LULL_CUDA(cudaStreamSynchronize(stream_.get()));
  EXPECT_EQ(work.rounds(), 1U);
  train(work);
  EXPECT_EQ(step.found(), step.expect(10));
}

TEST_F(graph_as_side_work, what_cannot_run_so_is_refused_by_its_kind) {
  refused({}, "there is no graph");
  counted_step step{executor(), 1'000};
  refused({.graph = step.graph(), .steps = 0}, "steps is 0");
  refused({.graph = step.graph(), .segment = 0ns}, "segment must be above 0");
  refused({.graph = step.graph(), .segment = 3ms}, "node_limit no less");
  cudaGraph_t empty = nullptr;
  LULL_CUDA(cudaGraphCreate(&empty, 0));
  refused({.graph = empty}, "the graph is empty");
  cudaGraphNode_t node{};
  cudaHostNodeParams host{[](void*) {}, nullptr};
  LULL_CUDA(cudaGraphAddHostNode(&node, empty, nullptr, 0, &host));
  refused({.graph = empty}, "a call of a host function");
  LULL_CUDA(cudaGraphDestroy(empty));
  device_array<std::uint32_t> array{executor(), 64};
  std::vector<std::uint32_t> pageable(64);
  LULL_CUDA(cudaGraphCreate(&empty, 0));
  LULL_CUDA(
      cudaGraphAddMemcpyNode1D(&node, empty, nullptr, 0, array.data(), pageable.data(), 256, cudaMemcpyHostToDevice));
  refused({.graph = empty}, "pageable memory");
  LULL_CUDA(cudaGraphDestroy(empty));
  cuda_graph const exchange = captured([](cudaStream_t stream) { test::exchange_node(stream); });
  refused({.graph = exchange.get()}, "node 0 of the graph, ncclDevKernel_StandsIn, waits for other GPUs");
}

}  // namespace
}  // namespace lull
