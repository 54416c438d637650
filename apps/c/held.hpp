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

#include <lull/host/lull_threads.h>
#include <lull/apps/c/boundary.hpp>
#include <lull/apps/c/checkpoint_name.hpp>
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
  std::vector<lull_job*> jobs;           // those of destroyed jobs may be among them
};

/// What a lull_job* stands for. Its machine outlives it, by the handle, also where the runtime has ended before.
struct held_job {
  lull_runtime* side = nullptr;
  lull::executor* executor = nullptr;
  bool is_task = false;
  bool is_fed = false;             // a graph that is
  std::optional<cut_graph> cut{};  // of a graph
  /// With a number in it if need be. Another job gets it only when this handle has gone: it must not depend on how soon
  /// this job ends what a later one is called.
  std::shared_ptr<checkpoint_name const> saved_as{};
  std::unique_ptr<hosted_job> hosted{};
};

/// What a lull_memory* stands for.
using held_memory = std::shared_ptr<job_memory>;

using runtime_table = handle_table<lull_runtime, held_runtime, 1, 64>;
using job_table = handle_table<lull_job, held_job, 2, 4096>;
using stream_table = handle_table<lull_threads_stream, threads_stream, 3, 256>;
using memory_table = handle_table<lull_memory, held_memory, 4, 4096>;

// Never defined: the table of a kind of handle.
runtime_table table_of(lull_runtime const*);
job_table table_of(lull_job const*);
stream_table table_of(lull_threads_stream const*);
memory_table table_of(lull_memory const*);

/// What a table has for a handle. Throws a refusal where it has nothing.
template <class Found>
Found or_refused(Found found, void const* handle) {
  if (!found) throw refusal{LULL_ERROR_HANDLE, handle == nullptr ? "the handle is null" : "the handle is not alive"};
  return found;
}

/// The object of a live handle, for a call inside. Throws a refusal, as `ending` does.
template <class Handle>
auto alive(Handle const* handle) {
  return or_refused(decltype(table_of(handle))::find(handle), handle);
}

/// How long a call that ends an object waits for the calls inside.
inline constexpr std::chrono::seconds max_leaving{10};

/// … for a call that ends it.
template <class Handle>
auto ending(Handle const* handle) {
  return or_refused(decltype(table_of(handle))::end(handle, deadline_after(max_leaving)), handle);
}

/// The body of a function with a handle: it has the pin of the handle's object.
template <class Handle, class Body>
lull_status guarded(char const* call, Handle const* handle, Body body) noexcept {
  return guarded(call, [&] {
    auto const object = alive(handle);
    return body(object);
  });
}

/// … of one that makes what a handle stands for.
template <class Handle, class Make>
lull_status guarded_make(char const* call, Handle** handle, char const* name, Make make) noexcept {
  return guarded(call, [&] {
    Handle*& made = cleared(handle, name);
    made = decltype(table_of(made))::insert(make());
  });
}

/// … of one that ends it.
template <class Handle>
lull_status guarded_end(char const* call, Handle const* handle) noexcept {
  return guarded(call, [&] { ending(handle).take().reset(); });
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

}  // namespace lull::c
