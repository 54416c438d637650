// SPDX-License-Identifier: Apache-2.0
// Two stages of a pipeline over NCCL, one process a GPU. The second waits for the first, which is late; side work runs
// in the wait, while NCCL's receive is resident and a send of the trainer's arrives in the middle.
//   scripts/ranks.py 2 build/bin/examples/example_6_nccl_pipeline        or by torchrun --no-python, or mpirun
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <stdexcept>
#include <string>
#include <thread>

#include <nccl.h>

#include <lull/device/cuda_world.cuh>
#include <lull/docs/examples/rendezvous.hpp>
#include <lull/host/array.hpp>
#include <lull/host/report/bubble_summary.hpp>
#include <lull/host/reserved_sms.hpp>
#include <lull/host/runtime.hpp>
#include <lull/tasks/synthetic.hpp>

namespace {
using namespace std::chrono_literals;
constexpr int steps = 300;
constexpr std::size_t words = 8 << 20;  // of an activation, and of a gradient: 32 MiB
constexpr std::uint64_t late_ns = 2'000'000;

#define CHECK(call) check((call), #call)
void check(cudaError_t code, char const* call) {
  if (code != cudaSuccess) throw std::runtime_error{std::string{call} + ": " + cudaGetErrorString(code)};
}
void check(ncclResult_t code, char const* call) {
  if (code != ncclSuccess) throw std::runtime_error{std::string{call} + ": " + ncclGetErrorString(code)};
}
__global__ void compute_for(std::uint64_t ns) {
  for (std::uint64_t const end = lull::cuda_world::now_ns() + ns; lull::cuda_world::now_ns() < end;) __nanosleep(200);
}
__device__ std::uint32_t expected(unsigned i, int step) { return (i * 2654435761U) ^ static_cast<std::uint32_t>(step); }
__global__ void fill(std::uint32_t* values, int step) {
  for (unsigned i = blockIdx.x * blockDim.x + threadIdx.x; i < words; i += gridDim.x * blockDim.x)
    values[i] = expected(i, step);
}
__global__ void compare(std::uint32_t const* values, int step, unsigned long long* wrong) {
  for (unsigned i = blockIdx.x * blockDim.x + threadIdx.x; i < words; i += gridDim.x * blockDim.x)
    if (values[i] != expected(i, step)) atomicAdd(wrong, 1ULL);
}
struct pipeline {
  int peer;
  ncclComm_t forward, backward;  // two communicators: their kernels may be on the device at once
  cudaStream_t train, other;
  cudaEvent_t opened;
  std::uint32_t *activation, *gradient;
  unsigned long long* wrong;

