// SPDX-License-Identifier: Apache-2.0
// A power cut at any system call leaves a spool in which what was acknowledged is there, and each job is whole.
#include <iostream>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <lull/tests/host/queue/power_cuts.hpp>
#include <lull/tests/host/queue/spool_operations.hpp>
#include <lull/tests/support/effort.hpp>
#include <lull/tests/support/traced_child.hpp>

namespace lull::queue {
namespace {

class spools_after_power_cuts : public testing::TestWithParam<spool_operation> {};

/// Makes the operation in a child. Returns what was on the disk after each call that changed it, the last one after
/// the child's acknowledgement.
std::vector<power_cuts> recorded(spool_scene& here, spool_operation const& what) {
  test::traced_child child{[&] {
                             here.own = std::make_unique<spool>(here.at());
                             if (what.begin) what.begin(here);
                           },
                           [&] { what.make(here); }};
  power_cuts disk{here.folder_.path()};
  if (what.unflushed)
    for (std::string const& each : what.unflushed(here)) disk.was_not_flushed(each);
  std::vector<power_cuts> all{disk};
  while (child.next() && child.make())
    if (disk.follow(child)) all.push_back(disk);
  EXPECT_EQ(child.status(), 0) << "the operation fails";
  return all;
}

TEST_P(spools_after_power_cuts, have_what_was_acknowledged) {
  using kept = power_cuts::kept;
  if (!test::traced_child::is_possible()) GTEST_SKIP() << "a process may not trace its child here";
  spool_operation const& what = GetParam();
  spool_scene here;
  if (what.prepare) what.prepare(here);
  std::vector<power_cuts> disks = recorded(here, what);
  std::mt19937 random{20'261'130};
  std::vector<kept> choices{kept::nothing, kept::names, kept::names_with_zeros, kept::data, kept::everything};
  choices.resize(choices.size() + trials(20), kept::some);
  int states = 0;
  for (std::size_t i = 0; i < disks.size(); ++i) {
    for (kept const choice : choices) {
      if (!disks[i].cut(choice, random)) continue;
      ++states;
      SCOPED_TRACE("after change " + std::to_string(i) + " of " + std::to_string(disks.size() - 1) + ", kept " +
                   std::to_string(static_cast<int>(choice)) + ", state " + std::to_string(states));
      here.expect_whole(fault::power_cut);
      what.check(here, what.lasts && i + 1 == disks.size(), fault::power_cut);
      what.again(here);
      here.expect_whole(fault::power_cut);
      if (HasFailure()) return;
    }
  }
  std::cout << what.name << ": " << states << " states of the disk after " << disks.size() << " changes\n";
  EXPECT_GE(states, 3);
}

INSTANTIATE_TEST_SUITE_P(, spools_after_power_cuts, testing::ValuesIn(spool_operations()),
                         [](auto const& of) { return of.param.name; });

}  // namespace
}  // namespace lull::queue
