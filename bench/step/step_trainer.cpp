// SPDX-License-Identifier: Apache-2.0
#include <lull/bench/step/step_trainer.hpp>

#include <random>

#include <lull/bench/step/kernels.hpp>
#include <lull/host/measure/cuda/kernels.hpp>
#include <lull/host/measure/cuda/short_kernels.hpp>

namespace lull::bench {

namespace {

constexpr std::uint64_t head_start_ns = 4'000'000;  // as many launches as the driver holds take the host less

}  // namespace

step_trainer::step_trainer(step_shape const& shape)
    : shape_(shape), count_(static_cast<std::uint64_t>(shape.kib) * 1024 / sizeof(float)) {
  if (shape.stream == trainer_stream::own) own_ = cuda_stream{0};
  if (shape.foreign) foreign_ = cuda_stream{0};
  for (int i = 0; i < shape.segments; ++i) sites_.push_back("behind segment " + std::to_string(i));
  trainer::load();
  load_step_kernels();
  values_ = device_buffer{count_ * sizeof(float)};
  trainer::fill_random_bf16(nullptr, values_.get(), count_ * 2, 11);  // two of them are a float in (−1, 1)
  LULL_CUDA(cudaStreamSynchronize(nullptr));
}

group_times step_trainer::group(runtime* side, int steps, std::uint64_t seed) {
  cudaStream_t const stream = own_.get();
  std::mt19937_64 random{seed};
  std::uniform_real_distribution<double> share{1 - shape_.jitter, 1 + shape_.jitter};
  std::size_t const segments = static_cast<std::size_t>(steps) * sites_.size();
  reserve(segments);
  group_times found;
  trainer::wait_one_thread(stream, head_start_ns, nullptr);
  auto* const stamped = static_cast<std::uint64_t*>(stamps_.get());
  double const ms = timer_.ms(stream, [&] {
    for (std::size_t i = 0; i < segments; ++i) {
      segment(stamped + 2 * i, stamped + 2 * i + 1);
      if (shape_.host_bound) LULL_CUDA(cudaStreamSynchronize(stream));
      auto const ns = static_cast<std::uint64_t>(static_cast<double>(shape_.bubble_ns) * share(random));
      bubble(side, site{sites_[i % sites_.size()]}, ns);
      ++found.bubbles;
      found.bubbles_ns += ns;
    }
  });
  if (shape_.foreign) LULL_CUDA(cudaStreamSynchronize(foreign_.get()));
  found.step_ms = ms / steps;
  std::vector<std::uint64_t> stamps(2 * segments);
  LULL_CUDA(cudaMemcpy(stamps.data(), stamped, stamps.size() * sizeof(std::uint64_t), cudaMemcpyDeviceToHost));
  for (std::size_t i = 0; i < segments; ++i) {
    found.kernel_ns.push_back(static_cast<double>(stamps[2 * i + 1] - stamps[2 * i]) / (shape_.kernels - 1));
  }
  return found;
}

void step_trainer::solo(runtime& side, std::uint64_t ns) {
  bubble(&side, site{"alone"}, ns);
  LULL_CUDA(cudaStreamSynchronize(own_.get()));
}

void step_trainer::segment(std::uint64_t* begin, std::uint64_t* end) {
  cudaStream_t const stream = own_.get();
  auto* const values = static_cast<float*>(values_.get());
  for (int k = 0; k < shape_.kernels; ++k) {
    trainer::stir(stream, values, count_, shape_.rounds, k == 0 ? begin : k == shape_.kernels - 1 ? end : nullptr);
  }
  if (!shape_.foreign) return;
  // The host is a segment ahead, so one such wait follows the other, and the first of them is pending.
  LULL_CUDA(cudaEventRecord(behind_segment_.get(), stream));
  LULL_CUDA(cudaStreamWaitEvent(foreign_.get(), behind_segment_.get(), 0));
  trainer::nothing(foreign_.get());
}

void step_trainer::bubble(runtime* side, site where, std::uint64_t ns) {
  cudaStream_t const stream = own_.get();
  bubble_id const id = side != nullptr ? side->open(stream, where) : bubble_id{};
  trainer::wait_one_thread(stream, ns, nullptr);
  if (side != nullptr) side->close(id, stream);
}

void step_trainer::reserve(std::size_t segments) {
  if (segments <= capacity_) return;
  stamps_ = device_buffer{2 * segments * sizeof(std::uint64_t)};
  capacity_ = segments;
}

}  // namespace lull::bench
