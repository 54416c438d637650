// SPDX-License-Identifier: Apache-2.0
#include <lull/apps/lull/pending_chain.hpp>

#include <atomic>
#include <string>
#include <vector>

#include <lull/apps/lull/short_kernels.hpp>
#include <lull/host/cuda/owned.hpp>
#include <lull/host/error.hpp>
#include <lull/host/task/counter_random.hpp>

namespace lull {

namespace {

constexpr std::uint64_t values = 132 * 256 * 6;
constexpr int rounds = 128;                         // of the map: a kernel takes 2 to 3 µs
constexpr std::uint64_t max_hold_ns = 100'000'000;  // a launch takes the host some µs

struct device_free {
  void operator()(void* memory) const noexcept { cudaFree(memory); }
};
struct host_free {
  void operator()(void* memory) const noexcept { cudaFreeHost(memory); }
};

std::unique_ptr<void, device_free> zeros(std::size_t bytes) {
  void* memory = nullptr;
  LULL_CUDA(cudaMalloc(&memory, bytes));
  std::unique_ptr<void, device_free> made{memory};
  LULL_CUDA(cudaMemset(memory, 0, bytes));
  return made;
}

std::unique_ptr<void, host_free> mapped(std::size_t bytes) {
  void* memory = nullptr;
  LULL_CUDA(cudaHostAlloc(&memory, bytes, cudaHostAllocMapped));
  return std::unique_ptr<void, host_free>{memory};
}

/// What the chain's kernels write on the device.
struct chain_stamps {
  std::uint64_t first;  // start of the first kernel, ns
  std::uint64_t last;   // start of the last
  std::uint32_t expired;
};

}  // namespace

struct pending_chain::parts {
  chain_stamps* on_device() const noexcept { return static_cast<chain_stamps*>(stamps.get()); }

  std::unique_ptr<void, device_free> samples = zeros(values * sizeof(float));
  std::unique_ptr<void, device_free> stamps = zeros(sizeof(chain_stamps));
  std::unique_ptr<void, host_free> go = mapped(sizeof(std::uint32_t));  // the host lets the trainer's stream go
  std::uint32_t* go_on_device = nullptr;
  cuda_event end{event_timing::off};
};

pending_chain::pending_chain(int kernels) : kernels_(kernels), parts_(std::make_unique<parts>()) {
  if (kernels < 2 || kernels > 950) throw usage_error{"a chain has 2 to 950 kernels, not " + std::to_string(kernels)};
  trainer::load_short_kernels();
  void* mine = nullptr;
  LULL_CUDA(cudaHostGetDevicePointer(&mine, parts_->go.get(), 0));
  parts_->go_on_device = static_cast<std::uint32_t*>(mine);
  *static_cast<std::uint32_t*>(parts_->go.get()) = 0;
  counter_random const random{3, 0};
  std::vector<float> samples(values);
  for (std::size_t i = 0; i < samples.size(); ++i)
    samples[i] = static_cast<float>(random.at(i) >> 40) * 0x1p-23f - 1.0f;
  LULL_CUDA(cudaMemcpy(parts_->samples.get(), samples.data(), samples.size() * sizeof(float), cudaMemcpyHostToDevice));
  LULL_CUDA(cudaDeviceSynchronize());
}

pending_chain::~pending_chain() { cudaDeviceSynchronize(); }

void pending_chain::enqueue(stream_handle stream) {
  chain_stamps* const when = parts_->on_device();
  for (int i = 0; i < kernels_; ++i) kernel(stream, i == 0 ? &when->first : i == kernels_ - 1 ? &when->last : nullptr);
}

void pending_chain::kernel(stream_handle stream, std::uint64_t* at) {
  trainer::stir(stream, static_cast<float*>(parts_->samples.get()), values, rounds, at);
}

double pending_chain::kernel_ns(stream_handle stream, enqueueing const& chain, enqueueing const& waits) {
  ++round_;
  trainer::wait_for_word(stream, parts_->go_on_device, round_, max_hold_ns, &parts_->on_device()->expired);
  chain();
  LULL_CUDA(cudaEventRecord(parts_->end.get(), static_cast<cudaStream_t>(stream)));
  waits();
  // Read by the kernel that keeps the stream back; publishes nothing else.
  std::atomic_ref{*static_cast<std::uint32_t*>(parts_->go.get())}.store(round_, std::memory_order_release);
  LULL_CUDA(cudaDeviceSynchronize());
  chain_stamps found{};
  LULL_CUDA(cudaMemcpy(&found, parts_->on_device(), sizeof found, cudaMemcpyDeviceToHost));
  if (found.expired != 0) {
    throw limit_error{"the host took longer than 100 ms to enqueue " + std::to_string(kernels_) +
                      " kernels: launches block, or the computer is too busy"};
  }
  return static_cast<double>(found.last - found.first) / (kernels_ - 1);
}

double pending_chain::kernel_ns(stream_handle stream, enqueueing const& waits) {
  return kernel_ns(
      stream, [&] { enqueue(stream); }, waits);
}

void pending_chain::wait_for_end(stream_handle stream) {
  LULL_CUDA(cudaStreamWaitEvent(static_cast<cudaStream_t>(stream), parts_->end.get(), 0));
  trainer::nothing(stream);
}

}  // namespace lull
