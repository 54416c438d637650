// SPDX-License-Identifier: Apache-2.0
// Tasks of a shared library under contract: their owners are the library's, the workers that preempt are this
// program's.
#include <memory>
#include <string>

#include <lull/host/contract/suite.hpp>
#include <lull/host/task/library_loader.hpp>
#include <lull/tests/support/fed_probe.hpp>
#include <lull/tests/support/task_library/count_up.hpp>

namespace lull {
namespace {

auto made_in_library(std::string name, std::string rounds) {
  return [name, rounds]() -> std::unique_ptr<task_owner> {
    std::string const library = LULL_LIBRARIES "/libcounting.so";
    task_entry const& entry = task_in(library, name);
    option_values values{entry.options};
    if (!rounds.empty()) values.set("rounds", rounds);
    return entry.make(values);
  };
}

constexpr contract_on where = contract_on::LULL_ON;
auto const joined = join_contract<count_up>("count_up", made_in_library("count_up", "4"), where) &&
                    join_contract<fed_probe>("fed", made_in_library("fed", ""), where);

}  // namespace
}  // namespace lull
