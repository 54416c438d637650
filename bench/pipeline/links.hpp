// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include <nccl.h>

#include <lull/bench/pipeline/kernels.hpp>
#include <lull/docs/examples/rendezvous.hpp>
#include <lull/host/error.hpp>

#define LULL_NCCL(call) ::lull::bench::check_nccl((call), #call)

namespace lull::bench {

inline void check_nccl(ncclResult_t code, char const* call) {
  if (code != ncclSuccess) throw device_error{static_cast<int>(code), ncclGetErrorString(code), call, "NCCL"};
}

/// NCCL between stages that stand side by side in the model, a communicator a direction: a receive and a send of one
/// stage may be on the device at once.
class links {
 public:
  /// `wraps`: the last stage has a virtual stage before one of the first. Collective.
  links(rank_place const& me, rendezvous& meeting, bool wraps) : mine_(static_cast<std::uint32_t>(me.rank)) {
    auto const stages = static_cast<std::uint32_t>(me.world);
    for (std::uint32_t stage = 0; stage + 1 < stages; ++stage) {
      all_.push_back({stage, stage + 1, nullptr});
      all_.push_back({stage + 1, stage, nullptr});
    }
    if (wraps && stages > 2) {
      all_.push_back({stages - 1, 0, nullptr});
      all_.push_back({0, stages - 1, nullptr});
    }
    for (link& each : all_) {  // in one order on all stages, or they wait for each other for ever
      ncclUniqueId id{};
      if (me.rank == 0) LULL_NCCL(ncclGetUniqueId(&id));
      id = meeting.from_first(id);
      if (each.from != mine_ && each.to != mine_) continue;
      LULL_NCCL(ncclCommInitRank(&each.by, 2, id, each.from == mine_ ? sender : receiver));
    }
  }
  ~links() {
    for (link const& each : all_) {
      if (each.by != nullptr) ncclCommDestroy(each.by);
    }
  }
  links(links const&) = delete;
  links& operator=(links const&) = delete;

  /// Enqueue.
  void send(void const* what, std::uint64_t count, number_kind numbers, std::uint32_t to, cudaStream_t stream) const {
    LULL_NCCL(ncclSend(what, count, type_of(numbers), receiver, between(mine_, to), stream));
  }
  void receive(void* into, std::uint64_t count, number_kind numbers, std::uint32_t from, cudaStream_t stream) const {
    LULL_NCCL(ncclRecv(into, count, type_of(numbers), sender, between(from, mine_), stream));
  }
  /// Enqueues one message each way between stages that stand side by side: a stage sends and receives the same array's
  /// worth. Collective.
  void exchange(void const* what, void* into, std::uint64_t count, number_kind numbers, cudaStream_t stream) const {
    for (link const& each : all_) {
      if (each.from == mine_) send(what, count, numbers, each.to, stream);
      if (each.to == mine_) receive(into, count, numbers, each.from, stream);
    }
  }
  /// Throws device_error where NCCL has failed.
  void check() const {
    for (link const& each : all_) {
      if (each.by == nullptr) continue;
      ncclResult_t state = ncclSuccess;
      LULL_NCCL(ncclCommGetAsyncError(each.by, &state));
      if (state != ncclInProgress) LULL_NCCL(state);
    }
  }

 private:
  static constexpr int sender = 0;
  static constexpr int receiver = 1;

  static ncclDataType_t type_of(number_kind numbers) {
    return numbers == number_kind::bf16 ? ncclBfloat16 : ncclFloat32;
  }

  struct link {
    std::uint32_t from;
    std::uint32_t to;
    ncclComm_t by;  // of two: the sender is 0; null where this stage is neither
  };
  ncclComm_t between(std::uint32_t from, std::uint32_t to) const {
    auto const found = std::ranges::find_if(all_, [&](link const& one) { return one.from == from && one.to == to; });
    if (found == all_.end()) throw usage_error{"stages that do not stand side by side have no link"};
    return found->by;
  }

  std::uint32_t const mine_;
  std::vector<link> all_;
};

}  // namespace lull::bench
