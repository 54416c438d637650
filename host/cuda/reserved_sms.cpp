// SPDX-License-Identifier: Apache-2.0
#include <lull/host/cuda/reserved_sms.hpp>

#include <algorithm>
#include <iterator>
#include <string>
#include <vector>

#include <lull/host/cuda/device_guard.hpp>
#include <lull/host/cuda/kernels.hpp>

namespace lull {

namespace {

constexpr int max_bus_id = 32;     // cudaDeviceGetPCIBusId needs 13
constexpr unsigned group_sms = 8;  // the smallest set of SMs that holds a cluster of eight

[[noreturn]] void nothing_left(int reserved_groups, int max_processors) {
  throw usage_error{"no SM is left for workers with " + std::to_string(reserved_groups) +
                    " reserved groups kept off and a cap of " + std::to_string(max_processors) +
                    " SMs: keep fewer reserved groups, or raise the cap to 8 or more"};
}

void put(std::vector<std::uint32_t> const& sms, sm_filter& into) {
  for (std::uint32_t const sm : sms) {
    if (sm < 256) into.kept_off[sm / 32] |= 1U << (sm % 32);
  }
}

}  // namespace

worker_place::worker_place(int device, int reserved_groups, int max_processors, bool green_context) {
  LULL_CUDA(cudaDeviceGetAttribute(&processors_, cudaDevAttrMultiProcessorCount, device));
  if (reserved_groups < 0 || max_processors < 0) throw usage_error{"reserved groups and processors cannot be negative"};
  where_.processors = processors_;
  where_.device = device;
  cudaDeviceProp properties{};
  LULL_CUDA(cudaGetDeviceProperties(&properties, device));
  where_.gpu = properties.name;
  char bus[max_bus_id] = {};
  LULL_CUDA(cudaDeviceGetPCIBusId(bus, sizeof bus, device));
  where_.pci_bus_id = bus;
  int const lowest = priorities().lowest;
  auto groups = [&] {
    cuda_stream const everywhere{0};
    return detail::find_cluster_groups(everywhere.get(), processors_);
  }();
  int const left = processors_ - keep_off(groups, reserved_groups, max_processors);
  if (left <= 0) nothing_left(reserved_groups, max_processors);
  bool const all = reserved_groups == 0 && max_processors == 0;
  if (!all && green_context && try_green(device, reserved_groups, max_processors, lowest)) {
    groups = detail::find_cluster_groups(stream_.get(), where_.owned_processors);
  } else {
    stream_ = cuda_stream{lowest};
    plan_ = by_id_;
    by_sm_id_ = !all;
    where_.owned_processors = left;
    where_.how = all ? "all SMs" : "reserved groups by SM id";
  }
  owned_at_start_ = where_.owned_processors;
  find_spare(groups);
}

worker_place::~worker_place() {
  destroy_on(where_.device, [this] {
    stream_ = {};
    if (green_ != nullptr) driver().destroy_green(green_);
  });
}

bool worker_place::try_green(int device, int reserved_groups, int max_processors, int priority) {
  cuda_driver const& call = driver();
  if (!call.has_green_contexts()) return false;
  CUdevice handle{};
  CUdevResource all{};
  if (call.device_get(&handle, device) != CUDA_SUCCESS ||
      call.device_resource(handle, &all, CU_DEV_RESOURCE_TYPE_SM) != CUDA_SUCCESS) {
    return false;
  }
  unsigned count = 0;
  if (call.split_sms(nullptr, &count, &all, nullptr, 0, group_sms) != CUDA_SUCCESS || count == 0) return false;
  std::vector<CUdevResource> groups(count);
  CUdevResource rest{};
  if (call.split_sms(groups.data(), &count, &all, &rest, 0, group_sms) != CUDA_SUCCESS) return false;
  // Leave out whole groups and take the remainder: a reserved group must be able to hold a cluster, and the remainder
  // cannot.
  std::vector<CUdevResource> owned;
  unsigned sms = 0;
  auto const take = [&](CUdevResource const& some) {
    if (max_processors != 0 && sms + some.sm.smCount > static_cast<unsigned>(max_processors)) return;
    owned.push_back(some);
    sms += some.sm.smCount;
  };
  for (unsigned g = static_cast<unsigned>(reserved_groups); g < count; ++g) take(groups[g]);
  if (rest.type == CU_DEV_RESOURCE_TYPE_SM && rest.sm.smCount != 0) take(rest);
  if (owned.empty()) nothing_left(reserved_groups, max_processors);
  CUdevResourceDesc description{};
  CUstream stream{};
  if (call.describe_resources(&description, owned.data(), static_cast<unsigned>(owned.size())) != CUDA_SUCCESS ||
      call.create_green(&green_, description, handle, CU_GREEN_CTX_DEFAULT_STREAM) != CUDA_SUCCESS) {
    green_ = nullptr;
    return false;
  }
  CUdevResource got{};
  if (call.create_green_stream(&stream, green_, CU_STREAM_NON_BLOCKING, priority) != CUDA_SUCCESS ||
      call.context_of_green(&context_, green_) != CUDA_SUCCESS ||
      call.green_resource(green_, &got, CU_DEV_RESOURCE_TYPE_SM) != CUDA_SUCCESS) {
    call.destroy_green(green_);
    green_ = nullptr;
    return false;
  }
  stream_ = cuda_stream{static_cast<cudaStream_t>(stream)};
  where_.owned_processors = static_cast<int>(got.sm.smCount);
  where_.how = "green context";
  return true;
}

cuda_stream worker_place::another_stream() const {
  int const lowest = priorities().lowest;
  if (green_ == nullptr) return cuda_stream{lowest};
  CUstream made{};
  LULL_DRIVER(driver().create_green_stream(&made, green_, CU_STREAM_NON_BLOCKING, lowest));
  return cuda_stream{static_cast<cudaStream_t>(made)};
}

/// Chooses the SM ids of the reserved groups, and returns their number.
int worker_place::keep_off(std::vector<std::vector<std::uint32_t>> const& groups, int reserved_groups,
                           int max_processors) {
  int kept_off = 0;
  int left = reserved_groups;
  for (auto const& sms : groups) {
    bool const over_cap = max_processors != 0 && processors_ - kept_off > max_processors;
    if (sms.size() < group_sms || (left <= 0 && !over_cap)) continue;
    put(sms, by_id_);
    kept_off += static_cast<int>(sms.size());
    --left;
  }
  return kept_off;
}

/// Finds, among the groups that workers on streams have, those that workers in graphs have, too.
void worker_place::find_spare(std::vector<std::vector<std::uint32_t>> const& groups) {
  for (auto const& sms : groups) {
    sm_filter group{};
    put(sms, group);
    bool const in_graphs = std::equal(std::begin(group.kept_off), std::end(group.kept_off), by_id_.kept_off,
                                      [](std::uint32_t wanted, std::uint32_t off) { return (wanted & off) == 0; });
    if (sms.size() == group_sms && in_graphs) spare_.push_back(group);
  }
}

std::optional<sm_filter> worker_place::give_up_group() {
  std::lock_guard const lock{mutex_};
  if (spare_.empty() || where_.owned_processors < 2 * static_cast<int>(group_sms)) return std::nullopt;
  sm_filter const group = spare_.back();
  spare_.pop_back();
  where_.owned_processors -= static_cast<int>(group_sms);
  where_.reserved_later += static_cast<int>(group_sms);
  return group;
}

}  // namespace lull
