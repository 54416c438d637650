// SPDX-License-Identifier: Apache-2.0
#include <lull/bench/yield/bubbles.hpp>

#include <chrono>
#include <random>
#include <thread>

#include <lull/bench/yield/stage.hpp>
#include <lull/host/cuda/check.hpp>

namespace lull::bench {

namespace {

constexpr std::uint64_t arrival_after_ns = 60'000;
constexpr std::uint64_t head_start_ns = 1'500'000;  // lets the host enqueue before the device runs, as a trainer's does

}  // namespace

std::vector<samples> measure_bubbles(setting const& how, runtime& side) {
  int const each = how.bubbles + warm_up;
  auto const total = static_cast<std::size_t>(each) * treatments;
  trainer_device device{total};
  cudaStream_t const stream = device.trainer.get();
  std::vector<moments> found(total, moments::none());
  LULL_CUDA(cudaMemcpy(device.stamped, found.data(), total * sizeof(moments), cudaMemcpyHostToDevice));
  bubble_records records{side};
  while (!side.ready(stream)) std::this_thread::yield();

  bare_edges edges{executor_of(side)};
  std::mt19937_64 random{42};
  std::vector<samples> out(treatments);
  std::vector<std::uint64_t> gap(total);
  std::vector<std::uint64_t> number(total);  // the runtime's number of each bubble; 0: none
  std::vector<int> done(treatments);
  for (bool more = true; more;) {
    more = false;
    for (int t = 0; t < treatments; ++t) {
      runtime* const lull = t == static_cast<int>(treatment::worker) ? &side : nullptr;
      bool const bare = t == static_cast<int>(treatment::edges);
      trainer::wait_one_thread(stream, head_start_ns, nullptr);
      for (int b = 0; b < how.group && done[t] < each; ++b, ++done[t]) {
        std::size_t const index =
            static_cast<std::size_t>(t) * static_cast<std::size_t>(each) + static_cast<std::size_t>(done[t]);
        moments* const when = device.stamped + index;
        std::uint64_t const ns = how.min_ns + random() % (how.max_ns - how.min_ns + 1);
        gap[index] = ns;
        trainer::stamp(stream, &when->begin);
        auto const h0 = std::chrono::steady_clock::now();
        bubble_id const id = lull != nullptr ? lull->open(stream, site{"bench"}) : bubble_id{};
        if (bare) edges.open(stream);
        auto const h1 = std::chrono::steady_clock::now();
        if (how.comes != arrival::none) {
          LULL_CUDA(cudaEventRecord(device.fork.get(), stream));
          LULL_CUDA(cudaStreamWaitEvent(device.other.get(), device.fork.get(), 0));
          trainer::wait_one_thread(device.other.get(), arrival_after_ns, &when->asked);
          if (how.comes == arrival::one_thread) trainer::burst(device.other.get(), 1, 1, 5000, &when->comes);
          if (how.comes == arrival::blocks_132) trainer::burst(device.other.get(), 132, 384, 2000, &when->comes);
          if (how.comes == arrival::nccl_shape) trainer::wait_nccl_shape(device.other.get(), 20'000, &when->comes);
        }
        trainer::wait_one_thread(stream, ns, &when->closed);
        auto const h2 = std::chrono::steady_clock::now();
        if (lull != nullptr) lull->close(id, stream);
        if (bare) edges.close(stream);
        auto const h3 = std::chrono::steady_clock::now();
        number[index] = id.bubble;
        if (done[t] >= warm_up)
          out[static_cast<std::size_t>(t)].host.push_back(
              std::chrono::duration<double, std::micro>((h1 - h0) + (h3 - h2)).count());
        device.train(how.training, when);
        more = true;
      }
      LULL_CUDA(cudaStreamSynchronize(stream));
      records.take();
    }
  }
  LULL_CUDA(cudaDeviceSynchronize());
  records.take_for(std::chrono::milliseconds{200});
  LULL_CUDA(cudaMemcpy(found.data(), device.stamped, total * sizeof(moments), cudaMemcpyDeviceToHost));
  for (int t = 0; t < treatments; ++t) {
    samples& into = out[static_cast<std::size_t>(t)];
    for (int b = warm_up; b < each; ++b) {
      std::size_t const index =
          static_cast<std::size_t>(t) * static_cast<std::size_t>(each) + static_cast<std::size_t>(b);
      moments const& when = found[index];
      add_moments(into, how, when, gap[index]);
      if (t == static_cast<int>(treatment::worker)) records.add_to(into, when, number[index]);
    }
  }
  return out;
}

}  // namespace lull::bench
