// SPDX-License-Identifier: Apache-2.0
#include <lull/host/measure/cuda/pending_chain.hpp>

#include <atomic>
#include <string>
#include <vector>

#include <lull/host/error.hpp>
#include <lull/host/measure/cuda/short_kernels.hpp>
#include <lull/host/task/counter_random.hpp>

namespace lull {

namespace {

constexpr std::uint64_t values = 132 * 256 * 6;
constexpr int rounds = 128;                         // of the map: a kernel takes 2 to 3 µs
constexpr std::uint64_t max_hold_ns = 100'000'000;  // a launch takes the host some µs

}  // namespace

pending_chain::pending_chain(int kernels) : kernels_(kernels) {
  if (kernels < 2 || kernels > 950) throw usage_error{"a chain has 2 to 950 kernels, not " + std::to_string(kernels)};
  trainer::load_short_kernels();
  samples_ = device_buffer{values * sizeof(float)};
  stamps_ = device_buffer{sizeof(stamps)};
  LULL_CUDA(cudaMemset(stamps_.get(), 0, sizeof(stamps)));
  counter_random const random{3, 0};
  std::vector<float> samples(values);
  for (std::size_t i = 0; i < samples.size(); ++i)
    samples[i] = static_cast<float>(random.at(i) >> 40) * 0x1p-23f - 1.0f;
  LULL_CUDA(cudaMemcpy(samples_.get(), samples.data(), samples.size() * sizeof(float), cudaMemcpyHostToDevice));
  LULL_CUDA(cudaDeviceSynchronize());
}

pending_chain::~pending_chain() { cudaDeviceSynchronize(); }

double pending_chain::kernel_ns(stream_handle stream, enqueueing const& waits) {
  ++round_;
  auto* const when = static_cast<stamps*>(stamps_.get());
  trainer::wait_for_word(stream, go_.device(), round_, max_hold_ns, &when->expired);
  for (int i = 0; i < kernels_; ++i) {
    std::uint64_t* const at = i == 0 ? &when->first : i == kernels_ - 1 ? &when->last : nullptr;
    trainer::stir(stream, static_cast<float*>(samples_.get()), values, rounds, at);
  }
  LULL_CUDA(cudaEventRecord(end_.get(), static_cast<cudaStream_t>(stream)));
  waits();
  // Read by the kernel that keeps the stream back; publishes nothing else.
  std::atomic_ref{go_.host()}.store(round_, std::memory_order_release);
  LULL_CUDA(cudaDeviceSynchronize());
  stamps found{};
  LULL_CUDA(cudaMemcpy(&found, stamps_.get(), sizeof found, cudaMemcpyDeviceToHost));
  if (found.expired != 0) {
    throw limit_error{"the host took longer than 100 ms to enqueue " + std::to_string(kernels_) +
                      " kernels: launches block, or the computer is too busy"};
  }
  return static_cast<double>(found.last - found.first) / (kernels_ - 1);
}

void pending_chain::wait_for_end(stream_handle stream) {
  LULL_CUDA(cudaStreamWaitEvent(static_cast<cudaStream_t>(stream), end_.get(), 0));
  trainer::nothing(stream);
}

}  // namespace lull
