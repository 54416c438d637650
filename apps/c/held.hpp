// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <lull/apps/c/boundary.hpp>
#include <lull/apps/c/handle_table.hpp>
#include <lull/host/cuda_graph/graph_task.hpp>
#include <lull/host/detail/deadline.hpp>
#include <lull/host/job_memory.hpp>
#include <lull/host/runtime.hpp>
#include <lull/host/task/hosted_job.hpp>
#include <lull/host/threads/stream.hpp>

namespace lull::c {

/// What a lull_runtime* stands for.
struct held_runtime {
  std::unique_ptr<runtime> side;
  std::function<void(std::string_view)> log;  // the program's; may be empty
  std::atomic<std::uint64_t> pauses{0};  // that were not released yet; of no lock, since lull_resume_all must not wait
  std::mutex mutex;                      // held over a whole submission; the rest
  std::vector<std::uint64_t> jobs;       // handles; those of destroyed jobs may be among them
};

/// What a lull_job* stands for. Its machine outlives it, by the handle, also where the runtime has ended before.
struct held_job {
  std::uint64_t side = 0;  // the runtime's handle
  lull::executor* executor = nullptr;
  bool is_task = false;
  bool is_fed = false;           // a graph that is
  std::optional<cut_graph> cut;  // of a graph
  std::unique_ptr<hosted_job> hosted;
};

/// What a lull_memory* stands for.
using held_memory = std::shared_ptr<job_memory>;

using runtime_table = handle_table<held_runtime, 1, 64>;
using job_table = handle_table<held_job, 2, 4096>;
using stream_table = handle_table<threads_stream, 3, 256>;
using memory_table = handle_table<held_memory, 4, 4096>;

template <class Table, class Handle>
void require_not_parents(Handle const* handle) {
  if (!Table::is_parents(reinterpret_cast<std::uintptr_t>(handle))) return;
  throw refusal{LULL_ERROR_STATE,
                "this process was forked from the one that made the handle: make another after the fork"};
}

template <class Table, class Handle>
typename Table::pin alive(Handle const* handle) {
  require_not_parents<Table>(handle);
  auto found = Table::find(reinterpret_cast<std::uintptr_t>(handle));
  if (!found) throw refusal{LULL_ERROR_HANDLE, handle == nullptr ? "the handle is null" : "the handle is not alive"};
  return found;
}

/// How long a call that ends an object waits for the calls inside.
inline constexpr std::chrono::seconds max_leaving{10};

template <class Table, class Handle>
typename Table::exclusive ending(Handle const* handle,
                                 std::chrono::steady_clock::time_point deadline = deadline_after(max_leaving)) try {
  require_not_parents<Table>(handle);
  auto found = Table::end(reinterpret_cast<std::uintptr_t>(handle), deadline);
  if (!found) throw refusal{LULL_ERROR_HANDLE, handle == nullptr ? "the handle is null" : "the handle is not alive"};
  return found;
} catch (limit_error const& why) {
  throw refusal{LULL_ERROR_STATE, why.what()};
}

/// Waits in pieces, so that a thread that ends the object does not wait long; `over` is given at most so long and says
/// whether what is waited for has come. Throws a refusal when somebody wants to end the object.
template <class Pin, class Over>
lull_status wait_in_pieces(Pin const& object, std::uint64_t at_most_ns, Over over) {
  using std::chrono::nanoseconds;
  constexpr nanoseconds piece = std::chrono::milliseconds{10};
  auto const deadline = deadline_after(nanoseconds_of(at_most_ns));
  for (;;) {
    nanoseconds const left = left_until(deadline);
    if (over(std::min(left, piece))) return LULL_OK;
    if (left.count() == 0) return LULL_TIMED_OUT;
    if (object.ending()) throw refusal{LULL_ERROR_HANDLE, "the handle was destroyed while this call waited"};
  }
}

template <class Handle>
Handle* handle_of(std::uint64_t number) noexcept {
  static_assert(sizeof(std::uintptr_t) == sizeof number);
  return reinterpret_cast<Handle*>(static_cast<std::uintptr_t>(number));
}

}  // namespace lull::c
