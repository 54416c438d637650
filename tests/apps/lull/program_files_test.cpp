// SPDX-License-Identifier: Apache-2.0
// The program and its files: none is written over another, and what cannot be written hides nothing else.
#include <filesystem>
#include <fstream>
#include <string>

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <gtest/gtest.h>

#include <lull/tests/apps/lull/program.hpp>
#include <lull/tests/support/effort.hpp>

namespace lull {
namespace {

TEST_F(program, no_file_is_written_over_another) {
  std::string const small = "mlp:epochs=1,hidden=16,";
  std::ofstream{file("data.csv")} << "0,1,0\n";
  std::filesystem::create_hard_link(file("data.csv"), file("other name.csv"));
  std::ofstream{file("graph.el")} << "0 1\n1 0\n";
  for (std::string const command : {"run --executor threads ", quick_harvest}) {
    expect_refused(command + "--task " + small + "losses=" + file("x") + " --report " + file("x"),
                   "would be written twice, by --report and by mlp");
    expect_refused(command + "--task " + small + "losses=" + file("x") + ",plot=" + file("./x"),
                   "would be written twice");
    expect_refused(
        command + "--task " + small + "data=" + file("data.csv") + ",losses='" + file("other name.csv") + "'",
        "and is read by mlp");
    expect_refused(command + "--task pagerank:graph=" + file("graph.el") + ",out=" + file("graph.el"),
                   "and is read by pagerank");
    expect_refused(command + "--task " + small + "model=" + file("m") + " --task " + small + "model=" + file("m"),
                   "by mlp and by mlp-2");
    expect_refused(command + "--task " + small + "model=" + file("m") + " --task classify:model=" + file("m") +
                       ",out=" + file("o"),
                   "and is read by classify");
  }
  EXPECT_EQ(content(file("data.csv")), "0,1,0\n");
}

TEST_F(program, no_picture_job_file_or_checkpoint_is_written_over) {
  add_picture();
  std::filesystem::copy_file(file("in/no.png"), file("logo.png"));
  for (char const* const folder : {"other", "d"}) std::filesystem::create_directories(file(folder));
  std::filesystem::copy_file(file("in/no.png"), file("other/no.png"));
  std::ofstream{file("job.json")} << R"({"task": "compute"})";
  std::string const images = " --task images:in=" + file("in") + ",out=" + file("out");
  std::string const other_way = " --task images:in=" + file("other") + ",out=" + file("in");
  for (std::string const command : {"run --executor threads", "harvest --executor threads"}) {
    expect_refused(command + images + images, "by images and by images-2");
    expect_refused(command + images + other_way, "and is read by images");
    expect_refused(command + images + " --report " + file("in/no.png"), "and is read by images");
    expect_refused(command + images + ",logo=" + file("logo.png") + " --report " + file("logo.png"),
                   "and is read by images");
    expect_refused(command + " --job " + file("job.json") + " --report " + file("job.json"), "and is read by --job");
    expect_refused(command + " --task mlp:model=" + file("d/mlp.safetensors") + " --checkpoint " + file("d"),
                   "by mlp and by --checkpoint");
    expect_refused(command + " --task compute --checkpoint " + file("d") + " --report " + file("d/compute.safetensors"),
                   "by --report and by --checkpoint");
    expect_refused(command + images + " --checkpoint " + file("d") + " --report " + file("d/images.manifest"),
                   "by --report and by --checkpoint");
  }
  EXPECT_EQ(content(file("in/no.png")), "no picture");
}

TEST_F(program, a_place_that_cannot_be_written_is_refused_before_any_work) {
  std::string const mlp = "run --executor threads --task mlp:epochs=1,hidden=16,";
  expect_refused(mlp + "losses=" + file("none/x"), "mlp: losses=" + file("none/x") + ": there is no folder");
  expect_refused("run --executor threads --task pagerank:kronecker=6,out=" + file("none/x"),
                 "pagerank: out=" + file("none/x") + ": there is no folder");
  add_picture();
  // Before the machine is made: the first task does not fit on it.
  std::string const huge =
      " --executor threads --task product:rows=65536,columns=65536,depth=65536,count=65536 --task ";
  for (std::string const command : {"run", "harvest"}) {
    expect_refused(command + huge + "images:in=" + file("in") + ",out=" + file("in/no.png/out"),
                   "cannot be made a folder: Not a directory");
    expect_refused(command + huge + "mlp:plot=" + file("none/x"), "there is no folder");
    expect_refused(command + huge + "classify:model=m,out=" + file("none/x"), "there is no folder");
    expect_refused(command + huge + "pagerank:kronecker=6,out=" + file("none/x"), "there is no folder");
  }
  if (::geteuid() == 0) GTEST_SKIP() << "root may write anywhere";
  std::filesystem::create_directories(file("shut"));
  ASSERT_EQ(::chmod(file("shut").c_str(), 0500), 0);
  std::string const says = file("shut/x") + " cannot be written: Permission denied: ";
  expect_refused("run --executor threads --report " + file("shut/x"), "--report " + says);
  expect_refused("harvest --executor threads --trace " + file("shut/x"), "--trace " + says);
  expect_refused(mlp + "model=" + file("shut/x"), "mlp: model=" + says);
  std::string const images = "run --executor threads --task images:in=" + file("in") + ",out=";
  expect_refused(images + file("shut/a/b"), "images: out=" + file("shut/a/b") + " cannot be written: ");
  expect_refused("run --executor threads --task pagerank:kronecker=6,out=" + file("shut/x"), "pagerank: out=" + says);
}

TEST_F(program, a_folder_that_cannot_be_read_is_named_for_what_it_is) {
  if (::geteuid() == 0) GTEST_SKIP() << "root may read anywhere";
  add_picture();
  ASSERT_EQ(::chmod(file("in").c_str(), 0300), 0);
  expect_refused("run --executor threads --task images:in=" + file("in") + ",out=" + file("out"),
                 file("in") + ": cannot be read: Permission denied");
  EXPECT_FALSE(std::filesystem::exists(file("out")));
}

TEST_F(program, naive_work_that_cannot_be_written_hides_nothing_else) {
  if (!std::filesystem::exists("/dev/full")) GTEST_SKIP() << "there is no /dev/full";
  outcome const found =
      ask(quick_harvest + std::string{"--mode naive --task pagerank:kronecker=6,sweeps=3,out=/dev/full --report "} +
          file("n.json"));
  EXPECT_EQ(found.code, 1) << found.text;
  EXPECT_NE(found.text.find("NOT WRITTEN: "), std::string::npos) << found.text;
  EXPECT_TRUE(report_in(file("n.json"))["training"]["pairs"].is_number());
}

TEST_F(program, what_was_saved_is_not_begun_anew_by_mistake) {
  std::filesystem::create_directories(file("saved"));
  for (std::string const name : {"mlp.safetensors", "images.manifest"})
    std::ofstream{file("saved/" + name)} << "an hour's work";
  add_picture();
  expect_refused("run --executor threads --task mlp:epochs=1,hidden=16 --checkpoint " + file("saved"),
                 "mlp.safetensors exists: use --resume to continue");
  expect_refused("run --executor threads --task images:in=" + file("in") + ",out=" + file("out") + " --checkpoint " +
                     file("saved"),
                 "images.manifest exists: use --resume");
  std::ofstream{file("saved/compute.npz")} << "a day's work";
  for (std::string const how : {"", " --resume"})
    expect_refused("run --executor threads --task compute:items=10,rounds=2 --checkpoint " + file("saved") + how,
                   "compute.npz is a checkpoint in .npz, and Lull reads safetensors now");
  EXPECT_EQ(content(file("saved/compute.npz")), "a day's work");
  EXPECT_EQ(content(file("saved/mlp.safetensors")), "an hour's work");
  EXPECT_EQ(content(file("saved/images.manifest")), "an hour's work");
}

TEST_F(program, resume_says_where_nothing_was_saved) {
  outcome const found =
      ask("run --executor threads --task compute:items=10,rounds=2 --resume --checkpoint " + file("saved"));
  EXPECT_EQ(found.code, 0) << found.text;
  EXPECT_NE(found.text.find("there is no " + file("saved/compute.safetensors") + ": 'compute' begins from the start"),
            std::string::npos)
      << found.text;
}

TEST_F(program, a_folder_that_another_one_saves_in_is_refused) {
  std::string const asked = " --executor threads --task compute:items=10,rounds=2 --checkpoint " + file("saved");
  std::filesystem::create_directories(file("saved"));
  int const other = ::open(file("saved").c_str(), O_RDONLY | O_DIRECTORY);
  ASSERT_EQ(::flock(other, LOCK_EX), 0);
  for (std::string const command :
       {"run", "run --task streaming:items=4,rounds=2", "harvest --segment 200us --pairs 1"}) {
    expect_refused(command + asked, "another process saves its jobs there");
  }
  ::close(other);
  EXPECT_EQ(ask("run" + asked).code, 0);
}

TEST_F(program, a_job_that_cannot_be_saved_goes_on_and_says_so) {
  for (std::string const more : {"", " --task compute:items=10,rounds=2"}) {
    std::string const saved = file(more.empty() ? "saved" : "both_saved");
    std::filesystem::create_directories(saved);
    std::filesystem::create_symlink("nowhere/at all", saved + "/mlp.safetensors");
    outcome const found =
        ask("run --executor threads --task mlp:epochs=" + std::to_string(trials(200)) + ",hidden=16,model=" + saved +
            "_model" + more + " --checkpoint-every 1ms --checkpoint " + saved);
    EXPECT_EQ(found.code, 1) << found.text;
    for (char const* const each : {"job 'mlp' is not saved, which is tried again: ", "NOT SAVED: "})
      EXPECT_NE(found.text.find(each), std::string::npos) << found.text;
    EXPECT_TRUE(std::filesystem::exists(saved + "_model")) << found.text;
  }
}

TEST_F(program, a_full_disk_fails_and_shows_what_was_found) {
  if (!std::filesystem::exists("/dev/full")) GTEST_SKIP() << "there is no /dev/full";
  for (std::string_view const command : {"run --executor threads --task compute:items=10,rounds=2 ",
                                         "harvest --executor threads --segment 200us --pairs 1 --mode none "}) {
    std::string const what{command};
    outcome const found = ask(what + " --report /dev/full");
    EXPECT_EQ(found.code, 1) << found.text;
    EXPECT_NE(found.text.find("No space left"), std::string::npos) << found.text;
    EXPECT_NE(found.text.find("on threads"), std::string::npos) << found.text;
    EXPECT_EQ(ask(what + " >/dev/full").code, 1);
  }
}

/// The model is larger than a file may be here.
TEST_F(program, a_result_that_cannot_be_written_hides_nothing_else) {
  std::string const small_files = "ulimit -f 1; ";
  std::string const one = "run --executor threads --task mlp:epochs=1,hidden=16,model=" + file("model");
  for (std::string const& command :
       {one, one + " --checkpoint " + file("saved"), one + " --task compute:items=10,rounds=2"}) {
    outcome const found = ask(command, small_files);
    EXPECT_EQ(found.code, 1) << found.text;
    for (char const* const each : {"NOT WRITTEN: ", "File too large", "finished", "on threads"}) {
      EXPECT_NE(found.text.find(each), std::string::npos) << each << '\n' << found.text;
    }
    EXPECT_FALSE(std::filesystem::exists(file("model")));
  }
  outcome const shown = ask(one + " --json 2>/dev/null", small_files);
  EXPECT_EQ(shown.code, 1);
  EXPECT_NE(shown.text.find("\"finished\""), std::string::npos) << shown.text;
}
}  // namespace
}  // namespace lull
