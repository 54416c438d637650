// SPDX-License-Identifier: Apache-2.0
#pragma once

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
  links(rank_place const& me, rendezvous& meeting, bool wraps);
  ~links();
  links(links const&) = delete;
  links& operator=(links const&) = delete;

  /// Enqueue.
  void send(void const* what, std::uint64_t count, number_kind numbers, std::uint32_t to, cudaStream_t stream) const;
  void receive(void* into, std::uint64_t count, number_kind numbers, std::uint32_t from, cudaStream_t stream) const;
  /// Enqueues one message each way between stages that stand side by side: a stage sends and receives the same array's
  /// worth. Collective.
  void exchange(void const* what, void* into, std::uint64_t count, number_kind numbers, cudaStream_t stream) const;
  /// Throws device_error where NCCL has failed.
  void check() const;

 private:
  struct link {
    std::uint32_t from;
    std::uint32_t to;
    ncclComm_t by;  // of two: the sender is 0; null where this stage is neither
  };
  ncclComm_t between(std::uint32_t from, std::uint32_t to) const;

  std::uint32_t const mine_;
  std::vector<link> all_;
};

}  // namespace lull::bench
