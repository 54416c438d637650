// SPDX-License-Identifier: Apache-2.0
// What dead processes have left in a spool, and what is missing there.
#include <chrono>
#include <ctime>
#include <filesystem>
#include <memory>
#include <string>

#include <gtest/gtest.h>

#include <lull/host/queue/spool.hpp>
#include <lull/tests/host/queue/store_contract.hpp>
#include <lull/tests/support/test_folder.hpp>

namespace lull::queue {
namespace {

namespace fs = std::filesystem;

class spool_litter : public testing::Test {
 protected:
  spool_litter() {
    spool::make(folder_.at("spool"));
    store_ = std::make_unique<spool>(folder_.at("spool"));
    job_document const one = job_named("one");
    id_ = store_->submit({&one, 1}).front();
  }
  void age(std::string const& name, std::chrono::hours by) const {
    fs::last_write_time(folder_.at(name), fs::file_time_type::clock::now() - by);
  }
  std::string document_of(std::string const& id) const {
    return "spool/documents/" + id.substr(19) + "/" + id + ".json";
  }
  bool is_there(std::string const& name) const { return fs::exists(folder_.at(name)); }

  test::test_folder folder_{test::memory_folder()};
  std::unique_ptr<spool> store_;
  std::string id_;
};

TEST_F(spool_litter, stays_until_it_is_old) {
  std::int64_t const day_ago_s = std::time(nullptr) - 24 * 3'600;
  std::string const old_id = "1" + std::string(18, '0') + id_.back();  // made in 2004
  std::string new_id = id_;
  new_id[10] = new_id[10] == '0' ? '1' : '0';
  for (std::string const& each : {old_id, new_id}) folder_.write(document_of(each), "{}");
  store_->beat({.id = "00000000000a"});
  for (char const* const name : {"spool/agents/00000000000b", "spool/agents/00000000000b.00000000000c"})
    folder_.write(name, "{");
  age("spool/agents/00000000000b.00000000000c", std::chrono::hours{48});
  EXPECT_EQ(store_->remove_litter(day_ago_s), 2U);
  EXPECT_FALSE(is_there(document_of(old_id)));
  EXPECT_TRUE(is_there(document_of(new_id))) << "its process may still run";
  EXPECT_TRUE(is_there("spool/agents/00000000000b"));
  EXPECT_FALSE(is_there("spool/agents/00000000000b.00000000000c"));
  EXPECT_EQ(store_->agents().size(), 1U);
  EXPECT_EQ(store_->document(id_).name, "one");
  EXPECT_EQ(store_->remove_litter(day_ago_s), 0U);
}

TEST_F(spool_litter, is_told_of_where_a_document_is_missing) {
  EXPECT_TRUE(store_->problems().empty());
  fs::remove(folder_.at(document_of(id_)));
  auto const found = store_->problems();
  ASSERT_EQ(found.size(), 1U);
  EXPECT_NE(found.front().find(id_), std::string::npos);
}

TEST_F(spool_litter, is_no_agent) {
  folder_.write("spool/agents/00000000000a", R"({"beats": 1e300, "host": "h", "process": 1, "offers": ""})");
  EXPECT_TRUE(store_->agents().empty());
}

}  // namespace
}  // namespace lull::queue
