// SPDX-License-Identifier: Apache-2.0
// What any store keeps of a queue that is drained.
#include <optional>

#include <lull/host/queue/drain_order.hpp>
#include <lull/tests/host/queue/store_contract.hpp>

namespace lull::queue {
namespace {

TEST_P(job_stores, keep_what_drains_them_until_they_are_resumed) {
  EXPECT_EQ(store_->drained(), std::nullopt);
  drain_order order{.saves = true, .by = "alice@node", .reason = "'; new \"disks\" \xc3\xa4", .time_s = 1'796'119'200};
  store_->set_drained(order);
  auto const other = open();
  EXPECT_EQ(other->drained(), order);
  EXPECT_EQ(text_of(*other->drained()),
            "the queue is drained by alice@node since 2026-12-01T10:00:00Z: '; new \"disks\" \xc3\xa4");
  submit("is taken all the same");
  EXPECT_EQ(listed().size(), 1U);
  order.saves = false;
  order.reason.clear();
  other->set_drained(order);
  EXPECT_EQ(store_->drained(), order) << "the last one counts";
  EXPECT_EQ(text_of(order), "the queue is drained by alice@node since 2026-12-01T10:00:00Z");
  other->set_drained(std::nullopt);
  EXPECT_EQ(store_->drained(), std::nullopt);
  other->set_drained(std::nullopt);
  EXPECT_EQ(open()->drained(), std::nullopt);
}

}  // namespace
}  // namespace lull::queue
