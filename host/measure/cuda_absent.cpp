// SPDX-License-Identifier: Apache-2.0
// Stands in for the files of cuda/ in a build without nvcc.
#include <lull/host/error.hpp>
#include <lull/host/executor.hpp>
#include <lull/host/measure/plain_kernels.hpp>
#include <lull/host/measure/trainer.hpp>
#include <lull/host/measure/waiting_cost.hpp>

namespace lull {

std::unique_ptr<stage_trainer> make_cuda_trainer(int device, std::chrono::nanoseconds) {
  throw usage_error{why_no_cuda(device)};
}
std::unique_ptr<plain_kernels> make_cuda_plain_kernels(executor& executor, worker_kernel const&) {
  throw usage_error{why_no_cuda(executor.place().device)};
}
waiting_cost measure_waiting(int device) { return {.why_not = "NOT RUN: " + why_no_cuda(device)}; }

}  // namespace lull
