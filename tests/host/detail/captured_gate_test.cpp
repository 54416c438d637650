// SPDX-License-Identifier: Apache-2.0
// What a captured gate does with records if replays were faster than the dispatcher's looks.
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <lull/host/detail/gate/captured_gate.hpp>
#include <lull/tests/host/recording_executor.hpp>
#include <lull/tests/support/probe_task.hpp>
#include <lull/tests/support/within_time.hpp>

namespace lull::detail {
namespace {

class captured_ring : public testing::Test {
 protected:
  static constexpr std::uint64_t records = captured_gate::records;

  captured_ring() { make(); }
  void make() {
    trainer_.begin_capture();
    captured_type const type{threads_worker<probe_task>(), executor_.load(threads_worker<probe_task>(), 0)};
    gate_ = std::make_unique<captured_gate>(executor_, sites_, 16, &line_, words_.data(), &withheld_,
                                            trainer_.capture(), &trainer_, std::span{&type, 1});
    open_result const opened = gate_->open(&trainer_, site{"wait"});
    gate_->close(opened, &trainer_);
    graph_ = trainer_.end_capture();
  }
  /// Pretends that replays have opened and closed so many bubbles, and none since the last look.
  void replayed(std::uint64_t bubbles) {
    gate_line const now{.value = 2, .padding = 0, .bubbles = bubbles, .opened_ns = 0, .awaited = {}};
    gate_->note(now, false);
    gate_->note(now, false);
  }
  /// Returns the records in a copy of the ring.
  static std::vector<bubble_record> whole(captured_gate::unread which) {
    std::vector<bubble_record> copies(which.count());
    for (std::uint64_t bubble = which.from; bubble < which.past; ++bubble) {
      bubble_record& of = copies[bubble - which.from];
      of.bubble = static_cast<std::uint32_t>(bubble);
      of.opened_ns = 1'000 * bubble;
      of.closed_ns = of.opened_ns + 900;
    }
    return copies;
  }
  void take() {
    auto const which = gate_->to_read();
    gate_->take(which, whole(which).data(), 0, 16, reports_);
  }
  void write() {
    gate_->write_to(*lane_, zeros_.data());
    await_that([&] { return lane_->done(); });
  }
  std::uint64_t count(counted what) const { return gate_->counts()[what]; }

