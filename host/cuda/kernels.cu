// SPDX-License-Identifier: Apache-2.0
#include <lull/host/cuda/kernels.hpp>

#include <map>
#include <numeric>

#include <lull/device/cuda_world.cuh>
#include <lull/host/cuda/check.hpp>

namespace lull::detail {

namespace {

/// A block has begun to leave this long before it is gone. The launch gap after a captured closing edge hides most of
/// that. Without this constant, one bubble in a hundred cost the trainer a wave of blocks, 9 µs.
constexpr std::uint64_t last_of_leaving_ns = 200;

__global__ void open_edge_kernel(gate_ref gate, std::uint32_t value, std::uint64_t bubble) {
  if (gate.line != nullptr) open_gate<cuda_world>(gate, value, bubble);
}

__global__ void await_leaving_kernel(awaited_words* words, std::uint64_t max_ns) {
  if (words != nullptr) await_leaving<cuda_world>(*words, max_ns);
}

__global__ void open_captured_edge_kernel(gate_ref gate, std::uint32_t value) {
  ptx::launch_dependents();  // workers, which wait for the end of this kernel before they look at the gate
  if (gate.line != nullptr) open_captured_gate<cuda_world>(gate, value);
}

__global__ void close_captured_edge_kernel(gate_ref gate, std::uint32_t value, std::uint32_t site,
                                           std::uint64_t max_ns) {
  if (gate.line == nullptr || !close_captured_gate<cuda_world>(gate, value, site, max_ns)) return;
  std::uint64_t const since_ns = cuda_world::now_ns();
  while (cuda_world::now_ns() - since_ns < last_of_leaving_ns) {
  }
}

__global__ void keep_off_kernel(sm_filter sms) {
  std::uint32_t const sm = threadIdx.x;
  if ((sms.kept_off[sm / 32] >> (sm % 32) & 1U) == 0) return;
  cuda_world::fetch_add<order::relaxed, scope::device>(sms.inside[sm], kept_off);
}

__global__ void exchange_kernel(slot_line* slot, __grid_constant__ slot_content const content, std::uint64_t limit_ns,
                                std::uint64_t* done, std::uint64_t id) {
  if (slot == nullptr) return;
  bool const moved = lull::exchange<cuda_world>(*slot, content, limit_ns);
  cuda_world::store<order::release, scope::system>(*done, 2 * id + (moved ? 1 : 0));
}

/// Runs until all clusters of the launch are placed at the same time.
__global__ void __cluster_dims__(8) where_kernel(std::uint32_t* sm_of_block) {
  if (threadIdx.x == 0) asm volatile("mov.u32 %0, %smid;" : "=r"(sm_of_block[blockIdx.x]));
  std::uint64_t const until = cuda_world::now_ns() + 20'000;
  while (cuda_world::now_ns() < until) cuda_world::pause();
}

/// Reads its own return code: the thread's last error may be the trainer's.
void launch_one_thread(void const* kernel, cudaStream_t stream, void** arguments) {
  LULL_CUDA(cudaLaunchKernel(kernel, dim3(1), dim3(1), arguments, 0, stream));
}

}  // namespace

void launch_open_edge(cudaStream_t stream, gate_ref gate, std::uint32_t value, std::uint64_t bubble) {
  void* arguments[] = {&gate, &value, &bubble};
  launch_one_thread(reinterpret_cast<void const*>(&open_edge_kernel), stream, arguments);
}

void launch_await_leaving(cudaStream_t stream, awaited_words* words, std::uint64_t max_ns) {
  void* arguments[] = {&words, &max_ns};
  launch_one_thread(reinterpret_cast<void const*>(&await_leaving_kernel), stream, arguments);
}

void launch_keep_off(cudaStream_t stream, sm_filter const& sms) {
  void* arguments[] = {const_cast<sm_filter*>(&sms)};
  constexpr unsigned sm_ids = 8 * sizeof sms.kept_off;
  LULL_CUDA(
      cudaLaunchKernel(reinterpret_cast<void const*>(&keep_off_kernel), dim3(1), dim3(sm_ids), arguments, 0, stream));
}

void launch_exchange(cudaStream_t stream, slot_line* slot, slot_content const& content, std::uint64_t limit_ns,
                     std::uint64_t* done, std::uint64_t id) {
  void* arguments[] = {&slot, const_cast<slot_content*>(&content), &limit_ns, &done, &id};
  launch_one_thread(reinterpret_cast<void const*>(&exchange_kernel), stream, arguments);
}

void const* open_captured_edge() noexcept { return reinterpret_cast<void const*>(&open_captured_edge_kernel); }
void const* close_captured_edge() noexcept { return reinterpret_cast<void const*>(&close_captured_edge_kernel); }

void load_kernels(cudaStream_t stream) {
  for (void const* kernel :
       {reinterpret_cast<void const*>(&open_edge_kernel), reinterpret_cast<void const*>(&exchange_kernel),
        reinterpret_cast<void const*>(&await_leaving_kernel), reinterpret_cast<void const*>(&keep_off_kernel),
        open_captured_edge(), close_captured_edge()}) {
    LULL_CUDA(cudaFuncSetAttribute(kernel, cudaFuncAttributePreferredSharedMemoryCarveout, 50));
  }
  launch_open_edge(stream, {}, 0, 0);
  launch_await_leaving(stream, nullptr, 0);
  launch_keep_off(stream, {});
  launch_exchange(stream, nullptr, {}, 0, nullptr, 0);
  gate_ref nowhere;
  std::uint32_t value = 0;
  std::uint32_t site = 0;
  std::uint64_t max_ns = 0;
  void* arguments[] = {&nowhere, &value, &site, &max_ns};
  launch_one_thread(open_captured_edge(), stream, arguments);  // the kernel takes the first two
  launch_one_thread(close_captured_edge(), stream, arguments);
}

std::vector<std::vector<std::uint32_t>> find_cluster_groups(cudaStream_t stream, int processors) {
  constexpr int cluster = 8;
  constexpr int rounds = 40;  // placements vary; SMs that ever shared a cluster belong together
  int const blocks = processors / cluster * cluster;
  if (blocks == 0) return {};
  std::uint32_t* where = nullptr;
  LULL_CUDA(cudaMalloc(&where, static_cast<std::size_t>(blocks) * sizeof *where));
  std::vector<std::uint32_t> ids(static_cast<std::size_t>(blocks));
  std::vector<std::uint32_t> parent(1024);
  std::iota(parent.begin(), parent.end(), 0U);
  auto const root = [&](std::uint32_t id) {
    while (parent[id] != id) id = parent[id];
    return id;
  };
  std::vector<bool> seen(parent.size());
  for (int round = 0; round < rounds; ++round) {
    void* arguments[] = {&where};
    LULL_CUDA(cudaLaunchKernel(reinterpret_cast<void const*>(&where_kernel), dim3(static_cast<unsigned>(blocks)),
                               dim3(64), arguments, 0, stream));
    LULL_CUDA(cudaMemcpyAsync(ids.data(), where, ids.size() * sizeof ids[0], cudaMemcpyDeviceToHost, stream));
    LULL_CUDA(cudaStreamSynchronize(stream));
    for (std::size_t b = 0; b < ids.size(); ++b) {
      if (ids[b] >= parent.size()) continue;
      seen[ids[b]] = true;
      parent[root(ids[b])] = root(ids[b / cluster * cluster]);
    }
  }
  LULL_CUDA(cudaFree(where));
  std::map<std::uint32_t, std::vector<std::uint32_t>> groups;
  for (std::uint32_t id = 0; id < parent.size(); ++id) {
    if (seen[id]) groups[root(id)].push_back(id);
  }
  std::vector<std::vector<std::uint32_t>> found;
  for (auto& [first, members] : groups) found.push_back(std::move(members));
  return found;
}

}  // namespace lull::detail
