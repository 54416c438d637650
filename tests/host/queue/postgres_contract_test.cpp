// SPDX-License-Identifier: Apache-2.0
// A store in PostgreSQL does what any store must do.
#include <lull/tests/host/queue/postgres_kind.hpp>

namespace lull::queue {
namespace {

INSTANTIATE_TEST_SUITE_P(of_postgresql, job_stores, testing::ValuesIn(postgres_kinds()),
                         [](auto const& of) { return of.param.name; });

TEST(postgres_contract, needs_a_server) {
  if (!postgres_server::programs()) GTEST_SKIP() << "NOT RUN: there is no /usr/lib/postgresql/*/bin";
}

}  // namespace
}  // namespace lull::queue