  record seen_;
  recording_executor executor_{seen_};
  threads_stream trainer_;
  captured_sites sites_{site_limits{}};
  gate_line line_{};
  std::uint32_t withheld_ = 0;
  std::vector<site_words> words_ = std::vector<site_words>(captured_gate::max_sites);
  std::vector<bubble_record> zeros_ = std::vector<bubble_record>(records);
  std::unique_ptr<copy_lane> lane_ = executor_.make_copy_lane();
  std::unique_ptr<captured_gate> gate_;
  threads_graph graph_;
  std::deque<bubble_report> reports_;
};

TEST_F(captured_ring, that_replays_have_not_gone_round_is_taken_whole) {
  replayed(records - 1);
  take();
  EXPECT_EQ(count(counted::replayed), records - 1);
  EXPECT_EQ(count(counted::dropped), 0U);
  EXPECT_EQ(reports_.size(), records - 1);
  EXPECT_EQ(gate_->to_read().count(), 0U);
}

TEST_F(captured_ring, that_replays_have_gone_round_is_dropped_and_counted) {
  replayed(10);
  take();
  replayed(10 +
           records);  // the last of them lies where the tenth, which was read, was: those before may be half its own
  take();
  EXPECT_EQ(count(counted::replayed), 10 + records);
  EXPECT_EQ(count(counted::dropped), records);
  EXPECT_EQ(reports_.size(), 10U);
  EXPECT_EQ(gate_->to_read().from, 11 + records);
  EXPECT_EQ(gate_->to_read().count(), 0U);
  replayed(12 + records);
  take();
  EXPECT_EQ(reports_.size(), 12U) << "what comes later is read again";
}

TEST_F(captured_ring, whose_records_were_dropped_is_cleared_once) {
  replayed(records);
  take();
  ASSERT_EQ(count(counted::dropped), records);
  auto const ring = gate_->ring();
  for (std::uint64_t at = 0; at < records; ++at) ring.at[at].chunks = ring.at[at].bubble = 7;
  write();
  for (std::uint64_t at = 0; at < records; ++at) {
    ASSERT_EQ(ring.at[at].chunks, 0U) << "blocks add to what stands there: " << at;
    ASSERT_EQ(ring.at[at].bubble, 0U) << at;
  }
  ring.at[3].chunks = 5;
  write();
  EXPECT_EQ(ring.at[3].chunks, 5U) << "a record of now";
}

TEST_F(captured_ring, whose_records_were_taken_is_not_cleared) {
  gate_->ring().at[3].chunks = 5;
  replayed(records - 1);
  take();
  write();
  EXPECT_EQ(gate_->ring().at[3].chunks, 5U);
}

TEST_F(captured_ring, is_read_up_to_the_last_bubble_only_when_no_other_has_come_since) {
  gate_line now{.value = 2, .padding = 0, .bubbles = 5, .opened_ns = 0, .awaited = {}};
  gate_->note(now, false);
  EXPECT_EQ(gate_->to_read().count(), 4U);
  now.value = 3;  // the last one is open
  gate_->note(now, false);
  EXPECT_EQ(gate_->to_read().count(), 4U);
  now.value = 4;
  gate_->note(now, false);
  EXPECT_EQ(gate_->to_read().count(), 5U);
  gate_->note(now, true);
  EXPECT_FALSE(gate_->is_finished());
  take();
  EXPECT_TRUE(gate_->is_finished());
}

TEST_F(captured_ring, a_record_that_no_closing_edge_has_written_is_dropped) {
  replayed(3);
  auto copies = whole(gate_->to_read());
  copies[1].bubble = 0;
  copies[2].site = 1;  // the graph has one site
  gate_->take(gate_->to_read(), copies.data(), 0, 16, reports_);
  EXPECT_EQ(count(counted::replayed), 3U);
  EXPECT_EQ(count(counted::dropped), 2U);
  ASSERT_EQ(reports_.size(), 1U);
  EXPECT_EQ(reports_[0].site, "wait");
  EXPECT_EQ(reports_[0].length, std::chrono::nanoseconds{900});
}

TEST_F(captured_ring, tells_workers_of_its_sites_that_are_too_short) {
  ASSERT_NE(seen_.site, nullptr);
  write();
  EXPECT_EQ(seen_.site.load()->skip, 0U);
  for (std::uint64_t bubbles = 1; bubbles <= 8; ++bubbles) {
    replayed(bubbles);
    take();
  }
  EXPECT_EQ(seen_.site.load()->skip, 0U) << "nothing was enqueued";
  write();
  EXPECT_EQ(seen_.site.load()->skip, 1U);
}

TEST_F(captured_ring, a_longer_bubble_of_a_site_that_is_too_short_counts_as_too_short) {
  for (std::uint64_t bubbles = 1; bubbles <= 8; ++bubbles) {
    replayed(bubbles);
    take();
  }
  write();
  replayed(9);
  auto const which = gate_->to_read();
  auto copies = whole(which);
  copies[0].closed_ns = copies[0].opened_ns + 1'000'000;
  gate_->take(which, copies.data(), 0, 16, reports_);
  EXPECT_EQ(count(counted::too_short), 1U);
  EXPECT_EQ(count(counted::all_handed_back), 0U);
}

TEST_F(captured_ring, is_over_when_its_graph_and_all_clones_are_gone) {
  EXPECT_FALSE(gate_->is_over());
  auto clone = std::make_unique<threads_graph>(graph_);
  graph_ = {};
  EXPECT_FALSE(gate_->is_over());
  clone.reset();
  EXPECT_TRUE(gate_->is_over());
}

/// All blocks left by their lease, and the close came just after.
TEST_F(captured_ring, tells_of_hold_ups_only_where_room_is_kept) {
  for (int const kept_off : {0, 1}) {
    seen_.kept_off = kept_off;
    make();
    EXPECT_EQ(gate_->take_held_up(), std::nullopt);
    for (std::uint64_t bubble = 1; bubble <= 2; ++bubble) {
      replayed(bubble);
      auto copies = whole(gate_->to_read());
      for (bubble_record& of : copies) {
        of.blocks = of.lease_blocks = 2;
        of.chunks = 5;
        of.last_out_ns = of.opened_ns + 850;
      }
      gate_->take(gate_->to_read(), copies.data(), 2, 16, reports_);
      EXPECT_EQ(count(counted::held_up), kept_off == 0 ? 0U : bubble);
    }
    EXPECT_EQ(gate_->take_held_up(), kept_off == 0 ? std::nullopt : std::optional<std::string>{"wait"});
  }
}

/// Replays whose bubbles of 0.5 ms come every 0.6 ms.
class costly_replays : public captured_ring {
 protected:
  /// Replays so many and returns in how many the workers were skipped from then on.
  std::uint64_t skipped_of(std::uint64_t looks) {
    std::uint64_t skipped = 0;
    for (std::uint64_t look = 0; look < looks; ++look) {
      replayed(bubbles_ += 100);
      auto const which = gate_->to_read();
      std::vector<bubble_record> copies = whole(which);
      for (bubble_record& each : copies) {
        each.opened_ns = 600'000 * std::uint64_t{each.bubble};
        each.closed_ns = each.opened_ns + 500'000;
        each.blocks = words_[0].skip == 0 ? 1 : 0;
        each.chunks = each.blocks;
      }
      gate_->take(which, copies.data(), 0, 16, reports_);
      skipped += words_[0].skip != 0 ? 1 : 0;
    }
    return skipped;
  }

 private:
  std::uint64_t bubbles_ = 0;
};

TEST_F(costly_replays, have_no_workers_in_most_bubbles_where_these_cost_more_than_a_hundredth_of_the_time) {
  sites_.find(site{"wait"})->past = history{{.training_worth = 30}};
  EXPECT_GT(skipped_of(100), 30U);
}

TEST_F(costly_replays, have_workers_where_training_is_worth_no_more_than_side_work) { EXPECT_EQ(skipped_of(100), 0U); }

}  // namespace
}  // namespace lull::detail
