// SPDX-License-Identifier: Apache-2.0
// A process that dies at any of its system calls leaves a spool in which each job is as it was before or after.
#include <cstddef>
#include <iostream>
#include <memory>
#include <string>

#include <gtest/gtest.h>

#include <lull/tests/host/queue/spool_operations.hpp>
#include <lull/tests/support/traced_child.hpp>

namespace lull::queue {
namespace {

class killed_spools : public testing::TestWithParam<spool_operation> {};

enum class moment { before, after };

/// Makes the operation in a child that is killed at the call of that number. Returns whether it made that many.
bool kill_at(spool_scene& here, spool_operation const& what, std::size_t number, moment when) {
  test::traced_child child{[&] {
                             here.own = std::make_unique<spool>(here.at());
                             if (what.begin) what.begin(here);
                           },
                           [&] {
                             what.make(here);
                             *here.acknowledged = true;
                           }};
  for (std::size_t i = 0; child.next(); ++i) {
    if (i == number && when == moment::before) return true;
    if (!child.make()) break;
    if (i == number) return true;
  }
  EXPECT_EQ(child.status(), 0) << "the operation fails";
  return false;
}

TEST_P(killed_spools, are_whole_whenever_it_dies) {
  if (!test::traced_child::is_possible()) GTEST_SKIP() << "a process may not trace its child here";
  spool_operation const& what = GetParam();
  int instants = 0;
  for (moment const when : {moment::before, moment::after}) {
    bool is_there = true;
    for (std::size_t number = 0; is_there; ++number, ++instants) {
      spool_scene here;
      if (what.prepare) what.prepare(here);
      is_there = kill_at(here, what, number, when);
      SCOPED_TRACE((when == moment::before ? "killed before call " : "killed after call ") + std::to_string(number));
      here.expect_whole(fault::killed);
      what.check(here, *here.acknowledged, fault::killed);
      what.again(here);
      here.expect_whole(fault::killed);
      here.expect_no_litter();
      if (HasFailure()) return;
    }
  }
  std::cout << what.name << ": killed at " << instants << " instants\n";
  EXPECT_GE(instants, 10);
}

INSTANTIATE_TEST_SUITE_P(, killed_spools, testing::ValuesIn(spool_operations()),
                         [](auto const& of) { return of.param.name; });

}  // namespace
}  // namespace lull::queue
