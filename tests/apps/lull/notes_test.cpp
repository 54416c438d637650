// SPDX-License-Identifier: Apache-2.0
// What the program says of the inputs that it read, in its output and in its reports.
#include <filesystem>
#include <string>
#include <utility>

#include <gtest/gtest.h>

#include <lull/host/io/atomic_file.hpp>
#include <lull/host/io/shipped_file.hpp>
#include <lull/tests/apps/lull/program.hpp>

namespace lull {
namespace {

TEST_F(program, a_report_has_what_was_taken_of_the_inputs) {
  std::string rows = "a;b;kind\n";
  std::string ratings = "user,item,rating\n";
  for (int at = 0; at < 40; ++at) {
    rows += std::to_string(at) + ";0,5;" + (at % 2 == 0 ? "even" : "odd") + "\n";
    ratings += std::to_string(at % 8) + "," + std::to_string(at % 5) + ",3\n";
  }
  std::filesystem::create_directories(file("in"));
  std::filesystem::copy_file(shipped_file("chelsea.png", "nothing"), file("in/cat.png"));
  write_file(file("in/list.csv"), rows);
  write_file(file("rows.csv"), rows);
  write_file(file("ratings.csv"), ratings);
  write_file(file("g.mtx"), "%%MatrixMarket matrix coordinate pattern general\n2 2 1\n1 2\n");
  for (std::string const command : {"run --executor threads ", quick_harvest}) {
    for (auto const& [task, note] :
         {std::pair{"mlp:hidden=8,epochs=1,data=" + file("rows.csv"),
                    std::string{"data: separated by semicolons, decimal commas, names in the first line"}},
          {"graph_sgd:factors=8,epochs=1,ratings=" + file("ratings.csv"), "ratings: separated by commas"},
          {"sssp:graph=" + file("g.mtx"), "has no weights: each edge weighs 1"},
          {"sssp:grid=4", "no weights: drawn, whole numbers from 1 to 255"},
          {"images:width=9,in=" + file("in") + ",out=" + file("out"),
           "left out: 1 file that is no picture: list.csv"}}) {
      if (task.starts_with("images") && command != "run --executor threads ") continue;  // written once
      outcome const found = ask(command + "--task " + task + " --report " + file("n.json"));
      ASSERT_EQ(found.code, 0) << found.text;
      json const notes = report_in(file("n.json"))["jobs"].at(0)["notes"];
      ASSERT_EQ(notes.size(), 1U) << command << task << notes;
      EXPECT_NE(notes[0].get<std::string>().find(note), std::string::npos) << notes;
      EXPECT_NE(found.text.find(notes[0].get<std::string>()), std::string::npos) << found.text;
    }
  }
  outcome const quiet = ask("run --executor threads --json --task mlp:hidden=8,epochs=1");
  EXPECT_EQ(json::parse(quiet.text)["jobs"][0]["notes"], json::array());
}

}  // namespace
}  // namespace lull
