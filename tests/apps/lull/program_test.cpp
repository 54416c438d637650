// SPDX-License-Identifier: Apache-2.0
// What the program prints, writes and returns. On threads, so that it runs anywhere.
#include <algorithm>
#include <array>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>

#include <gtest/gtest.h>

#include <lull/host/io/shipped_file.hpp>
#include <lull/tests/apps/lull/program.hpp>

namespace lull {
namespace {

TEST_F(program, says_its_version) {
  outcome const found = ask("--version");
  EXPECT_EQ(found.code, 0);
  EXPECT_EQ(found.text.rfind("lull ", 0), 0U) << found.text;
}

TEST_F(program, unknown_names_list_the_known_ones) {
  expect_refused("harvst", "unknown command \"harvst\"; known: harvest, ");
  expect_refused("", "commands: ");
  expect_refused("harvest --segmnt 2ms", "--segment");
  expect_refused("harvest --mode naiv", "naive");
  expect_refused("harvest --schedule gpip", "gpipe");
  expect_refused("run --executor thread", "threads");
  expect_refused("run --task comput", "compute");
  expect_refused("run --task compute:round=1", "rounds");
}

TEST_F(program, an_unknown_option_names_the_nearest_one_and_its_command) {
  for (auto const& [wrong, says] : {
           std::pair{"harvest --segmnt 2ms",
                     "unknown option \"--segmnt\"; the nearest is --segment; see lull harvest --help"},
           {"run --repor=x", "unknown option \"--repor\"; the nearest is --report; see lull run --help"},
           {"doctor --jsn", "unknown option \"--jsn\"; the nearest is --json; see lull doctor --help"},
           {"new task word_count --on x", "unknown option \"--on\"; the nearest is --in; see lull new task --help"},
           {"--vers", "unknown option \"--vers\"; the nearest is --version; see lull --help"},
           {"--versoin", "unknown option \"--versoin\"; the nearest is --version; see lull --help"},
       }) {
    outcome const found = ask(wrong);
    EXPECT_EQ(found.code, 2) << wrong;
    EXPECT_EQ(found.text, std::string{"lull: "} + says + '\n');
  }
  std::string const out_of_range = ask("harvest --pairs 0").text;  // CLI11 writes the range in one way or another
  EXPECT_EQ(out_of_range.rfind("lull: --pairs: Value 0 not in range ", 0), 0U) << out_of_range;
  EXPECT_TRUE(out_of_range.ends_with("; see lull harvest --help\n")) << out_of_range;
}

TEST_F(program, new_task_says_what_it_wrote_and_what_comes_next) {
  outcome const found = ask("new task word_count --in " + file("made"));
  EXPECT_EQ(found.code, 0) << found.text;
  for (char const* const each : {"word_count_owner.hpp", "cmake -S ", "PREFIX is where", "ctest --test-dir ",
                                 "word_count_bench", "in a C++ trainer link word_count_worker",
                                 "/made/build/libword_count.so:word_count --verify", "/made/README.md"}) {
    EXPECT_NE(found.text.find(each), std::string::npos) << each << '\n' << found.text;
  }
  EXPECT_TRUE(std::filesystem::exists(file("made/word_count.hpp")));
  std::string const readme = content(file("made/README.md"));
  for (char const* const each :
       {"**The program**", "**Python**", "**C**", "**A C++ trainer**", "build/libword_count.so:word_count"})
    EXPECT_NE(readme.find(each), std::string::npos) << each;
  expect_refused("new task word_count --in " + file("made"), "not empty");
  expect_refused("new task pagerank --in " + file("other"), "lull tasks");
  expect_refused("new task class --in " + file("other"), "a reserved word of C++");
  expect_refused("new task word_count --on " + file("other"), "--in");
  expect_refused("new task", "NAME");
  expect_refused("new tsk", "unknown command \"tsk\"; known: task; see lull new --help");
  EXPECT_FALSE(std::filesystem::exists(file("other")));
}

TEST_F(program, impossible_settings_say_why) {
  expect_refused("harvest --stage 4", "stage 4");
  expect_refused("harvest --stages 1", "no bubble");
  expect_refused("harvest --pairs 0", "--pairs");
  expect_refused("harvest --segment 2", "--segment");
  expect_refused("run --executor threads --report " + file("none/report.json"), "no folder");
  expect_refused("run --executor threads --report ''", "the name is empty");
  expect_refused("run --executor threads --task pagerank --report /proc/r.json",
                 "--report /proc/r.json cannot be written");
  expect_refused("run --executor threads --report " + file(""), "a folder");
  expect_refused("harvest --executor threads --report " + file("a") + " --trace " + file("a"),
                 "written twice, by --report and by --trace");
  expect_refused("harvest --timeline " + file("t.svg"), "write '" + file("t.trace.json") + "' and open it at https");
  expect_refused("harvest --trace " + file("t.svg"), "open it at https://ui.perfetto.dev");
  expect_refused("harvest --microbatches 0", "micro-batches is 0");
  expect_refused("harvest --iterations 100000000", "--iterations");
  expect_refused("harvest --segment 0", "out of range");
  expect_refused("harvest --stages 1024 --microbatches 1024 --iterations 100000", "longer than 4194304");
  expect_refused("run --executor threads --task pagerank:graph=" + file("absent.el"), "absent.el");
  expect_refused("run --task compute --job " + file("job.json"), "both");
  expect_refused("run --executor threads --mode naive --task compute --task streaming", "one task");
  expect_refused("harvest --executor threads --mode naive --task compute --task streaming", "one task");
  expect_refused("harvest --executor threads --mode naive --task compute --checkpoint " + file("saved"), "--mode lull");
  expect_refused("run --executor threads --task compute:priority=high", "priority");
  expect_refused("run --executor threads --task compute --task comput", "compute");
  expect_refused("run --executor threads --resume --task compute", "--checkpoint");
  std::string many = "run --executor threads";
  for (int i = 0; i < 65; ++i) many += " --task compute";
  expect_refused(many, "run at most 64 at once");
  expect_refused("run --executor threads --task compute --task images:in=" + file("") + ",out=" + file("out"),
                 "holds no file");
}

TEST_F(program, runs_a_task_to_its_end_and_verifies_it) {
  for (std::string const mode : {"lull", "naive"}) {
    for (std::string const task :
         {"compute:items=1000,rounds=7", "streaming:items=8,rounds=5", "pagerank:uniform=10"}) {
      outcome const found =
          ask("run --executor threads --verify --mode " + mode + " --task " + task + " --report " + file("run.json"));
      EXPECT_EQ(found.code, 0) << found.text;
      json const read = report_in(file("run.json"));
      EXPECT_EQ(read["command"], "run");
      ASSERT_EQ(read["jobs"].size(), 1U);
      EXPECT_EQ(read["jobs"][0]["state"], "finished");
      EXPECT_EQ(read["jobs"][0]["verified"], true);
      if (task[0] != 'p') {
        EXPECT_EQ(read["jobs"][0]["items"], task[0] == 'c' ? 7000U : 40U);
      }
    }
  }
}

TEST_F(program, a_report_file_has_what_json_prints) {
  for (std::string const mode : {"lull", "naive"}) {
    outcome const found = ask("run --executor threads --json --mode " + mode +
                              " --task compute:items=100,rounds=7 --report " + file("run.json"));
    ASSERT_EQ(found.code, 0) << found.text;
    json const read = report_in(file("run.json"));
    EXPECT_EQ(read, json::parse(found.text));
    EXPECT_GT(read["run"]["seconds"], 0.0);
    EXPECT_GT(read["run"]["items_per_s"], 0.0);
  }
}

TEST_F(program, a_report_has_the_figures_of_each_result) {
  for (std::string const command : {"run --executor threads ", quick_harvest}) {
    for (auto const& [task, names] : {std::pair{"mlp:hidden=16,epochs=2", std::array{"loss", "accuracy"}},
                                      {"pagerank:uniform=8", {"residual", "sweeps"}},
                                      {"components:uniform=8", {"components", "largest_vertices"}}}) {
      outcome const found = ask(command + "--task " + task + " --report " + file("f.json"));
      ASSERT_EQ(found.code, 0) << found.text;
      int finished = 0;  // a harvest may cancel one first: its training ended
      json const report = report_in(file("f.json"));
      for (json const& job : report["jobs"]) {
        if (job["state"] != "finished") continue;
        ++finished;
        for (char const* const each : names) EXPECT_GT(job["figures"].value(each, 0.0), 0.0) << command << each << job;
      }
      EXPECT_GE(finished, 1) << command;
    }
  }
}

TEST_F(program, a_report_tells_what_a_synthetic_task_did) {
  for (auto const& [task, name, value] : {std::tuple{"compute:items=10,rounds=2,fma=3", "multiply_adds", 60.0},
                                          {"streaming:items=4,rounds=5", "traffic_bytes", 4 * 5 * 3 * 16384.0},
                                          {"product:rows=2,columns=3,depth=5,rounds=7", "multiply_adds", 210.0}}) {
    EXPECT_EQ(ask(std::string{"run --executor threads --task "} + task + " --report " + file("c.json")).code, 0);
    EXPECT_EQ(report_in(file("c.json"))["jobs"][0]["figures"], (json{{name, value}})) << task;
  }
  add_picture();
  std::filesystem::copy_file(shipped_file("chelsea.png", "nothing"), file("in/cat.png"));
  ask("run --executor threads --task images:width=9,in=" + file("in") + ",out=" + file("out") + " --report " +
      file("i.json"));
  EXPECT_EQ(report_in(file("i.json"))["jobs"][0]["figures"],
            (json{{"pictures", 1.0}, {"done_before", 0.0}, {"left_out", 0.0}, {"notes", 0.0}}));
}

TEST_F(program, what_does_not_fit_into_memory_is_refused_before_any_work) {
  std::string const huge = "product:rows=65536,columns=65536,depth=65536,count=65536";  // 1.5 PiB
  for (std::string const command : {"run --executor threads ", quick_harvest}) {
    outcome const one = ask(command + "--task " + huge);
    EXPECT_EQ(one.code, 1) << one.text;
    EXPECT_EQ(one.text.rfind("lull: not enough memory: product needs 1.5 PiB, and ", 0), 0U) << one.text;
    EXPECT_NE(one.text.find(" free: lower rows, columns, depth or count of product\n"), std::string::npos) << one.text;
    outcome const two = ask(command + "--task compute --task " + huge + " --task " + huge);
    EXPECT_EQ(two.code, 1) << two.text;
    EXPECT_NE(two.text.find("product (1.5 PiB) and product-2 (1.5 PiB) together need 3.0 PiB"), std::string::npos)
        << two.text;
  }
}

TEST_F(program, a_reader_that_left_ends_it_quietly) {
  // A pipe that none reads; what stands behind the '#' is a comment.
  std::string const pipe = file("pipe");
  std::string const left =
      "exec 2>&1; mkfifo " + pipe + "; exec 3<>" + pipe + " 4>" + pipe + " 3<&-; rm " + pipe + "; ";
  outcome const found = ask("tasks >&4 #", left);
  EXPECT_EQ(found.code, 141);
  EXPECT_EQ(found.text, "");
  if (!std::filesystem::exists("/dev/full")) GTEST_SKIP() << "there is no /dev/full";
  outcome const full = ask("tasks >/dev/full #", "exec 2>&1; ");
  EXPECT_EQ(full.code, 1);
  EXPECT_EQ(full.text, "lull: cannot write to standard output\n");
}

TEST_F(program, harvests_and_writes_report_and_trace) {
  outcome const found = ask(std::string{quick_harvest} + "--task compute:items=2000,rounds=200 --verify --report " +
                            file("r.json") + " --trace " + file("t.json"));
  ASSERT_EQ(found.code, 0) << found.text;
  json const read = report_in(file("r.json"));
  EXPECT_EQ(read["executor"], "threads");
  EXPECT_EQ(read["time"], "cpu");
  EXPECT_EQ(read["interrupted"], false);
  EXPECT_EQ(read["training"]["pairs"], 2U);
  EXPECT_GT(read["bubbles"]["count"], 0U);
  EXPECT_TRUE(read["harvest"]["ratio"].is_number());
  EXPECT_TRUE(
      std::any_of(read["jobs"].begin(), read["jobs"].end(), [](json const& one) { return one["verified"] == true; }));
  std::string const trace = content(file("t.json"));
  for (char const* each :
       {"compute used", "alone: bubbles", "with side work: workers", "\"backward 8\"", "\"compute\""})
    EXPECT_NE(trace.find(each), std::string::npos) << each;
}

TEST_F(program, says_of_every_job_how_many_chunks_it_took_and_whether_it_is_right) {
  for (std::string const mode : {"lull", "naive"}) {
    outcome const found =
        ask(std::string{quick_harvest} + "--verify --task compute:items=100,rounds=20,grain=8 --mode " + mode +
            " --report " + file("j.json"));
    ASSERT_EQ(found.code, 0) << found.text;
    json const read = report_in(file("j.json"));
    ASSERT_FALSE(read["jobs"].empty());
    for (json const& one : read["jobs"]) {
      if (one["state"] != "finished") continue;
      EXPECT_EQ(one["verified"], true);
      auto const chunks = one["chunks"].get<std::uint64_t>();
      EXPECT_EQ(chunks % (13 * 20), 0U);  // naive sums up its runs
      EXPECT_EQ(chunks / 13, one["items"].get<std::uint64_t>() / 100);
    }
  }
}

TEST_F(program, what_was_lost_and_what_was_harvested_are_the_bubbles_time) {
  ASSERT_EQ(ask(std::string{quick_harvest} + "--task compute:items=2000,rounds=200 --report " + file("s.json")).code,
            0);
  json const read = report_in(file("s.json"));
  double lost_ms = 0;
  for (json const& each : read["harvest"]["lost_us"]) lost_ms += each.get<double>() / 1e3;
  auto const total_ms = read["bubbles"]["total_ms"].get<double>();
  EXPECT_NEAR(lost_ms, total_ms * (1 - read["harvest"]["ratio"].get<double>()), 1e-6 * total_ms);
}

constexpr char const* two_models =
    "--task mlp:hidden=16,epochs=3,losses=LOSSES --task pagerank:kronecker=10,out=RANKS ";

/// The options of two tasks that write files of these names.
std::string writing(std::string tasks, std::string const& losses, std::string const& ranks) {
  tasks.replace(tasks.find("LOSSES"), 6, losses);
  return tasks.replace(tasks.find("RANKS"), 5, ranks);
}

TEST_F(program, several_tasks_come_to_what_each_one_alone_does) {
  ASSERT_EQ(ask("run --executor threads --task mlp:hidden=16,epochs=3,losses=" + file("losses")).code, 0);
  ASSERT_EQ(ask("run --executor threads --task pagerank:kronecker=10,out=" + file("ranks")).code, 0);
  for (std::string const command : {"run --executor threads ", quick_harvest}) {
    outcome const found = ask(
        command + writing(two_models, file("losses_too"), file("ranks_too")) +
        "--task compute:items=50,rounds=4,priority=3 --task mlp:hidden=8,epochs=1 --verify --report " + file("s.json"));
    ASSERT_EQ(found.code, 0) << found.text;
    EXPECT_EQ(content(file("losses_too")), content(file("losses")));
    EXPECT_EQ(content(file("ranks_too")), content(file("ranks")));
    json const read = report_in(file("s.json"));
    ASSERT_EQ(read["config"]["tasks"].size(), 4U);
    EXPECT_EQ(read["config"]["tasks"][2]["options"]["priority"], "3");
    for (std::string const name : {"mlp", "pagerank", "compute", "mlp-2"}) {
      auto const its = std::find_if(read["jobs"].begin(), read["jobs"].end(),
                                    [&](json const& one) { return one["name"] == name && one["state"] == "finished"; });
      ASSERT_NE(its, read["jobs"].end()) << name;
      EXPECT_EQ((*its)["verified"], true) << name;
      EXPECT_NE(found.text.find(name + ": verified: "), std::string::npos) << found.text;
    }
    EXPECT_EQ(read["harvest"]["ratio"].is_number(), command == quick_harvest);
  }
}

TEST_F(program, a_task_that_fails_softly_ends_alone) {
  for (std::string const command : {"run --executor threads ", quick_harvest}) {
    outcome const found =
        ask(command +
            writing("--task mlp:rate=1e6,hidden=16,epochs=3,losses=LOSSES --task pagerank:kronecker=10,out=RANKS ",
                    file("losses"), file("ranks")) +
            "--verify --report " + file("f.json"));
    EXPECT_EQ(found.code, 1) << found.text;
    EXPECT_NE(found.text.find("job 'mlp' failed: its results name 1 failure"), std::string::npos) << found.text;
    EXPECT_NE(found.text.find("mlp: stopped: the loss is no longer a number"), std::string::npos) << found.text;
    EXPECT_NE(found.text.find("pagerank: verified: "), std::string::npos) << found.text;
    EXPECT_TRUE(std::filesystem::exists(file("ranks")));
    json const read = report_in(file("f.json"));
    EXPECT_EQ(read["interrupted"], false);
    EXPECT_EQ(std::count_if(read["jobs"].begin(), read["jobs"].end(),
                            [](json const& one) { return one["name"] == "mlp" && one["failures"] == 1; }),
              1);
    if (command == quick_harvest) {
      EXPECT_EQ(read["training"]["pairs"], 2U);  // the replay went on
    }
  }
}

TEST_F(program, a_job_file_may_name_several_tasks) {
  std::ofstream{file("jobs.json")} << R"([{"task": "compute", "options": {"items": 10, "rounds": 2}},
                                          {"task": "streaming", "options": {"items": 4, "rounds": 2, "priority": 1}}])";
  outcome const found = ask("run --executor threads --verify --json --job " + file("jobs.json"));
  ASSERT_EQ(found.code, 0) << found.text;
  json const read = json::parse(found.text);
  ASSERT_EQ(read["jobs"].size(), 2U);
  for (json const& one : read["jobs"]) EXPECT_EQ(one["verified"], true);
  EXPECT_EQ(read["jobs"][0]["chunks"], 20U);
  EXPECT_EQ(read["jobs"][1]["chunks"], 8U);
}

