// SPDX-License-Identifier: Apache-2.0
// A wait by the clock on the wall for bench/lab/trainer.py: torch.cuda._sleep counts cycles, which are longer
// beside side work.
#include <cstdint>
#include <exception>

#include <lull/host/measure/cuda/kernels.hpp>

/// Enqueues one thread that waits for `ns`; `stream` is a cudaStream_t. 0: it is enqueued. The first call loads the
/// kernels, and waits for the device.
extern "C" int lull_bench_wait(void* stream, std::uint64_t ns) try {
  static bool const loaded = (lull::trainer::load(), true);
  if (loaded) lull::trainer::wait_one_thread(static_cast<cudaStream_t>(stream), ns, nullptr);
  return 0;
} catch (std::exception const&) {
  return 1;
}
