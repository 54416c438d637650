// SPDX-License-Identifier: Apache-2.0
// `lull tasks`: all tasks and one, as text and as JSON.
#include <string>

#include <gtest/gtest.h>

#include <lull/apps/registry/registry.hpp>
#include <lull/tests/apps/lull/program.hpp>

namespace lull {
namespace {

TEST_F(program, tasks_shows_one_task_alone) {
  outcome const found = ask("tasks mlp");
  EXPECT_EQ(found.code, 0) << found.text;
  for (char const* const each : {"mlp: train a perceptron", "hidden=integer", "(default 256)", "at most 65536",
                                 "priority=integer", "runs on: threads", "example: lull run --task mlp:"})
    EXPECT_NE(found.text.find(each), std::string::npos) << each << '\n' << found.text;
  EXPECT_EQ(found.text.find("pagerank"), std::string::npos) << found.text;
  expect_refused("tasks pagernk", "unknown task \"pagernk\"; known: pagerank, ");
}

TEST_F(program, tasks_as_json_has_what_the_tables_have) {
  json const all = json::parse(ask("tasks --json").text);
  EXPECT_EQ(all["schema"], "lull.tasks/1");
  EXPECT_TRUE(all["version"].is_string());
  EXPECT_EQ(all["options_of_every_task"][0]["name"], "priority");
  ASSERT_EQ(all["tasks"].size(), registry().size());
  for (std::size_t i = 0; i < registry().size(); ++i) {
    task_entry const& entry = registry()[i];
    json const& task = all["tasks"][i];
    EXPECT_EQ(task["name"], entry.name);
    EXPECT_EQ(task["help"], entry.help);
    EXPECT_EQ(task["executors"][0], "threads");
    EXPECT_EQ(task["example"].get<std::string>(), "lull run --task " + std::string{entry.example});
    ASSERT_EQ(task["options"].size(), entry.options.size());
    for (std::size_t o = 0; o < entry.options.size(); ++o) {
      option const& row = entry.options[o];
      json const& shown = task["options"][o];
      EXPECT_EQ(shown["name"], row.name);
      EXPECT_EQ(shown["kind"], name_of(row.kind));
      EXPECT_EQ(shown["help"], row.help);
      EXPECT_EQ(shown["default"], row.default_value.empty() ? json(nullptr) : json(row.default_value));
      EXPECT_EQ(shown["range"], row.range.empty() ? json(nullptr) : json(row.range));
    }
  }
  json const one = json::parse(ask("tasks mlp --json").text);
  ASSERT_EQ(one["tasks"].size(), 1U);
  EXPECT_EQ(one["tasks"][0]["name"], "mlp");
}

/// … and names it.
TEST(registry, each_example_is_a_request_of_its_task) {
  for (task_entry const& each : registry()) EXPECT_EQ(parse_task(each.example, known_tasks()).name, each.name);
}

}  // namespace
}  // namespace lull
