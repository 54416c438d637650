// SPDX-License-Identifier: Apache-2.0
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <random>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <lull/host/error.hpp>
#include <lull/host/queue/job_document.hpp>
#include <lull/host/queue/job_id.hpp>
#include <lull/tests/support/effort.hpp>
#include <lull/tests/support/forked.hpp>
#include <lull/tests/support/message_of.hpp>

namespace lull::queue {
namespace {

using namespace std::chrono_literals;

std::vector<job_document> read(std::string const& text) { return parse_jobs(text, "job.json"); }

std::string document(std::string const& more, std::string const& run = R"({"task": "compute"})") {
  return "{\"schema\": \"lull.job/1\",\n\"run\": " + run + (more.empty() ? "" : ",\n" + more) + "\n}\n";
}

TEST(job_document, holds_what_was_asked_for) {
  auto const all = read(document(
      R"("name": "ranks", "user": "alice", "priority": -3, "deadline": "2026-12-01T10:00:00Z", "attempts": 5,
         "memory": "4GiB", "at_most": {"wall": "2min"}, "labels": {"step": "100"},
         "after": {"jobs": ["00000000000000000001"], "if": "any"})",
      R"({"task": "pagerank", "options": {"graph": "a,b.el", "damping": 0.85, "rounds": 1e3}})"));
  ASSERT_EQ(all.size(), 1U);
  job_document const& job = all.front();
  EXPECT_EQ(job.name, "ranks");
  EXPECT_EQ(job.run.task, "pagerank");
  EXPECT_EQ(job.run.options, (std::vector<std::pair<std::string, std::string>>{
                                 {"graph", "a,b.el"}, {"damping", "0.85"}, {"rounds", "1000"}}));
  EXPECT_EQ(job.user, "alice");
  EXPECT_EQ(job.priority, -3);
  EXPECT_EQ(job.deadline_s, 1'796'119'200);  // date -u -d 2026-12-01T10:00:00Z +%s
  EXPECT_EQ(job.attempts, 5U);
  EXPECT_EQ(job.memory_bytes, std::uint64_t{4} << 30);
  EXPECT_EQ(job.wall, 120s);
  EXPECT_EQ(job.labels.at("step"), "100");
  EXPECT_TRUE(job.after.any_end);
  EXPECT_EQ(to_json(read(to_json(job)).front()), to_json(job));
}

TEST(job_document, of_a_command_is_named_by_its_program) {
  job_document const job = read(document("", R"({"command": ["convert", "a b", ""], "folder": "/data"})")).front();
  EXPECT_EQ(job.name, "convert");
  EXPECT_EQ(job.run.command, (std::vector<std::string>{"convert", "a b", ""}));
  EXPECT_EQ(to_json(read(to_json(job)).front()), to_json(job));
}

TEST(job_document, of_a_python_function_says_which_options_it_writes_to) {
  job_document const job = read(document("", R"({"python": "a:b.py:f", "options": {"out": "x", "n": 3},
                                                "results": ["out"]})"))
                               .front();
  EXPECT_EQ(job.name, "a:b.py:f");
  EXPECT_EQ(split_entry(job.run.python), (std::pair<std::string, std::string>{"a:b.py", "f"}));
  EXPECT_EQ(job.run.results, (std::vector<std::string>{"out"}));
  EXPECT_EQ(to_json(read(to_json(job)).front()), to_json(job));
}

TEST(job_document, with_an_array_is_a_job_for_each_combination) {
  auto const all = read(document(R"("name": "s${seed}", "array": {"seed": [1, 2], "rate": ["0.1", 0.2, 3e-1]})",
                                 R"({"task": "mlp", "options": {"seed": "${seed}", "rate": "${rate}"}})"));
  ASSERT_EQ(all.size(), 6U);
  EXPECT_EQ(all.front().name, "s1");
  EXPECT_EQ(all.back().name, "s2");
  EXPECT_EQ(all.back().run.options.back().second, "0.3");
}

struct wrong_document {
  std::string text;
  std::string message;
};

TEST(job_document, that_is_wrong_is_refused_with_its_line) {
  std::vector<wrong_document> const wrong{
      {"", "is not JSON"},
      {"[]", "1: must be an object, not an array"},
      {"{}", "1: \"schema\" must be"},
      {R"({"schema": "lull.job/2"})", "1: \"schema\" must be \"lull.job/1\""},
      {document(R"("nmae": "x")"), "3: unknown key \"nmae\"; known: schema, name"},
      {document("\"name\": \"x\",\n\"name\": \"y\""), "4: \"name\" is given twice"},
      {document(R"("name": "")"), "3: \"name\" is one line of 1 to 200 bytes"},
      {document(R"("name": "a\nb")"), "3: \"name\" is one line"},
      {document(R"("priority": 2000)"), "3: \"priority\" is a whole number from -1000 to 1000, not 2000"},
      {document(R"("priority": 18446744073709551615)"), "3: \"priority\" is a whole number"},
      {document(R"("priority": 1.5)"), "3: \"priority\" is a whole number from -1000 to 1000, not the number 1.5"},
      {document(R"("priority": "5")"), "not a string"},
      {document(R"("deadline": "tomorrow")"), "3: \"deadline\": it is a time in UTC"},
      {document(R"("deadline": "2026-02-31T10:00:00Z")"), "3: \"deadline\": it is a time in UTC"},
      {document(R"("memory": "much")"), "3: \"memory\": "},
      {document(R"("at_most": {"wall": "0s"})"), "3: \"wall\" must be above 0"},
      {document(R"("at_most": {"wal": "1s"})"), "3: unknown key \"wal\""},
      {document(R"("after": {})"), "3: \"jobs\" names one job or more"},
      {document(R"("after": {"jobs": ["5"]})"), "3: \"5\" is no job's id"},
      {document(R"("after": {"jobs": ["00000000000000000001"], "if": "ok"})"), R"("if" is "done" or "any")"},
      {document(R"("labels": {"a": 1})"), "3: a label is a string, not the number 1"},
      {document(R"("array": {"a": []})"), "3: is a list of strings or numbers"},
      {document(R"("array": {"a": [null]})"), "3: takes a string or a number, not null"},
      {document("", "5"), "2: must be an object, not the number 5"},
      {document("", "{}"), R"(2: "run" has one of "task", "python" and "command")"},
      {document("", R"({"task": "a", "command": ["b"]})"), R"(2: "run" has one of)"},
      {document("", R"({"task": 5})"), "2: \"task\" is a string, not the number 5"},
      {document("", R"({"task": "a", "options": {"b": true}})"), "2: takes a string or a number, not true or false"},
      {document("", R"({"task": "a", "folder": "b"})"), "2: \"folder\" is an absolute path"},
      {document("", R"({"task": "a", "python": "a:b"})"), R"(2: "run" has one of)"},
      {document("", R"({"python": "a.py"})"), R"(2: "python" is "FILE.py:FUNCTION" or "MODULE:FUNCTION", not "a.py")"},
      {document("", R"({"python": "a:"})"), R"(not "a:")"},
      {document("", R"({"python": "a:b", "results": ["out"]})"),
       R"(2: "results" names options, and there is no "out")"},
      {document("", R"({"python": "a:b", "options": {"a=b": 1}})"), "2: an option's name holds no"},
      {document("", R"({"command": ["a"], "results": ["out"]})"), "2: \"results\" are options, and a command has none"},
      {document("", R"({"command": []})"), "2: \"command\" begins with a program"},
      {document("", R"({"command": "ls -l"})"), "2: \"command\" is an array of at most 1000 strings"},
      {document("", R"({"command": ["a\u0000b"]})"), "2: an argument cannot hold a zero byte"},
      {std::string(100, '[') + std::string(100, ']'), "is nested deeper than 16 levels"},
      {std::string((1 << 20) + 1, ' '), "is larger than 1048576 bytes"},
  };
  for (wrong_document const& each : wrong) {
    std::string const said = message_of<input_error>([&] { read(each.text); });
    EXPECT_NE(said.find(each.message), said.npos) << each.text.substr(0, 200) << "\n" << said;
  }
}

TEST(job_document, whatever_its_bytes_is_read_or_refused) {
  std::string const good = document(R"("name": "s${a}", "labels": {"k": "v"}, "array": {"a": [1, "2"]})");
  std::mt19937 random{20'261'130};
  for (std::uint64_t i = 0; i < trials(20'000); ++i) {
    std::string text = good;
    for (std::uint32_t changes = 1 + random() % 4; changes != 0; --changes) {
      std::size_t const at = random() % text.size();
      switch (random() % 3) {
        case 0:
          text[at] = static_cast<char>(random());
          break;
        case 1:
          text.erase(at, 1 + random() % 8);
          break;
        default:
          text.insert(at, text.substr(random() % text.size(), random() % 16));
      }
      if (text.empty()) text = "{";
    }
    try {
      for (job_document const& each : read(text)) EXPECT_EQ(to_json(read(to_json(each)).front()), to_json(each));
    } catch (input_error const&) {
    }
  }
}

TEST(job_id, of_a_forked_child_is_another) {
  for (int i = 0; i < 50; ++i) {
    make_job_id();
    test::value_pipe made;
    std::array<char, job_id_digits> of_child{};
    pid_t const child = test::forked([&] {
      std::string const id = make_job_id();
      std::copy(id.begin(), id.end(), of_child.begin());
      made.write(of_child);
      ::_exit(0);
    });
    std::string const own = make_job_id();
    of_child = made.read<std::array<char, job_id_digits>>();
    EXPECT_NE(own, std::string(of_child.begin(), of_child.end()));
    EXPECT_EQ(test::status_of(child), 0);
  }
}

TEST(job_id, sorts_as_it_was_made_and_is_known) {
  std::string last;
  for (int i = 0; i < 10'000; ++i) {
    std::string const id = make_job_id();
    ASSERT_TRUE(is_job_id(id)) << id;
    ASSERT_LT(last, id);
    last = id;
  }
  for (std::string const& wrong : {std::string{}, last + "0", "I" + last.substr(1), "/" + last.substr(1)})
    EXPECT_FALSE(is_job_id(wrong)) << wrong;
  EXPECT_TRUE(is_token(make_token()));
  EXPECT_NE(make_token(), make_token());
}

}  // namespace
}  // namespace lull::queue
