// SPDX-License-Identifier: Apache-2.0
// What all owners of tasks over a graph keep to. Each says in its own file what is its own.
#include <lull/tests/graph/graph_owner.hpp>

#include <algorithm>
#include <lull/host/error.hpp>

namespace lull::test {
namespace {

TEST_P(graph_owner, has_a_sound_table_of_options) {
  task_entry const entry = GetParam().entry();
  EXPECT_EQ(entry.name, GetParam().name);
  EXPECT_NO_THROW(check_options(entry.options));
  EXPECT_TRUE(entry.type(option_values{entry.options}).threads);
}

TEST_P(graph_owner, comes_to_the_same_again) {
  auto const path = folder_.at("out");
  auto const task = owner(GetParam().shipped, {{GetParam().file, path}});
  EXPECT_EQ(task->outputs(), std::vector<std::filesystem::path>{path});
  task->prepare(executor_of(side_));
  expect_run(*task);
  auto const said = write_result(*task);
  auto const written = lines_of(path);
  ASSERT_EQ(written.size(), GetParam().lines);
  GetParam().check(*task, said, written, path);
  task->reset();
  expect_run(*task);
  EXPECT_EQ(write_result(*task), said);
  EXPECT_EQ(lines_of(path), written);
}

TEST_P(graph_owner, has_a_verdict_on_what_its_arrays_hold) {
  auto const task = owner(GetParam().small);
  task->prepare(executor_of(side_));
  for (auto const& [name, text] : GetParam().small) {
    if (name == "grain") {
      EXPECT_EQ(std::to_string(task->describe().grain), text);
    }
  }
  expect_run(*task);
  auto const arrays = task->arrays();
  for (wrong_word const& word : GetParam().wrong) {
    auto const one =
        std::find_if(arrays.begin(), arrays.end(), [&](auto const& each) { return each.array.name == word.array; });
    ASSERT_NE(one, arrays.end()) << word.array;
    std::uint64_t right = 0;
    executor_of(side_).read(&right, one->memory, word.bytes);
    for (std::uint64_t const instead : word.instead(right)) {
      executor_of(side_).write(one->memory, &instead, word.bytes);
      EXPECT_FALSE(task->verify().ok) << word.array << ": " << instead;
    }
    executor_of(side_).write(one->memory, &right, word.bytes);
    EXPECT_TRUE(task->verify().ok) << word.array;
  }
}

TEST_P(graph_owner, refuses_what_excludes_each_other) {
  for (settings const& given : GetParam().refused) {
    EXPECT_THROW(owner(given), usage_error) << given.back().first << '=' << given.back().second;
  }
}

TEST_P(graph_owner, refuses_files_that_it_cannot_use_before_the_work) {
  EXPECT_NE(refusal<input_error>({{GetParam().input, folder_.at("none")}}), "");
  EXPECT_NE(refusal<usage_error>(GetParam().small, {{GetParam().file, folder_.at("no/such/folder")}})
                .find(GetParam().name + ": " + GetParam().file + '='),
            std::string::npos);
}

TEST_P(search_owner, refuses_sources_that_are_no_vertices) {
  auto const graph = folder_.write("g.el", "0 1\n1 2\n");
  EXPECT_EQ(refusal<usage_error>({{"graph", graph}, {"source", "3"}}),
            GetParam().name + ": source=3 is no vertex: the graph has vertices 0 to 2");
  auto const list = folder_.write("list", "0\n3\n");
  EXPECT_NE(refusal<input_error>({{"graph", graph}, {"sources", list}}).find("list:2: vertex 3"), std::string::npos);
  EXPECT_THROW(owner({{"source", "1"}, {"sources", list}}), usage_error);
  // A wrong source is told with the memory, before any is taken.
  EXPECT_NE(message_of<usage_error>([] { owner({{"kronecker", "5"}, {"source", "32"}})->needs({}); }), "");
}

}  // namespace
}  // namespace lull::test