  ncclResult_t send(void const* what, ncclComm_t by, cudaStream_t on) const {
    return ncclSend(what, words, ncclUint32, peer, by, on);
  }
  ncclResult_t receive(void* into, ncclComm_t by, cudaStream_t on) const {
    return ncclRecv(into, words, ncclUint32, peer, by, on);
  }
};

void first_stage(pipeline const& on) {
  for (int step = 0; step < steps; ++step) {
    compute_for<<<1, 1, 0, on.train>>>(late_ns);  // a sender that is late
    fill<<<256, 256, 0, on.train>>>(on.activation, step);
    CHECK(on.send(on.activation, on.forward, on.train));
    // In the peer's order: where streams share a hardware queue, no operation may wait for one that is queued after it.
    CHECK(cudaMemsetAsync(on.gradient, 0, words * sizeof(std::uint32_t), on.other));
    CHECK(on.receive(on.gradient, on.backward, on.other));
    compare<<<256, 256, 0, on.other>>>(on.gradient, -1, on.wrong);
  }
}
void second_stage(pipeline const& on, lull::runtime& side) {
  fill<<<256, 256, 0, on.other>>>(on.gradient, -1);
  for (int step = 0; step < steps; ++step) {
    {
      lull::bubble const idle{side, on.train, lull::site{"recv_forward"}};
      CHECK(cudaEventRecord(on.opened, on.train));
      CHECK(on.receive(on.activation, on.forward, on.train));
    }
    CHECK(cudaStreamWaitEvent(on.other, on.opened, 0));
    compute_for<<<1, 1, 0, on.other>>>(late_ns / 4);  // so that the send comes in the middle of the bubble
    CHECK(on.send(on.gradient, on.backward, on.other));
    compare<<<256, 256, 0, on.train>>>(on.activation, step, on.wrong);
    if (step % 50 == 49) CHECK(cudaStreamSynchronize(on.train));  // few unread bubbles, so none is passed over
  }
}

bool run(rank_place const& me) {
  CHECK(cudaSetDevice(me.local));
  rendezvous meeting{me};
  pipeline on{};
  on.peer = 1 - me.rank;
  for (ncclComm_t* const comm : {&on.forward, &on.backward}) {
    ncclUniqueId id{};
    if (me.rank == 0) CHECK(ncclGetUniqueId(&id));
    CHECK(ncclCommInitRank(comm, me.world, meeting.from_first(id), me.rank));
  }
  for (cudaStream_t* const each : {&on.train, &on.other}) CHECK(cudaStreamCreateWithFlags(each, cudaStreamNonBlocking));
  CHECK(cudaEventCreateWithFlags(&on.opened, cudaEventDisableTiming));
  for (std::uint32_t** const array : {&on.activation, &on.gradient})
    CHECK(cudaMalloc(array, words * sizeof(std::uint32_t)));
  CHECK(cudaMallocManaged(&on.wrong, sizeof *on.wrong));
  *on.wrong = 0;

  // [reserved groups]
  auto const exchange = [&](lull::stream_handle handle) {
    auto* const stream = static_cast<cudaStream_t>(handle);
    CHECK(me.rank == 0 ? on.send(on.activation, on.forward, stream) : on.receive(on.activation, on.forward, stream));
    CHECK(me.rank == 0 ? on.receive(on.gradient, on.backward, stream) : on.send(on.gradient, on.backward, stream));
  };
  exchange(on.train);  // makes the connections
  CHECK(cudaStreamSynchronize(on.train));
  lull::exchange_need const need =
      lull::measure_reserved_groups(me.local, exchange, 2);  // a receive and a send at once
  lull::runtime side{
      {.executor = {.kind = lull::executor_kind::cuda, .device = me.local, .reserved_groups = need.reserved_groups},
       .tasks = {lull::type_of<lull::compute_task>()},
       .log = [](std::string_view line) {
         std::fprintf(stderr, "%.*s\n", static_cast<int>(line.size()), line.data());
       }}};
  // [/reserved groups]

  lull::device_array<float> const sink{side.memory(), 1};
  lull::job job = side.submit(lull::compute_task{sink.data(), std::uint64_t{1} << 38, 1, 32}, "arithmetic");
  for (int i = 0; me.rank == 1 && !side.ready(on.train) && i < 10'000; ++i) std::this_thread::sleep_for(1ms);
  meeting.barrier();
  me.rank == 0 ? first_stage(on) : second_stage(on, side);
  CHECK(cudaDeviceSynchronize());

  lull::runtime_counts const counts = side.counts();
  lull::bubble_summary seen = side.summary();
  for (int looks = 0; seen.seen() < counts[lull::counted::opened] && looks < 5'000; ++looks, seen = side.summary())
    std::this_thread::sleep_for(1ms);
  std::uint64_t lease_exits = 0;
  for (lull::bubble_report const& one : side.take_bubbles()) lease_exits += one.record().lease_blocks;
  std::printf("rank %d: %s\nrank %d: %d steps, %llu words wrong\n", me.rank, need.text.c_str(), me.rank, steps,
              *on.wrong);
  for (lull::site_summary const& at : seen.gates()) {
    std::printf(
        "rank %d: %ju bubbles of %.3f ms (p50), harvested for %.1f %% of that outside the reserved groups; %ju lease "
        "exits\n",
        me.rank, at.bubbles, static_cast<double>(at.p50.count()) / 1e6, 100 * at.side.of_idle.value_or(0), lease_exits);
  }
  job.cancel();
  bool const good =
      job.wait(60s) && *on.wrong == 0 && lease_exits == 0 && (me.rank == 0 || counts[lull::counted::opened] == steps);
  for (ncclComm_t const comm : {on.forward, on.backward}) CHECK(ncclCommDestroy(comm));
  return good;
}
}  // namespace

int main() {
  end_process_after(100s);
  setenv("CUDA_MODULE_LOADING", "EAGER", 0);  // a kernel's first use would wait for what is resident, on both ranks
  end_process_on_error();
  rank_place const me = rank_from_environment();
  int gpus = 0;
  if (cudaGetDeviceCount(&gpus) != cudaSuccess || gpus < me.local_world || me.world != 2) {
    std::fprintf(stderr, "NOT RUN: this takes two ranks with a GPU each, and there are %d and %d\n", me.world, gpus);
    return 77;
  }
  return run(me) ? 0 : 1;
}
