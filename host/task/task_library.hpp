// SPDX-License-Identifier: Apache-2.0
// What a shared library of side tasks shows to Lull. Its author writes one line: LULL_SIDE_TASKS(my_task_entry())
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>

#include <lull/device/cursor.hpp>
#include <lull/device/gate.hpp>
#include <lull/device/slot.hpp>
#include <lull/host/executor.hpp>
#include <lull/host/job.hpp>
#include <lull/host/task/memory_need.hpp>
#include <lull/host/task/options.hpp>
#include <lull/host/task/owner.hpp>
#include <lull/host/task/task_array.hpp>

namespace lull {

/// Raise it with every change to a type or a virtual function that a library and a program share.
inline constexpr std::uint32_t task_library_abi = 4;
/// The project's version; host/task/CMakeLists.txt holds it to that.
inline constexpr std::array<char, 16> task_library_version{"0.2.0"};

namespace detail {

/// What the compiler and its options decide, and both sides must have the same: the sizes of what crosses, of what
/// workers and host both write, and how the standard library is set up.
using task_library_layout = std::array<std::uint32_t, 20>;

constexpr task_library_layout layout_here() noexcept {
  task_library_layout made{sizeof(task_entry),
                           sizeof(task_owner),
                           sizeof(option),
                           sizeof(option_values),
                           sizeof(job_description),
                           sizeof(task_type),
                           sizeof(worker_params),
                           sizeof(job),
                           sizeof(memory_need),
                           sizeof(verification),
                           sizeof(task_array),
                           sizeof(std::string),
                           sizeof(std::function<void()>),
                           sizeof(cursor),
                           sizeof(gate_line),
                           sizeof(slot_line),
                           offsetof(bubble_record, items)};
#if defined(_GLIBCXX_USE_CXX11_ABI)
  made[18] = 1 + _GLIBCXX_USE_CXX11_ABI;  // 0: not libstdc++
#endif
#if defined(_GLIBCXX_DEBUG)
  made[19] = 1;
#endif
  return made;
}

}  // namespace detail

/// A library's symbol `lull_side_tasks`. It is data, so that nothing of the library has to be called before `abi`,
/// `version` and `layout` are known to fit.
struct task_library {
  std::uint32_t abi = task_library_abi;  // first in every version: of another number nothing else is read
  std::array<char, 16> version = task_library_version;
  detail::task_library_layout layout = detail::layout_here();
  std::span<task_entry const> (*tasks)() = nullptr;  // they live as long as the library; may throw
};

}  // namespace lull

/// Once in a library, outside every namespace: shows these `lull::task_entry`s to Lull.
#define LULL_SIDE_TASKS(...)                                                                              \
  extern "C" __attribute__((visibility("default"))) lull::task_library const lull_side_tasks;             \
  constinit lull::task_library const lull_side_tasks{.tasks = []() -> std::span<lull::task_entry const> { \
    static std::array const entries{__VA_ARGS__};                                                         \
    return entries;                                                                                       \
  }};
