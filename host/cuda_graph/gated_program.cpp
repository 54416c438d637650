// SPDX-License-Identifier: Apache-2.0
#include <lull/host/cuda_graph/gated_program.hpp>

#include <algorithm>
#include <cstring>
#include <memory>
#include <numeric>
#include <string>

#include <lull/host/cuda/driver.hpp>
#include <lull/host/cuda_graph/graph_order.hpp>
#include <lull/host/error.hpp>

namespace lull {

namespace {

using namespace std::chrono_literals;
using std::chrono::nanoseconds;
using executable = detail::owned_executable;

constexpr std::uint32_t max_segments = 16'384;  // of a step
constexpr std::uint64_t max_first_steps = 3;

graph_task checked(graph_task work) {
  if (work.graph == nullptr) throw usage_error{"there is no graph: set graph_task::graph"};
  if (work.steps == 0) throw usage_error{"steps is 0: set it to 1 or more"};
  if (work.segment <= 0ns || work.node_limit < work.segment)
    throw usage_error{"segment must be above 0, and node_limit no less than that"};
  if (!driver().can_cut_graphs())
    throw usage_error{"this CUDA driver cannot launch a graph's segments from the device: install driver 580 or later"};
  return work;
}

/// Makes segments and instances of them; if that fails, its error names the node at fault.
class segment_maker {
 public:
  segment_maker(cuda_executor& executor, segment_nodes const& nodes, void* kept)
      : executor_(executor), nodes_(nodes), kept_(kept), relay_(executor.relay()) {}

  executable segment(std::uint32_t begin, std::uint32_t end) const {
    try {
      return try_segment(begin, end);
    } catch (device_error const& why) {
      refuse(begin, end, why);
    }
  }
  /// Runs all nodes one after another; returns how long each took.
  std::vector<nanoseconds> run_step(cudaStream_t stream) const {
    device_array<std::uint64_t> stamps_ns{executor_, nodes_.count() + 2};
    executable run;
    try {
      run = detail::executable_of(nodes_.stamped(stamps_ns.data()).get(), 0);
    } catch (device_error const& why) {
      refuse(0, nodes_.count(), why);
    }
    LULL_CUDA(cudaGraphLaunch(run.get(), stream));
    LULL_CUDA(cudaStreamSynchronize(stream));
    return without_stamps(stamps_ns.read());
  }

 private:
  executable try_segment(std::uint32_t begin, std::uint32_t end) const {
    void* arguments[] = {const_cast<void**>(&kept_), const_cast<void**>(&relay_)};
    return detail::executable_of(nodes_.segment(begin, end, arguments).get(), cudaGraphInstantiateFlagDeviceLaunch);
  }

  [[noreturn]] void refuse(std::uint32_t begin, std::uint32_t end, device_error const& why) const {
    if (why.code() == cudaErrorMemoryAllocation) {
      throw limit_error{"out of device memory for the segments of a graph of " + std::to_string(nodes_.count()) +
                        " nodes: raise `segment`, or submit it where more is free"};
    }
    if (executor_.is_lost()) throw why;  // no node of this graph is at fault
    for (std::uint32_t at = begin; at < end; ++at) {
      try {
        try_segment(at, at + 1);
      } catch (device_error const& its) {
        throw usage_error{nodes_.title(at) +
                          ", cannot be launched from the device on the SMs of workers: " + its.what()};
      }
    }
    throw usage_error{"the graph cannot be launched from the device: " + std::string{why.what()}};
  }