TEST_F(program, a_screen_that_is_gone_takes_no_report_with_it) {
  ask("run --executor threads --task compute:items=10,rounds=2 --report " + file("g.json") + " | exec 0<&- true #");
  EXPECT_EQ(report_in(file("g.json"))["jobs"].size(), 1U);
}

/// … of one task, too, and with --json on standard error.
TEST_F(program, failures_are_named_on_standard_error_beside_json) {
  add_picture();
  outcome const found = ask("run --executor threads --json --task images:in=" + file("in") + ",out=" + file("out"));
  EXPECT_EQ(found.code, 1) << found.text;
  for (char const* const each : {"1 failed:", "no.png", "job 'images' failed: its results name 1 failure"})
    EXPECT_NE(found.text.find(each), std::string::npos) << found.text;
}

/// A chunk of a minute at least: nothing can make it leave, and its memory cannot be freed beneath it.
TEST_F(program, a_chunk_that_does_not_end_ends_the_program_with_a_word) {
  outcome const found =
      ask("run --executor threads --task compute:items=65536,grain=65536,rounds=1,fma=1000000 --at-most 1s");
  EXPECT_EQ(found.code, 1) << found.text;
  EXPECT_NE(found.text.find("given up after 10s"), std::string::npos) << found.text;
}

TEST_F(program, naive_and_none_compare_training_alone) {
  for (std::string const mode : {"naive", "none"}) {
    outcome const found = ask(std::string{quick_harvest} + "--task compute:items=2000,rounds=50 --mode " + mode +
                              " --report " + file("m.json"));
    ASSERT_EQ(found.code, 0) << found.text;
    json const read = report_in(file("m.json"));
    EXPECT_EQ(read["training"]["pairs"], 2U);
    EXPECT_TRUE(read["harvest"]["ratio"].is_null());
  }
}

TEST_F(program, doctor_lists_what_it_looked_at) {
  outcome const found = ask("doctor --json");
  EXPECT_TRUE(found.code == 0 || found.code == 1) << found.text;
  for (char const* what :
       {"driver", "lazy loading", "connections", "pending waits", "MPS", "profilers", "reserved groups", "power cap"}) {
    EXPECT_NE(found.text.find(what), std::string::npos) << what;
  }
  bool const measured = found.text.find("\"base_us\"") != std::string::npos;
  bool const says_why_not =
      found.text.find("NOT RUN: ") != std::string::npos || found.text.find("not measured: ") != std::string::npos;
  EXPECT_NE(measured, says_why_not) << found.text;
}

TEST_F(program, doctor_measures_nothing_where_there_is_no_device) {
  outcome const found = ask("doctor --json --device 1023");  // no computer has so many
  EXPECT_EQ(found.code, 1) << found.text;
  EXPECT_NE(found.text.find("\"found\": \"NOT RUN: "), std::string::npos) << found.text;
  EXPECT_EQ(found.text.find("base_us"), std::string::npos) << found.text;
}

}  // namespace
}  // namespace lull
