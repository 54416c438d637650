// SPDX-License-Identifier: Apache-2.0
// A stream that is harvested plain, captured, and plain again: which edges the machine is asked for, and that no bubble
// is closed as another kind, or in another capture.
#include <chrono>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include <lull/host/runtime.hpp>
#include <lull/host/threads/stream.hpp>
#include <lull/tests/host/runtime_recorded.hpp>
#include <lull/tests/support/halt.hpp>

namespace lull {
namespace {

using namespace std::chrono_literals;

class captured_edges : public runtime_recorded {
 protected:
  captured_edges() {
    runtime_options with_workers = options();
    with_workers.tasks = {type_of<probe_task>()};
    side_ = make(std::move(with_workers));
    job const task = submit(*side_, "a");
    await(task, job_state::placed);
  }
  bubble_id open(char const* where) { return side_->open(&trainer, site{where}); }
  void close(bubble_id id) { side_->close(id, &trainer); }
  void step(char const* where = "wait") {
    bubble const idle{*side_, &trainer, site{where}};
    trainer.enqueue([] { std::this_thread::sleep_for(100us); });
  }
  /// A step that the stream comes to when the host has enqueued all of it: a late host gets other workers.
  calls calls_of_plain_step() {
    halt ahead;
    trainer.enqueue(ahead.operation());
    step();
    return seen.take();
  }
  threads_graph captured_step() {
    trainer.begin_capture();
    step();
    return trainer.end_capture();
  }
  void replay(threads_graph const& graph) {
    trainer.launch(graph);
    trainer.synchronize();
  }

  std::unique_ptr<runtime> side_;
  calls const plain_ = {"open_edge", "close_edge", "launch a"};
  calls const nodes_ = {"capture_open with 1", "capture_close"};
};

TEST_F(captured_edges, warm_up_steps_and_captures_take_turns_on_one_stream) {
  std::vector<threads_graph> graphs;
  for (int i = 0; i < 3; ++i) {
    for (int warm_up = 0; warm_up < 2; ++warm_up) {
      EXPECT_EQ(calls_of_plain_step(), plain_);
    }
    graphs.push_back(captured_step());
    EXPECT_EQ(seen.take(), nodes_);
  }
  for (threads_graph const& each : graphs) replay(each);
  EXPECT_EQ(seen.take(), calls{});  // a replay asks no host
  EXPECT_EQ(calls_of_plain_step(), plain_);
  runtime_counts const counts = side_->counts();
  EXPECT_EQ(counts[counted::opened], 7U);
  EXPECT_EQ(counts[counted::captured], 3U);
  EXPECT_EQ(
      counts[counted::nested] + counts[counted::unmatched] + counts[counted::abandoned] + counts[counted::not_captured],
      0U);
}

TEST_F(captured_edges, a_plain_bubble_is_not_closed_within_a_capture) {
  halt ahead;
  trainer.enqueue(ahead.operation());
  bubble_id const before = open("cut");
  EXPECT_EQ(seen.take(), calls{"open_edge"});
  trainer.begin_capture();
  close(before);
  EXPECT_EQ(seen.take(), calls{});
  step();
  EXPECT_EQ(seen.take(), nodes_) << "the plain bubble is none of the capture's";
  threads_graph const graph = trainer.end_capture();
  EXPECT_EQ(side_->counts()[counted::unmatched], 1U);
  EXPECT_EQ(side_->counts()[counted::nested], 0U);
  trainer.launch(graph);
  close(before);  // it is open still: the trainer may close it after all
  EXPECT_EQ(seen.take(), (calls{"close_edge", "launch a"}));
  EXPECT_EQ(side_->counts()[counted::abandoned], 0U);
}

TEST_F(captured_edges, a_plain_bubble_that_a_capture_cuts_is_ended_by_the_next_of_its_site) {
  halt ahead;
  trainer.enqueue(ahead.operation());
  bubble_id const before = open("cut");
  trainer.begin_capture();
  close(before);
  threads_graph const graph = trainer.end_capture();
  seen.take();
  step("cut");
  EXPECT_EQ(seen.take(), (calls{"close_edge", "open_edge", "close_edge", "launch a"}));
  EXPECT_EQ(side_->counts()[counted::abandoned], 1U);
  close(before);
  EXPECT_EQ(side_->counts()[counted::unmatched], 2U);
  EXPECT_EQ(seen.take(), calls{});
}

TEST_F(captured_edges, a_captured_bubble_is_closed_in_its_own_capture_only) {
  trainer.begin_capture();
  bubble_id const first = open("first");
  threads_graph const unclosed = trainer.end_capture();
  EXPECT_EQ(seen.take(), calls{"capture_open with 1"});
  close(first);  // the stream is plain again
  trainer.begin_capture();
  close(first);
  EXPECT_EQ(seen.take(), calls{});
  step("second");  // not nested: another graph's bubble is open
  EXPECT_EQ(seen.take(), nodes_);
  threads_graph const second = trainer.end_capture();
  EXPECT_EQ(calls_of_plain_step(), plain_);
  EXPECT_EQ(side_->counts()[counted::unmatched], 2U);
  EXPECT_EQ(side_->counts()[counted::nested], 0U);
  EXPECT_EQ(side_->counts()[counted::captured], 2U);
  replay(second);
}

TEST_F(captured_edges, a_plain_bubble_on_another_stream_lasts_through_a_capture) {
  threads_stream other;
  halt ahead;
  other.enqueue(ahead.operation());
  bubble_id const plain = side_->open(&other, site{"other"});
  EXPECT_EQ(seen.take(), calls{"open_edge"});
  threads_graph const graph = captured_step();
  EXPECT_EQ(seen.take(), nodes_);
  side_->close(plain, &trainer);  // of another stream, which is plain
  EXPECT_EQ(side_->counts()[counted::unmatched], 1U);
  side_->close(plain, &other);
  EXPECT_EQ(seen.take(), (calls{"close_edge", "launch a"}));
  replay(graph);
  ahead.let_go();
  other.synchronize();
}

}  // namespace
}  // namespace lull