  cuda_executor& executor_;
  segment_nodes const& nodes_;
  void* const kept_;
  void* const relay_;
};

std::uint32_t slowest_of(std::vector<nanoseconds> const& times) {
  return static_cast<std::uint32_t>(std::max_element(times.begin(), times.end()) - times.begin());
}

nanoseconds sum_of(std::span<nanoseconds const> times) {
  return std::accumulate(times.begin(), times.end(), nanoseconds{0});
}

}  // namespace

gated_program::conducted::conducted(cuda_executor& executor)
    : device(executor.place().device), kept(executor, detail::kept_bytes()) {}

gated_program::conducted::~conducted() {
  destroy_on(device, [this] {
    executables.clear();
    whole.reset();
  });
}

gated_program::gated_program(cuda_executor& executor, graph_task const& work)
    : executor_(executor), work_(checked(work)), conducted_(std::make_shared<conducted>(executor)) {
  executor.free_leftovers();
  cudaGraph_t whole{};
  LULL_CUDA(cudaGraphClone(&whole, work_.graph));
  conducted_->whole.reset(whole);
  worker_place const& where = executor.place_of_graphs();
  cuda_stream const own = where.another_stream();
  cudaStream_t const stream = own.get();
  segment_nodes const nodes{work_.graph, where.context(), stream};
  segment_maker const make{executor, nodes, conducted_->kept.data()};
  std::vector<nanoseconds> times = make.run_step(stream);
  // A node's first time may be wrong by chance: another process may have used the GPU meanwhile.
  std::uint64_t const may_run = work_.is_fed ? 1 : std::min(work_.steps, max_first_steps);
  for (; times[slowest_of(times)] > work_.node_limit && first_steps_ < may_run; ++first_steps_) {
    std::vector<nanoseconds> const again = make.run_step(stream);
    for (std::size_t at = 0; at < times.size(); ++at) times[at] = std::min(times[at], again[at]);
  }
  std::uint32_t const max_at = slowest_of(times);
  std::vector<std::uint32_t> const counts = cut_by_time(times, work_.segment);
  cut_ = {.nodes = nodes.count(),
          .segments = static_cast<std::uint32_t>(counts.size()),
          .step = sum_of(times),
          .max_node = times[max_at],
          .max_node_name = nodes.name(max_at),
          .program = {}};
  if (cut_.max_node > work_.node_limit) {
    throw slow_node_error{nodes.title(max_at) + ", takes " + std::to_string(cut_.max_node / 1us) +
                          " us, and a bubble that closes would wait for it: make its work smaller, raise "
                          "`node_limit`, or submit it while the trainer does not delay it"};
  }
  if (cut_.segments > max_segments) {
    throw usage_error{"the graph has " + std::to_string(cut_.segments) + " segments of " +
                      std::to_string(work_.segment / 1us) + " us; it may have " + std::to_string(max_segments) +
                      ": raise `segment`"};
  }
  auto const made = [&](std::uint32_t begin, std::uint32_t count) -> graph_piece {
    executable const& added = conducted_->executables.emplace_back(make.segment(begin, begin + count));
    LULL_CUDA(cudaGraphUpload(added.get(), stream));
    nanoseconds const takes = sum_of(std::span{times}.subspan(begin, count));
    return {.executable = added.get(),
            .nodes = count,
            .took_ns = static_cast<std::uint32_t>(std::min<std::int64_t>(takes.count(), 0xffff'ffff))};
  };
  std::vector<nanoseconds> lengths;  // of the segments of a step
  std::vector<std::uint32_t> begins;
  std::uint32_t begin = 0;
  for (std::uint32_t const count : counts) {
    auto const first = times.begin() + begin;
    lengths.push_back(sum_of({first, first + count}));
    slowest_.push_back(nodes.name(static_cast<std::uint32_t>(std::max_element(first, first + count) - times.begin())));
    begins.push_back(begin);
    begin += count;
  }
  std::vector<graph_segment> segments;
  do {  // once a step, repeated while there are too few segments
    for (std::size_t at = 0; at < counts.size(); ++at)
      segments.push_back({.one = made(begins[at], counts[at]), .stretch = {}});
  } while (segments.size() < gated_graph::min_segments);
  if (work_.hint == length_hint::learnt && segments.size() == counts.size()) {
    std::uint32_t at = 0;
    for (std::uint32_t const stretched : stretches_of(lengths, work_.segment)) {
      auto const first = counts.begin() + at;
      if (stretched > 1) {
        segments[at].stretch = made(begins[at], std::accumulate(first, first + stretched, 0U));
        segments[at].stretched = stretched;
      }
      at += stretched;
    }
  }
  LULL_CUDA(cudaStreamSynchronize(stream));
  conducted_->segments = {executor, std::span<graph_segment const>{segments}};
}

std::vector<closed_piece> gated_program::closed_pieces() const {
  std::vector<closed_piece> found;
  std::vector<graph_segment> const now = conducted_->segments.read();
  for (std::size_t at = 0; at < now.size(); ++at) {
    // A stretch is named by its first segment: which of its kernels ran is unknown.
    for (graph_piece const& piece : {now[at].one, now[at].stretch}) {
      if (piece.closed != 0)
        found.push_back({piece.closed, nanoseconds{piece.took_ns}, slowest_[at % slowest_.size()]});
    }
  }
  auto const cost = [](closed_piece const& of) { return static_cast<std::int64_t>(of.bubbles) * of.took.count(); };
  std::sort(found.begin(), found.end(), [&](auto const& one, auto const& other) { return cost(one) > cost(other); });
  return found;
}

gated_program::~gated_program() { executor_.bury(conducted_); }

gated_graph gated_program::functor() const noexcept {
  bool const is_hinted = work_.hint == length_hint::learnt;
  return {.kept = conducted_->kept.data(),
          .segments = conducted_->segments.data(),
          .steps = work_.steps,
          .max_spread_ns = is_hinted ? 6 * static_cast<std::uint64_t>(work_.segment.count()) : 0,
          .count = static_cast<std::uint32_t>(conducted_->segments.size()),
          .nodes = cut_.nodes,
          .is_fed = work_.is_fed ? 1U : 0U};
}

job_description describe(executor& executor, graph_task const& work, cut_graph* cut) {
  auto* const cuda = dynamic_cast<cuda_executor*>(&executor);
  if (cuda == nullptr) throw usage_error{"a CUDA graph needs the cuda executor: it cannot run on CPU threads"};
  device_guard const here{executor};
  job_memory::scope const not_the_jobs{{}};  // for its segments
  auto program = std::make_shared<gated_program const>(*cuda, work);
  job_description made;
  made.type.cuda = detail::conducting_worker();
  gated_graph const functor = program->functor();
  std::memcpy(made.functor.bytes, &functor, sizeof functor);
  made.name = work.name;
  made.priority = work.priority;
  made.memory = work.memory;
  made.may_go_back = work.may_go_back && !work.is_fed;
  made.first_round = program->first_steps();
  if (cut != nullptr) {
    *cut = program->cut();
    cut->program = program;
  }
  made.keeps = std::move(program);
  return made;
}

std::vector<closed_piece> closed_pieces(cut_graph const& cut) {
  auto const program = cut.program.lock();
  return program != nullptr ? program->closed_pieces() : std::vector<closed_piece>{};
}

stream_handle graph_stream(runtime& side) {
  auto* const cuda = dynamic_cast<cuda_executor*>(&executor_of(side));
  if (cuda == nullptr) throw usage_error{"CUDA graphs need the cuda executor: they cannot run on CPU threads"};
  return cuda->capture_stream();
}

job submit(runtime& side, graph_task const& work) {
  if (side.mode() != runtime_mode::on)
    throw usage_error{
        "the runtime is off or observes only, and a graph's first step runs when it is submitted: submit "
        "it where the mode is on"};
  return side.submit(describe(executor_of(side), work));
}

}  // namespace lull
