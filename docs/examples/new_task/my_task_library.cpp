// SPDX-License-Identifier: Apache-2.0
// The task with its options, as lull run, Python and C find it in libmy_task.so.
#include <memory>

#include <my_task_owner.hpp>

#include <lull/host/task/task_library.hpp>

namespace {

constexpr lull::option options[] = {
    {"values", lull::option_kind::integer, "4194304", "[1, 1073741824]", "length of both vectors"},
};

lull::task_entry entry() {
  return {.name = "my_task",
          .help = "dot product of two vectors",
          .example = "my_task:values=100000",
          .options = options,
          .type = [](lull::option_values const&) { return lull::type_of<side_tasks::my_task>(); },
          .make = [](lull::option_values const& given) -> std::unique_ptr<lull::task_owner> {
            return std::make_unique<my_task_owner>(static_cast<std::uint64_t>(given.integer("values")));
          }};
}

}  // namespace

LULL_SIDE_TASKS(entry())
