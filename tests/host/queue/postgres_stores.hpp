// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <optional>
#include <string>

#include <gtest/gtest.h>

#include <lull/tests/host/queue/postgres_kind.hpp>
#include <lull/tests/support/test_folder.hpp>

namespace lull::queue {

/// A queue in a database of this program's server.
class postgres_stores : public testing::Test {
 protected:
  void SetUp() override {
    if (!postgres_server::programs()) GTEST_SKIP() << "NOT RUN: there is no /usr/lib/postgresql/*/bin";
    postgres_kind().make(folder_.at("work"));
  }
  static std::unique_ptr<postgres_store> open(std::string const& user = "postgres") {
    return std::make_unique<postgres_store>(own_server().address(user));
  }
  static std::string submit(job_store& store, std::string const& name) {
    job_document const one = job_named(name);
    return store.submit({&one, 1}).front();
  }
  static std::optional<job_entry> to(job_store& store, job_entry const& from, entry_state state) {
    job_entry next = from;
    next.state = state;
    return store.change(from, next, {}, durability::durable);
  }

  test::test_folder folder_;
};

}  // namespace lull::queue
