// SPDX-License-Identifier: Apache-2.0
#include <lull/host/measure/finish.hpp>

#include <exception>
#include <filesystem>
#include <utility>

namespace lull {
namespace {

bool is_whole(ended_task const& task) {  // else what failed may be tried again
  return task.finished == nullptr || task.finished->failures() == 0;
}

/// Of a task that finished: its verdict, and what it wrote, now or before.
void finish_one(ended_task const& task, results_judged judged, std::vector<std::string>& lines,
                std::optional<bool>& verified) {
  if (judged == results_judged::yes) {
    verification const found = task.judge();
    verified = found.ok;
    lines.push_back((found.ok ? "verified: " : "WRONG RESULT: ") + found.message);
  }
  std::vector<std::string> const told = task.written ? *task.written : write_result(*task.finished);
  lines.insert(lines.end(), told.begin(), told.end());
}

}  // namespace

outcome finish(std::vector<ended_task> const& tasks, results_judged judged) {
  outcome made;
  bool written = true;
  for (ended_task const& task : tasks) {
    std::vector<std::string> lines;
    std::optional<bool>& verified = made.verified.emplace_back();
    bool goes_on = false;
    if (task.saves != nullptr && task.saves->resumed()) lines.push_back("resumed from " + task.saves->file().string());
    if (task.finished != nullptr) {
      try {
        finish_one(task, judged, lines, verified);
      } catch (std::exception const& problem) {
        lines.push_back(std::string{"NOT WRITTEN: "} + problem.what());
        goes_on = true;
        made.good = written = false;
      }
      made.good = made.good && is_whole(task) && verified != false;
    } else if (task.written) {
      lines.insert(lines.end(), task.written->begin(), task.written->end());
      if (judged == results_judged::yes) lines.push_back("not verified: the task had begun another run");
    } else {
      made.all_finished = false;
      goes_on = true;
      if (judged == results_judged::yes) lines.push_back("not verified: the task did not finish");
    }
    if (!task.save_problem.empty()) {
      lines.push_back("NOT SAVED: " + task.save_problem);
      made.good = false;
    } else if (goes_on && task.saves != nullptr && std::filesystem::exists(task.saves->file())) {
      lines.push_back("saved: " + task.saves->file().string() + "; --resume goes on from there");
    }
    std::string const whose = tasks.size() > 1 ? task.name + ": " : "";
    for (std::string const& each : lines) made.lines.push_back(whose + each);
  }
  for (ended_task const& task : tasks) {
    if (made.all_finished && written && task.saves != nullptr && is_whole(task)) task.saves->forget();
  }
  return made;
}

}  // namespace lull
