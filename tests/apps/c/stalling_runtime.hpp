// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include <lull/apps/c/held.hpp>
#include <lull/apps/c/options.hpp>
#include <lull/host/array.hpp>
#include <lull/tests/host/stalling_executor.hpp>
#include <lull/tests/support/threads_job.hpp>

namespace lull::test {

/// Waits for input that never comes.
struct starving_task {
  static constexpr team_shape shape{.threads = 32};
  std::uint64_t extent(position, std::uint64_t) const noexcept { return starved; }
  void operator()(chunk, auto const&) const noexcept {}
};
static_assert(side_task<starving_task>);

inline c::runtime_table::pin found(lull_runtime* side) { return c::runtime_table::find(side); }

/// As lull_create, on a machine whose calls can hang.
inline lull_runtime* stalling_runtime(stall& where, lull_options const& asked) {
  runtime_options const read = c::read_options(asked);
  auto made = std::make_unique<c::held_runtime>();
  made->log = read.log;
  made->side = std::make_unique<runtime>(std::make_unique<stalling_executor>(where, read.executor), read);
  return c::runtime_table::insert(std::move(made));
}

/// A job that starves and is fed, with memory that can go.
inline lull_job* starving_job(lull_runtime* of, std::string name) {
  auto const side = found(of);
  auto made = std::make_unique<c::held_job>();
  made->side = of;
  made->executor = &executor_of(*side->side);
  made->is_fed = true;
  job_description what = threads_job(starving_task{});
  what.name = std::move(name);
  what.memory = std::make_shared<job_memory>();
  {
    job_memory::scope const its{what.memory};
    what.keeps = std::make_shared<device_array<char>>(*made->executor, std::size_t{1} << 20);
  }
  made->hosted = std::make_unique<hosted_job>(*made->executor, hosted_task{std::move(what)});
  made->hosted->submit([&](job_description described) { return side->side->submit(std::move(described)); });
  lull_job* const handle = c::job_table::insert(std::move(made));
  std::lock_guard const lock{side->mutex};
  side->jobs.push_back(handle);
  return handle;
}

}  // namespace lull::test
