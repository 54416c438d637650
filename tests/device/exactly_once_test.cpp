// SPDX-License-Identifier: Apache-2.0
// The protocol on real threads, in bubbles too short to end anything: every item of every phase runs exactly once,
// however many chunks there are, and wherever tag, item, round and gate value wrap.
#include <chrono>
#include <cstdint>
#include <cstring>
#include <memory>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include <lull/host/threads/executor.hpp>
#include <lull/host/threads/worker.hpp>
#include <lull/tests/support/cursor_state.hpp>
#include <lull/tests/support/within_time.hpp>

namespace lull {
namespace {

#if defined(__SANITIZE_THREAD__)
constexpr std::uint64_t big_phase = 100'000;
#else
constexpr std::uint64_t big_phase = 5'000'000;
#endif
constexpr int max_bubbles = 200'000;  // a run takes some hundreds; this many mean that it hangs

/// Counts the runs of each item, and nothing else.
struct counting_task {
  static constexpr team_shape shape{.threads = 32, .steps = 3, .shared_bytes = 8};

  std::uint64_t const* extents;  // (phases,)
  std::uint64_t phases;
  std::uint8_t* runs;        // (width,) over all phases, fewer than 256
  std::uint64_t first_item;  // runs[0] belongs to it
  std::uint64_t first_round;
  std::uint64_t* missed;  // (1,) chunks whose team did not meet

  std::uint64_t extent(position at, std::uint64_t) const noexcept {
    std::uint64_t const phase = (at.round - first_round) * shape.steps + at.step;
    return phase < phases ? extents[phase] : finished;
  }
  void operator()(chunk c, auto const& team) const noexcept {
    auto* const met = static_cast<std::uint64_t*>(team.shared());
    if (team.rank() == 0) *met = c.begin + c.at.round;
    team.sync();
    if (*met != c.begin + c.at.round) *missed += 1;
    for (std::uint64_t item = c.begin + static_cast<std::uint64_t>(team.rank()); item < c.end;
         item += static_cast<std::uint64_t>(team.size())) {
      runs[item - first_item] = static_cast<std::uint8_t>(runs[item - first_item] + 1);
    }
    team.sync();
  }
};
static_assert(side_task<counting_task>);

struct setting {
  int blocks = 3;
  int width = 1;
  std::uint32_t grain = 1;
  std::uint32_t first_tag = 0;
  std::uint64_t first_round = 0;
  std::uint32_t first_gate_value = 0;
  std::uint64_t first_item = 0;  // runs of items below it are not watched
  std::chrono::microseconds bubble{2000};
};

/// One task on the threads executor, its cursor and gate in plain memory.
class course {
 public:
  course(setting const& how, std::vector<std::uint64_t> extents)
      : how_(how),
        extents_(std::move(extents)),
        cursor(how.grain, 64, how.first_tag, how.first_round),
        machine_{{.kind = executor_kind::threads, .processors = how.blocks, .team_width = how.width}},
        gate_(how.first_gate_value) {
    std::uint64_t width = 1;
    for (std::uint64_t items : extents_) width = std::max(width, items > how_.first_item ? items - how_.first_item : 0);
    runs_.resize(width < 1 << 24 ? width : 1);
    counting_task const task{extents_.data(), extents_.size(),  runs_.data(),
                             how_.first_item, how_.first_round, &missed_};
    slot_.at = tagged_cursor{0, &cursor.words}.word();
    slot_.lease_ns = 3'600'000'000'000;
    std::memcpy(slot_.functor.bytes, &task, sizeof task);
  }

  /// Runs bubbles until the job is over; returns their number.
  int run() {
    auto const mark = machine_.make_mark();
    worker_kernel const kernel = threads_worker<counting_task>();
    stream_handle const trainer = machine_.own_stream();
    std::uint32_t value = how_.first_gate_value;
    worker_params params{&slot_, gate_.ref(), {}};
    for (int bubble = 1; bubble <= max_bubbles; ++bubble) {
      machine_.open_edge(trainer, gate_.ref(), ++value, static_cast<std::uint64_t>(bubble), *mark, false);
      params.bubble = static_cast<std::uint64_t>(bubble);
      machine_.launch(kernel, machine_.load(kernel, 0), params, mark.get(), start_when::opened);
      std::this_thread::sleep_for(how_.bubble);
      machine_.close_edge(trainer, gate_.ref(), ++value, *mark, false, closing{});
      machine_.synchronize(trainer);
      await_that([&] { return machine_.workers_left(*mark); });
      phase_state const state = cursor.state();
      if (state == phase_state::finished || state == phase_state::failed) return bubble;
    }
    return max_bubbles + 1;
  }

