// SPDX-License-Identifier: Apache-2.0
// The library for bench/lab/compare/runner.py. Each call returns 0, or 1 where it failed: lull_side_error says why.
#include <algorithm>
#include <cstddef>
#include <memory>
#include <string>

#include <lull/bench/side_runner/side_runner.hpp>
#include <lull/host/measure/cuda/green_context.hpp>

namespace {

using namespace lull::bench;

struct green_stream {
  explicit green_stream(unsigned sms) : context(sms) {}

  lull::green_context context;
  lull::cuda_stream stream = context.make_stream();
};

std::string& last_error() {
  thread_local std::string text;
  return text;
}

template <class Work>
int guarded(Work const& work) noexcept try {
  work();
  return 0;
} catch (std::exception const& why) {
  last_error() = why.what();
  return 1;
} catch (...) {
  last_error() = "unknown error";
  return 1;
}

cudaStream_t stream_of(void* stream) { return static_cast<cudaStream_t>(stream); }

}  // namespace

extern "C" {

/// Of this thread's last call that failed; valid until its next one fails.
char const* lull_side_error() { return last_error().c_str(); }

/// `graph`: a cudaGraph_t, which must live as long as the pieces. `segment_ns`: see graph_pieces.
int lull_side_cut(void* graph, std::uint64_t segment_ns, graph_pieces** made) {
  return guarded([&] {
    *made = new graph_pieces{static_cast<cudaGraph_t>(graph), std::chrono::nanoseconds{segment_ns}};
  });
}
std::uint32_t lull_side_piece_count(graph_pieces const* pieces) { return pieces->count(); }
/// `into`: (count,) of ns.
void lull_side_piece_times(graph_pieces const* pieces, std::uint64_t* into) {
  std::transform(pieces->times().begin(), pieces->times().end(), into,
                 [](auto time) { return static_cast<std::uint64_t>(time.count()); });
}
void lull_side_destroy_pieces(graph_pieces* pieces) { delete pieces; }

/// `stream`: a cudaStream_t, or null for one of the runner's own.
int lull_side_start(graph_pieces const* pieces, int is_planned, std::uint32_t max_queued, void* stream,
                    side_runner** made) {
  return guarded([&] {
    *made = new side_runner{*pieces,
                            {.how = is_planned != 0 ? launching::planned : launching::while_open,
                             .max_queued = max_queued,
                             .stream = stream_of(stream)}};
  });
}
int lull_side_open(side_runner* runner, void* trainer, std::uint32_t site) {
  return guarded([&] { runner->open(stream_of(trainer), site); });
}
int lull_side_close(side_runner* runner, void* trainer) {
  return guarded([&] { runner->close(stream_of(trainer)); });
}
int lull_side_resume(side_runner* runner) {
  return guarded([&] { runner->resume(); });
}
int lull_side_suspend(side_runner* runner) {
  return guarded([&] { runner->suspend(); });
}
int lull_side_stop(side_runner* runner) {
  return guarded([&] { runner->stop(); });
}
std::uint64_t lull_side_steps(side_runner const* runner) { return runner->steps(); }
/// After lull_side_stop. `into`: (capacity,) of ns; returns how many there are.
std::size_t lull_side_drains(side_runner const* runner, std::uint64_t* into, std::size_t capacity) {
  auto const found = runner->drains();
  for (std::size_t at = 0; at < std::min(capacity, found.size()); ++at)
    into[at] = static_cast<std::uint64_t>(found[at].count());
  return found.size();
}
void lull_side_destroy(side_runner* runner) { delete runner; }

int lull_side_green_stream(std::uint32_t sms, green_stream** made) {
  return guarded([&] { *made = new green_stream{sms}; });
}
void* lull_side_stream_of_green(green_stream const* green) { return green->stream.get(); }
std::uint32_t lull_side_sms_of_green(green_stream const* green) { return green->context.sms(); }
void lull_side_destroy_green(green_stream* green) { delete green; }
}
