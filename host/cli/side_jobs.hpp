// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include <lull/host/cli/report.hpp>
#include <lull/host/cli/trainer.hpp>
#include <lull/host/owner.hpp>
#include <lull/host/runtime.hpp>

namespace lull {

/// A job that finished, with the arrays as it left them.
struct finished_job {
  task_owner* owner = nullptr;
  std::size_t result = 0;  // in `results`
};

/// Keeps a runtime busy with one task: a job that ends is submitted anew, from a reset task, by a thread of its own. With two
/// owners the second stands ready as the successor.
class side_jobs {
 public:
  static constexpr std::size_t most_results = 100;  // jobs that are listed one by one; the last ones

  side_jobs(runtime& side, std::vector<std::unique_ptr<task_owner>> owners, std::string name);
  ~side_jobs();
  side_jobs(side_jobs const&) = delete;
  side_jobs& operator=(side_jobs const&) = delete;

  /// No job is submitted anew from here on. The oldest unfinished one is run to its end in bubbles on the trainer's stream, the
  /// others are cancelled; with `stop` true that one is, too. A null owner: nothing has finished.
  finished_job finish(stage_trainer& on, std::function<bool()> const& stop);

  /// What became of the jobs, oldest first. After `finish`.
  std::vector<job_result> const& results() const noexcept { return results_; }
  std::uint64_t ended() const noexcept { return ended_; }  // jobs that finished
  bool failed() const noexcept { return failed_; }

 private:
  struct running {
    std::unique_ptr<task_owner> owner;
    job handle;
    bool over = false;
    std::uint64_t noted = 0;  // its place among all results, from 1; 0: not listed
  };
  void serve();
  void note(running& one);
  static bool is_over(job const& handle);

  runtime& side_;
  std::string name_;
  std::vector<running> jobs_;  // oldest submission first
  std::vector<job_result> results_;
  std::uint64_t noted_ = 0;
  std::atomic<std::uint64_t> ended_ = 0;
  std::atomic<bool> failed_ = false;
  std::atomic<bool> ending_ = false;
  std::exception_ptr problem_;
  std::thread thread_;  // last: it uses all of the above
};

}  // namespace lull
