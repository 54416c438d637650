// SPDX-License-Identifier: Apache-2.0
// What jobs have written, from outside: shown, and brought home.
#include <filesystem>
#include <iterator>
#include <string>

#include <gtest/gtest.h>

#include <lull/host/io/shipped_file.hpp>
#include <lull/host/queue/spool.hpp>
#include <lull/tests/apps/lull/queued.hpp>

namespace lull {
namespace {

namespace fs = std::filesystem;

class results : public queued {
 protected:
  results() { fs::create_directory(file("home")); }
  std::string model(std::string const& name) const { return submit("--task mlp:epochs=1,hidden=16,model=" + name); }
  json shown(std::string const& rest) const {
    std::string const text = in("results", rest + " --json").text;
    return json::parse(text.substr(0, text.rfind(']') + 1));  // without what standard error says
  }
  std::ptrdiff_t names() const { return std::distance(fs::directory_iterator{file("home")}, fs::directory_iterator{}); }
};

TEST_F(results, are_shown_with_their_sizes_and_come_home) {
  fs::create_directory(file("in"));
  fs::copy_file(shipped_file("chelsea.png", "nothing"), file("in/cat.png"));
  std::string const trains = model("m.safetensors");
  std::string const resizes = submit("--task images:width=9,in=in,out=small");
  std::string const computes = submit("--task compute:items=64,rounds=3");
  outcome const worked = work_off();
  json const found = shown(trains + " " + resizes + " " + computes);
  ASSERT_EQ(found.size(), 3U) << worked.text;
  EXPECT_EQ(found[0]["results"][0],
            (json{{"path", file("m.safetensors")}, {"kind", "file"}, {"bytes", fs::file_size(file("m.safetensors"))}}));
  EXPECT_EQ(found[1]["results"][0],
            (json{{"path", file("small")}, {"kind", "folder"}, {"bytes", fs::file_size(file("small/cat.png"))}}));
  EXPECT_EQ(found[2]["results"].size(), 0U);
  EXPECT_EQ(found[2]["in_place"], true);
  outcome const text = in("results", trains + " " + resizes + " --to home");
  EXPECT_EQ(text.code, 0) << text.text;
  EXPECT_EQ(text.text, "home/m.safetensors  " + std::to_string(fs::file_size(file("m.safetensors"))) +
                           " bytes\nhome/small/  " + std::to_string(fs::file_size(file("small/cat.png"))) + " bytes\n");
  EXPECT_EQ(content(file("home/m.safetensors")), content(file("m.safetensors")));
  EXPECT_EQ(content(file("home/small/cat.png")), content(file("small/cat.png")));
  EXPECT_EQ(names(), 2);
}

TEST_F(results, of_which_one_cannot_come_home_leave_all_as_it_was) {
  fs::create_directory(file("other"));
  std::string const one = model("m.safetensors");
  std::string const same_name = model("other/m.safetensors");
  ASSERT_EQ(work_off().code, 0);
  std::string const waits = model("n.safetensors");
  auto const refuses = [&](std::string const& rest, std::string const& why, int code = 2) {
    outcome const found = in("results", rest);
    EXPECT_EQ(found.code, code) << rest << '\n' << found.text;
    EXPECT_NE(found.text.find(why), std::string::npos) << found.text;
    EXPECT_EQ(names(), 0) << rest;
  };
  refuses(one + " " + same_name + " --to home", "have the same name");
  refuses(one + " " + waits + " --to home",
          "job " + waits + " has no results in place: it is queued; nothing was copied");
  refuses(one + " " + waits, "job " + waits + " has no results in place: it is queued");
  refuses(one + " --to missing", "there is no such folder");
  refuses(one + " --to .", "it needs no copy");
  refuses(one + " --force", "--to");
  refuses("00000000000000000000", "there is no job");
  EXPECT_EQ(shown(one + " " + waits)[1]["in_place"], false);
  ASSERT_EQ(in("results", one + " --to home").code, 0);
  folder_.write("home/m.safetensors", "another");
  outcome const taken = in("results", one + " --to home");
  EXPECT_EQ(taken.code, 2);
  EXPECT_NE(taken.text.find("home/m.safetensors is there already: --force replaces it"), std::string::npos);
  EXPECT_EQ(content(file("home/m.safetensors")), "another");
  EXPECT_EQ(in("results", one + " --to home --force").code, 0);
  EXPECT_EQ(content(file("home/m.safetensors")), content(file("m.safetensors")));
  fs::remove_all(file("home"));
  fs::create_directory(file("home"));
  fs::remove(file("m.safetensors"));
  refuses(one, "m.safetensors is not there", 1);
  refuses(one + " --to home", "it is not there", 1);
}

TEST_F(results, that_no_agent_has_renamed_yet_are_not_in_place) {
  std::string const id = model("m.safetensors");
  queue::spool store{file("spool")};
  queue::job_entry done = store.entry(id);
  done.state = queue::entry_state::done;
  ASSERT_TRUE(store.change(store.entry(id), done, {.results = {{file("m.attempt"), file("m.safetensors")}}},
                           queue::durability::durable));
  EXPECT_EQ(in("jobs", "--why " + id).text, "done: its results are not in place yet\n");
  outcome const found = in("results", id);
  EXPECT_EQ(found.code, 2);
  EXPECT_NE(found.text.find("it is done, and an agent has yet to rename them"), std::string::npos) << found.text;
  folder_.write("m.attempt", "weights");
  ASSERT_EQ(work_off().code, 0);
  EXPECT_EQ(in("results", id).text, file("m.safetensors") + "  7 bytes\n");
}

TEST_F(results, of_some_jobs_only_are_listed_and_unknown_ones_are_told) {
  std::string const one = model("a.safetensors");
  std::string const two = model("b.safetensors");
  model("c.safetensors");
  json const both = json::parse(in("jobs", "--json " + two + " " + one).text);
  ASSERT_EQ(both.size(), 2U);
  EXPECT_EQ(both[0]["id"], two);
  EXPECT_EQ(both[1]["in_place"], false);
  outcome const some = in("jobs", one + " 00000000000000000000");
  EXPECT_EQ(some.code, 2);
  EXPECT_NE(some.text.find(one), std::string::npos);
  EXPECT_NE(some.text.find("lull: there is no job 00000000000000000000"), std::string::npos);
  EXPECT_EQ(in("jobs", one + " --why " + two).code, 2);
}

}  // namespace
}  // namespace lull
