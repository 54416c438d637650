// SPDX-License-Identifier: Apache-2.0
#include <cstdlib>
#include <thread>

#include <gtest/gtest.h>

#include <lull/host/runtime.hpp>
#include <lull/host/threads/executor.hpp>
#include <lull/host/threads/stream.hpp>
#include <lull/tests/support/cursor_state.hpp>
#include <lull/tests/support/within_time.hpp>

namespace lull {
namespace {

TEST(ranges, bubbles_and_submits_stand_in_a_domain_of_our_own) {
  setenv("NVTX_INJECTION64_PATH", LULL_NVTX_TOOL, 1);  // as a profiler does, before the first range
  testing::internal::CaptureStderr();
  {
    threads_stream trainer;
    runtime side{{.executor = {.kind = executor_kind::threads, .processors = 1}}};
    probe_arrays arrays{{4, 4}};
    job const task = side.submit(arrays.task(), "count");
    await_that([&] { return side.ready(&trainer); });
    { bubble const idle{side, &trainer, site{"recv_forward"}}; }
    trainer.synchronize();
  }
  EXPECT_EQ(testing::internal::GetCapturedStderr(),
            "nvtx domain lull\nnvtx start 1 count\nnvtx end 1\nnvtx start 2 recv_forward\nnvtx end 2\n");
}

}  // namespace
}  // namespace lull
