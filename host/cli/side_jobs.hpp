// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include <lull/host/cli/report.hpp>
#include <lull/host/cli/same_result.hpp>
#include <lull/host/cli/trainer.hpp>
#include <lull/host/owner.hpp>
#include <lull/host/runtime.hpp>
#include <lull/host/serving.hpp>

namespace lull {

/// Keeps a runtime busy with one task: a job that ends is submitted anew, from a reset task, by a thread of its own. With two
/// owners the second stands ready as the successor.
class side_jobs {
 public:
  static constexpr std::size_t most_results = 100;  // jobs that are listed one by one; the last ones

  side_jobs(runtime& side, std::vector<std::unique_ptr<task_owner>> owners, std::string name, results_kept kept);
  ~side_jobs();
  side_jobs(side_jobs const&) = delete;
  side_jobs& operator=(side_jobs const&) = delete;

  /// No job is submitted anew from here on. The oldest unfinished one is run to its end in bubbles on the trainer's stream, the
  /// others are cancelled; with `stop` true that one is, too. Returns the owner of a job that finished, with the arrays as it left
  /// them; null: there is none.
  task_owner* finish(stage_trainer& on, std::function<bool()> const& stop);

  /// After `finish`, with an owner that it returned and with all results kept: judges every job that finished.
  verification verify(task_owner& finished);

  /// After `finish`: how many chunks each job was done in, of those that were counted in bubbles until `finish`; none: they are not
  /// known. All jobs are the same work, so one that finished alone tells of the others: `of_one`.
  void share_chunks(std::optional<std::uint64_t> in_bubbles, std::optional<std::uint64_t> of_one);

  /// What became of the jobs, oldest first. After `finish`.
  std::vector<job_result> results() const;
  std::uint64_t ended() const noexcept { return ended_; }  // jobs that finished
  bool failed() const noexcept { return failed_; }

 private:
  struct running {
    std::unique_ptr<task_owner> owner;
    job handle;
    std::unique_ptr<serving> served;
    bool over = false;
  };
  void submit(running& one);
  struct noted {
    job_result result;
    bool finished = false;
    bool like_first = true;
  };
  void serve();
  void note(running& one);
  static bool is_over(job const& handle);

  runtime& side_;
  std::string name_;
  results_kept const kept_;
  same_result same_;
  std::vector<running> jobs_;  // oldest submission first
  std::vector<noted> noted_;
  std::optional<std::uint64_t> last_chunks_ = 0;  // of the bubbles of `finish`
  std::atomic<std::uint64_t> ended_ = 0;
  std::atomic<bool> failed_ = false;
  std::atomic<bool> ending_ = false;
  std::exception_ptr problem_;
  std::thread thread_;  // last: it uses all of the above
};

}  // namespace lull