  void expect_each_once() const {
    EXPECT_EQ(missed_, 0U);
    for (std::uint64_t i = 0; i < runs_.size(); ++i) {
      std::uint64_t times = 0;
      for (std::uint64_t items : extents_) times += i + how_.first_item < items;
      ASSERT_EQ(runs_[i], times) << "runs of item " << i + how_.first_item;
    }
    EXPECT_EQ(slot_.entry, 0U);
    EXPECT_EQ(cursor.words.ring.pushed, cursor.words.ring.popped);
  }

 private:
  setting const how_;
  std::vector<std::uint64_t> extents_;
  std::vector<std::uint8_t> runs_;
  std::uint64_t missed_ = 0;

 public:
  test_cursor cursor;

 private:
  threads_executor machine_;
  test_gate gate_;
  slot_line slot_{};
};

std::uint64_t sum(std::vector<std::uint64_t> const& values) {
  std::uint64_t total = 0;
  for (std::uint64_t value : values) total += value;
  return total;
}

TEST(exactly_once, over_ten_million_chunks_on_teams_of_one) {
  std::vector<std::uint64_t> const extents{big_phase, 1, 0, big_phase, 3, 2, 7};
  course way{{}, extents};
  int const bubbles = way.run();
  ASSERT_LE(bubbles, max_bubbles);
  EXPECT_GT(bubbles, 1) << "never preempted";
  EXPECT_EQ(way.cursor.state(), phase_state::finished);
  EXPECT_EQ(way.cursor.words.items, sum(extents));
  way.expect_each_once();
}

TEST(exactly_once, over_ten_thousand_chunks_on_teams_of_four) {
  std::vector<std::uint64_t> const extents{20'000, 4, 0, 20'000, 5};
  course way{{.blocks = 2, .width = 4, .grain = 4, .bubble = std::chrono::microseconds{20'000}}, extents};
  ASSERT_LE(way.run(), max_bubbles);
  EXPECT_EQ(way.cursor.words.items, sum(extents));
  way.expect_each_once();
}

TEST(exactly_once, where_tag_round_and_gate_value_wrap) {
  std::vector<std::uint64_t> extents;
  for (std::uint64_t phase = 0; phase < 240; ++phase) extents.push_back(phase * 7 % 11);
  course way{{.first_tag = tagged::tag_mask - 60,
              .first_round = ~std::uint64_t{0} - 20,
              .first_gate_value = 0xfffffffeU,
              .bubble = std::chrono::microseconds{50}},
             extents};
  ASSERT_LE(way.run(), max_bubbles);
  EXPECT_EQ(way.cursor.words.items, sum(extents));
  EXPECT_LT(tagged{way.cursor.words.limit}.tag(), 240U) << "the tag did not wrap";
  EXPECT_EQ(way.cursor.words.round, 240 / counting_task::shape.steps - 21) << "the round did not wrap";
  way.expect_each_once();
}

/// When the run begins, only the last items of the largest phase that a cursor counts are left.
TEST(exactly_once, at_the_end_of_the_largest_phase) {
  constexpr std::uint64_t left = 5000;
  for (std::uint32_t grain : {1U, 3U, 1000U}) {
    setting const how{.grain = grain,
                      .first_tag = tagged::tag_mask,
                      .first_item = max_items(3, grain) - left,
                      .bubble = std::chrono::microseconds{200}};
    std::uint64_t const extent = max_items(3, grain);
    course way{how, {extent}};
    way.cursor.words.limit = tagged{tagged::tag_mask, extent}.word();
    way.cursor.words.ticket = tagged{tagged::tag_mask, extent - left}.word();
    way.cursor.words.done = extent - left;
    way.cursor.words.state = tagged_state{tagged::tag_mask, phase_state::open}.word();
    ASSERT_LE(way.run(), max_bubbles);
    EXPECT_EQ(way.cursor.state(), phase_state::finished);
    EXPECT_EQ(way.cursor.words.items, extent);
    tagged const last{way.cursor.words.ticket};
    EXPECT_EQ(last.tag(), tagged::tag_mask) << "the overshoot ran into the tag";
    EXPECT_GE(last.item(), extent);
    EXPECT_LE(last.item(), extent + 3 * std::uint64_t{grain});
    way.expect_each_once();
  }
}

TEST(exactly_once, more_items_than_a_cursor_counts_fail_the_job_with_the_reason) {
  for (std::uint32_t grain : {1U, 1000U}) {
    course way{{.grain = grain}, {max_items(3, grain) + 1}};
    ASSERT_LE(way.run(), max_bubbles);
    EXPECT_EQ(way.cursor.state(), phase_state::failed);
    EXPECT_EQ(way.cursor.words.why, static_cast<std::uint32_t>(failure::too_many_items));
    EXPECT_EQ(way.cursor.progress.why, static_cast<std::uint32_t>(failure::too_many_items));
    EXPECT_EQ(way.cursor.words.items + way.cursor.words.done, 0U);
  }
}

}  // namespace
}  // namespace lull
