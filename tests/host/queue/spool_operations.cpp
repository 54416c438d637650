// SPDX-License-Identifier: Apache-2.0
#include <lull/tests/host/queue/spool_operations.hpp>

#include <algorithm>
#include <fstream>
#include <string_view>

#include <sys/wait.h>

#include <gtest/gtest.h>

#include <lull/host/error.hpp>
#include <lull/host/queue/attempt_files.hpp>

namespace lull::queue {

namespace {

namespace fs = std::filesystem;

constexpr char const* agent_id = spool_scene::agent_id;

std::size_t named(spool_scene const& here, std::string const& name) {
  spool store = here.open();
  std::vector<job_entry> const all = store.list();
  return static_cast<std::size_t>(std::count_if(
      all.begin(), all.end(), [&](job_entry const& each) { return store.document(each.id).name == name; }));
}

std::optional<job_entry> changed(job_store& store, job_entry const& from, entry_state state, durability how) {
  job_entry next = from;
  next.state = state;
  next.agent = agent_id;
  return store.change(from, next, {.reason = "as a test asks"}, how);
}

spool_operation submission(std::size_t count) {
  auto const submit = [count](job_store& store) {
    std::vector<job_document> const jobs(count, job_named("new"));
    return store.submit(jobs).size();
  };
  return {.name = count == 1 ? "submit" : "submit_many",
          .make = [submit](spool_scene& here) { submit(*here.own); },
          .check =
              [count](spool_scene& here, bool acknowledged, fault what) {
                std::size_t const found = named(here, "new");
                EXPECT_LE(found, count);
                if (acknowledged || what == fault::refused) {
                  EXPECT_EQ(found, acknowledged ? count : 0);
                }
                EXPECT_EQ(here.now(), here.before);
              },
          .again =
              [submit, count](spool_scene& here) {
                std::size_t const known = named(here, "new");
                spool store = here.open();
                EXPECT_EQ(submit(store), count);
                EXPECT_EQ(named(here, "new"), known + count);
              }};
}

/// A process that died has made folders, whose names may not be on the disk yet.
spool_operation submission_after_a_death() {
  spool_operation made = submission(1);
  constexpr std::string_view letters = "0123456789abcdefghjkmnpqrstvwxyz";
  auto const are_left = [letters](spool_scene const& here) {
    std::vector<std::string> found;
    for (std::string const kind : {"documents", "jobs"})
      for (char const each : letters)
        if (each != here.id.back() && each != here.other.back()) found.push_back("spool/" + kind + "/" + each);
    return found;
  };
  made.name = "submit_after_a_death";
  made.prepare = [are_left](spool_scene& here) {
    for (std::string const& each : are_left(here)) {
      fs::create_directory(here.folder_.at(each));
      fs::permissions(here.folder_.at(each), fs::perms::owner_all);
    }
  };
  made.unflushed = are_left;
  return made;
}

spool_operation change_to(std::string name, entry_state before, entry_state after, durability how) {
  return {.name = std::move(name),
          .prepare =
              [before](spool_scene& here) {
                if (before != entry_state::queued) here.bring(before);
              },
          .make = [after, how](spool_scene& here) { changed(*here.own, here.before, after, how); },
          .check =
              [after](spool_scene& here, bool acknowledged, fault) {
                job_entry const now = here.now();
                if (now == here.before) {
                  EXPECT_FALSE(acknowledged);
                }
                if (now != here.before) {
                  EXPECT_EQ(now.state, after);
                }
                if (now != here.before) {
                  EXPECT_EQ(now.version, here.before.version + 1);
                }
              },
          .again =
              [after, how](spool_scene& here) {
                spool store = here.open();
                EXPECT_TRUE(changed(store, here.now(), after, how));
                EXPECT_EQ(here.now().state, after);
              },
          .lasts = how == durability::durable};
}

spool_operation beating() {
  auto const beat = [](job_store& store, std::uint64_t beats) {
    store.beat({.id = agent_id, .beats = beats, .host = "here", .process = 7});
  };
  return {.name = "renew",
          .prepare =
              [beat](spool_scene& here) {
                spool store = here.open();
                beat(store, 1);
              },
          .make = [beat](spool_scene& here) { beat(*here.own, 2); },
          .check =
              [](spool_scene& here, bool acknowledged, fault what) {
                auto const all = here.open().agents();
                if (what == fault::power_cut && all.empty()) return;
                ASSERT_EQ(all.size(), 1U);
                EXPECT_TRUE(all.front().beats == 2 || (all.front().beats == 1 && !acknowledged));
              },
          .again =
              [beat](spool_scene& here) {
                spool store = here.open();
                beat(store, 3);
                ASSERT_EQ(store.agents().size(), 1U);
                EXPECT_EQ(store.agents().front().beats, 3U);
              },
          .lasts = false};
}

/// An agent puts in place what an attempt has written: a file and a folder, where older ones are.
spool_operation placing() {
  return {.name = "put_in_place",
          .prepare =
              [](spool_scene& here) {
                here.write_results();
                here.bring(entry_state::done, {.results = here.results()});
              },
          .begin =
              [](spool_scene& here) {
                here.works = spool_scene::make_agent(
                    *here.own, [&](std::string const& line, std::string const&) { here.said += line + "\n"; });
                job_entry next = here.before;
                next.agent = here.works->id();  // so that it need not wait for a lease
                here.own->change(here.before, next, {.results = here.results()}, durability::durable);
              },
          .make = [](spool_scene& here) { here.tick(); },
          .check =
              [](spool_scene& here, bool acknowledged, fault what) {
                job_entry const now = here.now();
                EXPECT_EQ(now.state, entry_state::done);
                std::string const file = here.content("out.csv");
                std::string const folder = here.content("pictures");
                EXPECT_TRUE(file == "old" || file == "new") << file;
                EXPECT_TRUE(folder == "a:old b:old " || folder == "a:new c:new " || folder.empty()) << folder;
                if (acknowledged) {
                  EXPECT_TRUE(now.in_place);
                }
                if (now.in_place) {
                  EXPECT_EQ(file + folder, "newa:new c:new ");
                }
                bool const any_left = here.content("out.attempt-1.csv") + here.content("pictures.attempt-1") != "";
                if (acknowledged && what == fault::killed) {
                  EXPECT_FALSE(any_left || fs::exists(here.folder_.at("pictures.attempt-1.older")));
                }
              },
          .again =
              [](spool_scene& here) {
                here.work_off([&](agent&) { return here.now().in_place; });
                EXPECT_EQ(here.content("out.csv"), "new");
                EXPECT_EQ(here.content("pictures"), "a:new c:new ");
              }};
}

/// An agent ends a job whose program has ended.
spool_operation ending() {
  auto const runs = [](job_document const&, attempt const& at) -> prepared_job {
    std::string const to = at.checkpoint.parent_path() / "out";
    std::string const from = to + ".attempt-1";
    return {.arguments = {"/bin/sh", "-c", "echo result > \"$0\"", from}, .results = {{from, to}}};
  };
  auto const result = [](spool_scene const& here) {
    return here.content("spool/work/" + here.id.substr(19) + "/" + here.id + "/out");
  };
  return {.name = "end",
          .begin =
              [runs](spool_scene& here) {
                here.works = spool_scene::make_agent(
                    *here.own, [&](std::string const& line, std::string const&) { here.said += line + "\n"; }, runs);
                while (here.own->entry(here.id).state != entry_state::running)
                  here.works->tick(std::chrono::steady_clock::now());
                siginfo_t about{};
                ::waitid(P_ALL, 0, &about, WEXITED | WNOWAIT);
              },
          .make = [](spool_scene& here) { here.tick(); },
          .check =
              [result](spool_scene& here, bool acknowledged, fault what) {
                job_entry const now = here.now();
                if (acknowledged) {
                  EXPECT_TRUE(now.in_place);
                }
                if (now.in_place) {
                  EXPECT_EQ(result(here), "result\n");
                }
                bool const is_tried_again = what == fault::refused && now.state == entry_state::saved;
                EXPECT_TRUE(now.state == entry_state::done || now.state == entry_state::running || is_tried_again);
              },
          .again =
              [result](spool_scene& here) {
                here.work_off([&](agent&) { return here.now().in_place || waits(here.now().state); });
                if (here.now().in_place) {
                  EXPECT_EQ(result(here), "result\n");
                }
              },
          .unflushed =
              [](spool_scene const& here) {
                return std::vector{"spool/work/" + here.id.substr(19) + "/" + here.id + "/out.attempt-1"};
              }};
}

spool_operation removal() {
  return {.name = "remove",
          .prepare =
              [](spool_scene& here) {
                here.bring(entry_state::cancelled);
                fs::path const files = here.open().folder(here.id);
                fs::create_directory(files / "checkpoint-1");
                for (char const* const name : {"log-1", "checkpoint-1/a", "checkpoint-1/b"})
                  std::ofstream{files / name} << "x";
              },
          .make = [](spool_scene& here) { here.own->remove(here.before); },
          .check =
              [](spool_scene& here, bool acknowledged, fault) {
                bool const is_there = here.jobs() == 2;
                if (is_there) {
                  EXPECT_EQ(here.now(), here.before);
                }
                if (acknowledged) {
                  EXPECT_FALSE(is_there);
                }
              },
          .again =
              [](spool_scene& here) {
                spool store = here.open();
                bool const is_there = here.jobs() == 2;
                EXPECT_EQ(store.remove(here.before), is_there);
                EXPECT_EQ(here.jobs(), 1U);
              }};
}

/// A further attempt takes over what an earlier one had saved.
spool_operation taking_over() {
  auto const saved = [](spool_scene const& here, unsigned number) {
    return here.content("spool/work/" + here.id.substr(19) + "/" + here.id + "/checkpoint-" + std::to_string(number));
  };
  return {.name = "take_over_checkpoint",
          .prepare =
              [](spool_scene& here) {
                attempt const first = attempt_in(here.open().folder(here.id), here.id, 1);
                for (char const* const name : {"a", "b", "c"}) std::ofstream{first.checkpoint / name} << "saved";
                here.bring(entry_state::claimed, {}, 2);
              },
          .make = [](spool_scene& here) { attempt_in(here.own->folder(here.id), here.id, 2); },
          .check =
              [saved](spool_scene& here, bool, fault) {
                EXPECT_EQ(here.now(), here.before);
                EXPECT_EQ(saved(here, 1), "a:saved b:saved c:saved ");
              },
          .again =
              [saved](spool_scene& here) {  // an agent that has the job after its lease
                attempt_in(here.open().folder(here.id), here.id, 3);
                EXPECT_EQ(saved(here, 3), "a:saved b:saved c:saved ");
              },
          .lasts = false};
}

/// A spool is made where there is none.
spool_operation making() {
  auto const other_at = [](spool_scene const& here) { return here.folder_.at("second"); };
  return {.name = "make",
          .make = [other_at](spool_scene& here) { spool::make(other_at(here), std::chrono::seconds{7}); },
          .check =
              [other_at](spool_scene& here, bool acknowledged, fault) {
                if (acknowledged) {
                  EXPECT_EQ(spool{other_at(here)}.lease(), std::chrono::seconds{7});
                }
              },
          .again =
              [other_at](spool_scene& here) {
                spool::make(other_at(here), std::chrono::seconds{7});
                EXPECT_EQ(spool{other_at(here)}.lease(), std::chrono::seconds{7});
              }};
}

}  // namespace

std::vector<spool_operation> spool_operations() {
  return {submission(1),
          submission(3),
          submission_after_a_death(),
          change_to("claim", entry_state::queued, entry_state::claimed, durability::may_be_lost),
          change_to("finish", entry_state::running, entry_state::done, durability::durable),
          beating(),
          ending(),
          placing(),
          removal(),
          taking_over(),
          making()};
}

}  // namespace lull::queue
