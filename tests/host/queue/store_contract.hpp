// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <string>

#include <gtest/gtest.h>

#include <lull/host/queue/spool.hpp>
#include <lull/host/queue/store.hpp>
#include <lull/tests/support/test_folder.hpp>

namespace lull::queue {

inline job_document job_named(std::string const& name, int priority = 0) {
  return {.name = name, .run = {.task = "compute"}, .priority = priority};
}

/// A kind of store, by name.
struct store_kind {
  std::string name;
  std::function<void(std::string const& folder)> make;
  std::function<std::unique_ptr<job_store>(std::string const& folder)> open;
  /// Waits until a server has ended what processes that were killed had asked for, and one process has it open.
  std::function<void()> settle = [] {};
};

inline store_kind spool_kind(std::chrono::nanoseconds lease = spool::default_lease) {
  return {"spool", [lease](std::string const& folder) { spool::make(folder, lease); },
          [](std::string const& folder) { return std::make_unique<spool>(folder); }};
}

/// What any store must do: tests of each kind.
class job_stores : public testing::TestWithParam<store_kind> {
 protected:
  job_stores() {
    GetParam().make(folder());
    store_ = open();
  }
  std::string folder() const { return folder_.at("store"); }
  /// Opens it once more, as another process would.
  std::unique_ptr<job_store> open() const { return GetParam().open(folder()); }
  std::string submit(std::string const& name, int priority = 0) {
    job_document const one = job_named(name, priority);
    return store_->submit({&one, 1}).front();
  }
  std::map<std::string, job_entry> listed() {
    std::map<std::string, job_entry> all;
    for (job_entry const& each : store_->list()) EXPECT_TRUE(all.emplace(each.id, each).second) << each.id;
    return all;
  }
  static std::optional<job_entry> to(job_store& store, job_entry const& from, entry_state state,
                                     std::string const& reason = "", durability how = durability::may_be_lost) {
    job_entry next = from;
    next.state = state;
    return store.change(from, next, {.reason = reason}, how);
  }

  test::test_folder folder_;
  std::unique_ptr<job_store> store_;
};

}  // namespace lull::queue
