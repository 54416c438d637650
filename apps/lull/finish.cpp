// SPDX-License-Identifier: Apache-2.0
#include <lull/apps/lull/finish.hpp>

#include <exception>
#include <utility>

namespace lull {
namespace {

/// Of a task that finished: its verdict, and what it wrote. False: something of it is wrong.
bool finish_task(side_jobs& jobs, std::size_t task, results_judged judged, std::vector<std::string>& lines) {
  bool good = true;
  if (judged == results_judged::yes) {
    verification const found = jobs.verify(task);
    good = found.ok;
    lines.push_back((found.ok ? "verified: " : "WRONG RESULT: ") + found.message);
  }
  task_owner& owner = *jobs.finished(task);
  for (std::string& each : owner.write()) lines.push_back(std::move(each));
  return good && owner.failures() == 0;
}

}  // namespace

outcome finish(side_jobs& jobs, results_judged judged) {
  outcome made;
  bool written = true;
  for (std::size_t task = 0; task < jobs.tasks(); ++task) {
    std::vector<std::string> lines;
    checkpoints const* const saves = jobs.saves(task);
    auto const say_how_to_go_on = [&] {
      if (auto const where = saves != nullptr ? saves->how_to_go_on() : std::nullopt) lines.push_back(*where);
    };
    if (saves != nullptr && saves->resumed()) lines.push_back("taken up from " + saves->file().string());
    if (jobs.finished(task) != nullptr) {
      try {
        made.good = finish_task(jobs, task, judged, lines) && made.good;
      } catch (std::exception const& problem) {
        lines.push_back(std::string{"NOT WRITTEN: "} + problem.what());
        say_how_to_go_on();
        made.good = written = false;
      }
    } else if (auto const& before = jobs.written(task)) {
      lines.insert(lines.end(), before->begin(), before->end());
      if (judged == results_judged::yes) lines.push_back("not verified: another run of the task had begun");
    } else {
      made.all_finished = false;
      if (std::string const& why = jobs.save_problem(task); !why.empty()) {
        lines.push_back("NOT SAVED: " + why);
        made.good = false;
      } else {
        say_how_to_go_on();
      }
      if (judged == results_judged::yes) lines.push_back("not verified: the task did not come to its end");
    }
    std::string const whose = jobs.tasks() > 1 ? jobs.name(task) + ": " : "";
    for (std::string const& each : lines) made.lines.push_back(whose + each);
  }
  for (std::size_t task = 0; made.all_finished && written && task < jobs.tasks(); ++task) {
    checkpoints* const saves = jobs.saves(task);
    task_owner const* const owner = jobs.finished(task);
    bool const whole = owner == nullptr || owner->failures() == 0;  // else what failed may be tried again
    if (saves != nullptr && whole) saves->forget();
  }
  return made;
}

}  // namespace lull
