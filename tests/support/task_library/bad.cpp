// SPDX-License-Identifier: Apache-2.0
// Libraries that Lull refuses, each for what its LULL_BAD_… says.
#include <cstdlib>
#include <memory>
#include <span>
#include <stdexcept>
#include <string>

#include <lull/host/error.hpp>
#include <lull/host/task/owner.hpp>
#include <lull/host/task/task_library.hpp>

namespace {

using namespace lull;

[[maybe_unused]] std::span<task_entry const> must_not_be_called() { std::abort(); }

[[maybe_unused]] task_entry entry(std::string_view name, option_table options = {}) {
  return {.name = name,
          .help = "is never run",
          .example = name,
          .options = options,
          .type = [](option_values const&) { return task_type{}; },
          .make = [](option_values const&) { return std::unique_ptr<task_owner>{}; }};
}

}  // namespace

#if defined(LULL_BAD_no_symbol)
extern "C" __attribute__((visibility("default"))) int something_else() { return 1; }
#elif defined(LULL_BAD_other_abi)
// Of a later Lull: nothing after the number has its present meaning.
extern "C" __attribute__((visibility("default"))) std::uint32_t const lull_side_tasks[4];
std::uint32_t const lull_side_tasks[4]{99, 0xffffffff, 0xffffffff, 0xffffffff};
#elif defined(LULL_BAD_other_version)
extern "C" __attribute__((visibility("default"))) task_library const lull_side_tasks;
constinit task_library const lull_side_tasks{.version = {"0.1.7"}, .tasks = must_not_be_called};
#elif defined(LULL_BAD_other_layout)
extern "C" __attribute__((visibility("default"))) task_library const lull_side_tasks;
constinit task_library const lull_side_tasks{.layout = {1, 2, 3}, .tasks = must_not_be_called};
#elif defined(LULL_BAD_throws_when_loaded)
static int const thrown = [] { return throw usage_error{"thrown while it was loaded"}, 1; }();
LULL_SIDE_TASKS(entry("never"))
#elif defined(LULL_BAD_throws_when_listed)
LULL_SIDE_TASKS([]() -> task_entry { throw std::domain_error{"thrown while it listed its tasks"}; }())
#elif defined(LULL_BAD_undefined)
int defined_nowhere();
extern "C" __attribute__((visibility("default"))) int calls() { return defined_nowhere(); }
#elif defined(LULL_BAD_empty)
extern "C" __attribute__((visibility("default"))) task_library const lull_side_tasks;
constinit task_library const lull_side_tasks{.tasks = [] { return std::span<task_entry const>{}; }};
#elif defined(LULL_BAD_named_badly)
LULL_SIDE_TASKS(entry("../a"))
#elif defined(LULL_BAD_named_twice)
LULL_SIDE_TASKS(entry("one"), entry("one"))
#elif defined(LULL_BAD_without_make)
LULL_SIDE_TASKS([] {
  task_entry made = entry("one");
  made.make = nullptr;
  return made;
}())
#elif defined(LULL_BAD_bad_option)
constexpr option broken[] = {{"size", option_kind::integer, "12", "[1, 9]", "a default beyond its range"}};
LULL_SIDE_TASKS(entry("one", broken))
#endif
