// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include <lull/device/threads_world.hpp>
#include <lull/device/worker.hpp>
#include <lull/host/threads/block.hpp>
#include <lull/host/worker_kernel.hpp>

namespace lull {

namespace detail {

using resident_function = void (*)(worker_params const&, thread_block const&);
using phase_function = void (*)(void const* functor, chunk const&, thread_block const&);
using between_function = std::uint64_t (*)(void const* functor, position const* ended, position next, std::uint64_t fed,
                                           thread_block const&);

template <class Task>
void stay_resident(worker_params const& params, thread_block const& block) {
  worker<threads_world, Task, thread_block>{params, block}.run();
}

/// A team for ordinary code, which never leaves.
template <class Task>
auto undisturbed(thread_block const& block) {
  if constexpr (Task::shape.claims == claiming::by_task) {
    return streaming_team<threads_world, thread_block>{block, exit_words{}, nullptr, nullptr};
  } else {
    static exit_check<threads_world> const stays;
    team<threads_world, thread_block> members{block, exit_words{}, stays, nullptr};
    members.begin_chunk(true);
    return members;
  }
}

template <class Task>
void run_phase(void const* functor, chunk const& piece, thread_block const& block) {
  (*static_cast<Task const*>(functor))(piece, undisturbed<Task>(block));
}

template <class Task>
std::uint64_t run_between(void const* functor, position const* ended, position next, std::uint64_t fed,
                          thread_block const& block) {
  Task const& task = *static_cast<Task const*>(functor);
  if constexpr (has_advance<Task>) {
    if (ended != nullptr) task.advance(*ended, undisturbed<Task>(block));
  }
  block.sync();
  return block.rank() == 0 ? task.extent(next, fed) : 0;
}

}  // namespace detail

/// lull_side_task() instantiates it in a .cpp.
template <side_task Task>
worker_kernel threads_worker() {
  return {reinterpret_cast<void const*>(&detail::stay_resident<Task>),
          reinterpret_cast<void const*>(&detail::run_phase<Task>),
          reinterpret_cast<void const*>(&detail::run_between<Task>), Task::shape};
}

}  // namespace lull
