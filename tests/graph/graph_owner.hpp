// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <lull/tests/graph/owner_calls.hpp>
#include <lull/tests/support/test_folder.hpp>
#include <memory>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

namespace lull::test {

/// What a verifier must refuse, written over the first bytes of an array that are right.
struct wrong_word {
  std::string array;
  std::size_t bytes;
  std::function<std::vector<std::uint64_t>(std::uint64_t right)> instead;
};

inline wrong_word wrong(std::string array, std::size_t bytes, std::uint64_t instead) {
  return {std::move(array), bytes, [instead](std::uint64_t) { return std::vector{instead}; }};
}

/// What one owner has of its own, for the tests that all owners over a graph pass (graph_owner_test.cpp).
struct owner_facts {
  std::string name;
  task_entry (*entry)();
  settings small;                 // options of a run that takes no time
  std::vector<wrong_word> wrong;  // after that run
  std::vector<settings> refused;  // options that exclude each other or are out of their range
  settings shipped = {};          // options of a run over what is shipped, but for its file
  std::string file = "out";       // the option that names this file
  std::size_t lines = 63'666;     // of the file, for each of the packages one
  /// Looks at what was said after that run, and at the file's lines.
  std::function<void(task_owner const& owner, std::vector<std::string> const& said,
                     std::vector<std::string> const& written, std::string const& path)>
      check;
  std::string input = "graph";  // the option that names its input

  friend std::ostream& operator<<(std::ostream& to, owner_facts const& facts) { return to << facts.name; }
};

class graph_owner : public testing::TestWithParam<owner_facts> {
 protected:
  static std::unique_ptr<task_owner> owner(settings given, settings const& more = {}) {
    given.insert(given.end(), more.begin(), more.end());
    return owner_of(GetParam().entry(), given);
  }
  template <class Error>
  static std::string refusal(settings given, settings const& more = {}) {
    given.insert(given.end(), more.begin(), more.end());
    return refusal_of<Error>(GetParam().entry(), given);
  }
  void expect_run(task_owner& task) {
    EXPECT_FALSE(task.verify().ok) << "nothing was run";
    EXPECT_GT(run_in_bubbles(side_, task.describe(), std::chrono::microseconds{300}), 0U);
    auto const verdict = task.verify();
    EXPECT_TRUE(verdict.ok) << verdict.message;
  }

  test_folder folder_;
  runtime side_{on_threads()};
};

/// One that searches from vertices.
class search_owner : public graph_owner {};

}  // namespace lull::test
