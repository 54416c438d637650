// SPDX-License-Identifier: Apache-2.0
#include <lull/bench/yield/bubbles.hpp>

#include <chrono>
#include <random>
#include <thread>

#include <lull/bench/yield/stage.hpp>
#include <lull/host/cuda/check.hpp>

namespace lull::bench {

namespace {

constexpr std::uint64_t head_ns = 200'000;  // in front of a graph's first bubble, so that it is like the others

template <class Bubbles>
cuda_graph captured(cudaStream_t stream, Bubbles&& bubbles) {
  cudaGraph_t graph{};
  LULL_CUDA(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
  bubbles();
  LULL_CUDA(cudaStreamEndCapture(stream, &graph));
  return cuda_graph{graph};
}

}  // namespace

std::vector<samples> measure_captured(setting const& how, runtime& side) {
  auto const group = static_cast<std::size_t>(how.group);
  trainer_device device{group};
  cudaStream_t const stream = device.trainer.get();
  bubble_records records{side};
  bare_edges edges{executor_of(side)};
  std::vector<cuda_graph> graphs;  // of a group of bubbles each, with the same gaps
  std::vector<std::uint64_t> gaps(group);
  std::vector<samples> out(treatments);
  for (int t = 0; t < treatments; ++t) {
    std::mt19937_64 random{42};
    graphs.push_back(captured(stream, [&] {
      trainer::wait_one_thread(stream, head_ns, nullptr);
      for (std::size_t b = 0; b < group; ++b) {
        moments* const when = device.stamped + b;
        gaps[b] = how.min_ns + random() % (how.max_ns - how.min_ns + 1);
        trainer::stamp(stream, &when->begin);
        bubble_id id;
        if (t == static_cast<int>(treatment::edges)) edges.capture_open(stream);
        if (t == static_cast<int>(treatment::worker)) id = side.open(stream, site{"bench"});
        trainer::wait_one_thread(stream, gaps[b], &when->closed);
        if (t == static_cast<int>(treatment::edges)) edges.capture_close(stream);
        if (t == static_cast<int>(treatment::worker)) side.close(id, stream);
        device.train(how.training, when);
      }
    }));
  }
  // The job reaches the graph's slots in the dispatcher's time.
  std::this_thread::sleep_for(std::chrono::milliseconds{50});

  std::vector<moments> const none(group, moments::none());
  std::vector<std::vector<moments>> replayed;  // of the worker's treatment
  int const rounds = (how.bubbles + how.group - 1) / how.group;
  for (int round = -1; round < rounds; ++round) {  // one to warm up
    for (int t = 0; t < treatments; ++t) {
      LULL_CUDA(cudaMemcpyAsync(device.stamped, none.data(), group * sizeof(moments), cudaMemcpyHostToDevice, stream));
      LULL_CUDA(cudaGraphLaunch(graphs[static_cast<std::size_t>(t)].executable(), stream));
      LULL_CUDA(cudaStreamSynchronize(stream));
      std::vector<moments> found(group);
      LULL_CUDA(cudaMemcpy(found.data(), device.stamped, group * sizeof(moments), cudaMemcpyDeviceToHost));
      if (round >= 0) {
        for (std::size_t b = 0; b < group; ++b) add_moments(out[static_cast<std::size_t>(t)], how, found[b], gaps[b]);
      }
      if (t == static_cast<int>(treatment::worker)) replayed.push_back(std::move(found));
      records.take();
    }
  }
  records.take_for(std::chrono::milliseconds{100});
  samples& into = out[static_cast<std::size_t>(treatment::worker)];
  for (std::size_t round = 1; round < replayed.size(); ++round) {
    for (std::size_t b = 0; b < group; ++b) records.add_to(into, replayed[round][b], round * group + b + 1);
  }
  return out;
}

}  // namespace lull::bench
