// SPDX-License-Identifier: Apache-2.0
#include <lull/host/task/memory_need.hpp>

#include <algorithm>

#include <lull/host/error.hpp>

namespace lull {
namespace {

/// Throws if the jobs need more than `there` has. `of` returns what one job needs there; `or_else` is an alternative to
/// a smaller need.
template <class Of>
void refuse_above(std::span<job_need const> jobs, std::uint64_t needed, free_memory const& there,
                  std::string const& or_else, Of const& of) {
  if (needed <= there.bytes) return;
  std::string names;
  job_need const* greatest = &jobs.front();
  for (job_need const& each : jobs) {
    names += (names.empty() ? "" : &each == &jobs.back() ? " and " : ", ") + each.name;
    if (jobs.size() > 1) names += " (" + bytes_text(of(each.need)) + ")";
    if (of(each.need) > of(greatest->need)) greatest = &each;
  }
  std::string const advice = greatest->need.smaller.empty()
                                 ? "give " + greatest->name + " a smaller input"
                                 : "lower " + std::string{greatest->need.smaller} + " of " + greatest->name;
  throw limit_error{"not enough memory: " + names + (jobs.size() > 1 ? " together need " : " needs ") +
                    bytes_text(needed) + ", and " + there.where + " has " + bytes_text(there.bytes) +
                    " free: " + (jobs.size() > 1 ? "run fewer at once, or " : "") + advice + or_else};
}

}  // namespace

void check_memory(std::span<job_need const> jobs, executor const& executor, free_memory const& host) {
  bool const in_host = executor.kind() == executor_kind::threads;
  std::uint64_t on_machine = 0;
  std::uint64_t on_host = 0;
  std::uint64_t preparing = 0;
  for (auto const& [name, need] : jobs) {
    on_machine += need.machine_bytes;
    on_host += need.host_bytes + (in_host ? need.machine_bytes : 0);
    preparing = std::max(preparing, need.preparing_bytes);
  }
  auto const [bytes, by_limit] = executor.free_bytes();
  refuse_above(jobs, on_machine, {bytes, by_limit ? "memory_limit" : "the GPU"},
               by_limit ? ", or raise memory_limit" : "", [](memory_need const& need) { return need.machine_bytes; });
  refuse_above(jobs, on_host + preparing, host, "", [&](memory_need const& need) {
    return need.host_bytes + need.preparing_bytes + (in_host ? need.machine_bytes : 0);
  });
}

}  // namespace lull
