// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <future>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <lull/host/measure/job_result.hpp>
#include <lull/host/measure/same_result.hpp>
#include <lull/host/measure/trainer.hpp>
#include <lull/host/runtime.hpp>
#include <lull/host/solo/checkpoints.hpp>
#include <lull/host/task/hosted_job.hpp>
#include <lull/host/task/owner.hpp>

namespace lull {

/// A task that side jobs are made of.
struct side_task_asked {
  std::string name;  // of its jobs, and of this task alone
  /// Prepared; of two the second stands ready as the successor of the first.
  std::vector<std::unique_ptr<task_owner>> owners;
  int priority = 0;
  std::shared_ptr<checkpoints> saves = nullptr;  // of the first owner, which is then the only one
};

/// Keeps a runtime busy with the jobs of some tasks, by a thread of its own: submits them, saves them, and submits
/// those that end again, from a reset task. The results of the first job of a task
/// that finishes are read and written while other jobs go on, those of one task after those of another. A task that
/// fails, or whose owner counts failures, is left; the others go on. The runtime has the next job go on in the same
/// bubble where one ends or starves.
class side_jobs {
 public:
  /// Jobs that are listed one by one; of those that went well the last ones.
  static constexpr std::size_t max_results = 100;
  using log_line = std::function<void(std::string_view)>;

  /// Submits a job of each owner; takes up what was saved. `log`: a line for each task that fails, when it does; from
  /// any thread.
  side_jobs(runtime& side, std::vector<side_task_asked> tasks, results_kept kept, log_line log = {});
  /// Cancels what is left.
  ~side_jobs();
  side_jobs(side_jobs const&) = delete;
  side_jobs& operator=(side_jobs const&) = delete;

  /// No job is submitted again from here on. Of each task the oldest unfinished one is run to its end in bubbles on the
  /// trainer's stream, the others are cancelled; with `stop` true all are.
  void finish(stage_trainer& on, std::function<bool()> const& stop);
  /// The same in bubbles that others open.
  void finish(std::function<bool()> const& stop);

  // While they run, from any thread.
  struct reached {
    std::uint64_t rounds = 0;  // of the task's first job
    std::uint64_t most = 0;    // that it can have; 0: not known
  };
  std::vector<reached> progress() const;
  /// Of all jobs of each task; counted when a job leaves its place, so in a runtime that is paused.
  std::vector<std::uint64_t> items() const;
  std::uint64_t ended() const noexcept { return ended_; }  // jobs that finished
  bool failed() const noexcept { return failed_; }         // a task
  /// No job is about.
  bool idle() const noexcept { return left_ == 0; }

  // After `finish`.
  /// The owner of a job that finished, with the arrays as it left them; null: there is none.
  task_owner* finished(std::size_t index) const;
  /// Judges every job of the task that finished; there must be one, and all results kept.
  verification verify(std::size_t index);
  /// The tasks, with what was found of them.
  std::vector<ended_task> ended_tasks();
  /// How many chunks each job was done in, of those that were counted in bubbles until `finish`; none: they are not
  /// known. All jobs of a task are the same work, so one that finished alone tells of the others: `of_one`, for each
  /// task.
  void share_chunks(std::optional<std::uint64_t> in_bubbles, std::vector<std::optional<std::uint64_t>> of_one);
  /// What became of the jobs, oldest first.
  std::vector<job_result> results() const;

 private:
  struct task {
    task(std::string its_name, executor& executor) : name(std::move(its_name)), same(executor) {}

    std::string name;
    std::shared_ptr<checkpoints> saves;
    same_result same;
    std::uint64_t max_rounds = 0;
    bool closed = false;        // no further job of it
    bool has_finished = false;  // a job of it; what the first found:
    std::vector<task_figure> figures;
    std::optional<std::vector<std::string>> written;  // its lines, where another was to follow it
    struct one {
      std::unique_ptr<hosted_job> job;
      bool over = false;
      bool is_to_be_read = false;  // over, and the first that finished; reading has not begun
      std::uint64_t order = 0;     // of submission
    };
    std::vector<one> jobs;
  };
  struct noted {
    job_result result;
    std::size_t task = 0;
    bool finished = false;
    bool like_first = true;
  };

  void submit_all(std::vector<side_task_asked> tasks);
  void submit(task::one& which, hosted_job::from begin);
  void serve();
  bool look_after(std::size_t index, task::one& one, bool ending, bool stopping);
  void note(std::size_t index, task::one& one);
  bool read_results(task& of, task::one& one, bool ending);
  bool awaits_reading(task::one const& one) const { return one.is_to_be_read || read_ == &one; }  // or its end
  bool is_spare(task const& of, task::one const& one) const;
  void complain(task& of, std::string const& problem);

  runtime& side_;
  results_kept const kept_;
  log_line const log_;
  std::vector<std::unique_ptr<task>> tasks_;
  std::future<void> reading_;        // of one job's results, on a thread of its own
  task::one const* read_ = nullptr;  // that job
  std::uint64_t submitted_ = 0;
  std::vector<noted> noted_;
  std::optional<std::uint64_t> last_chunks_ = 0;  // of the bubbles of `finish`
  std::atomic<std::size_t> left_;                 // jobs that are about
  std::atomic<std::uint64_t> ended_ = 0;
  std::atomic<bool> failed_ = false;
  std::atomic<bool> ending_ = false;    // no job again
  std::atomic<bool> stopping_ = false;  // all are cancelled
  std::future<void> serving_;           // last: it uses all of the above
};

}  // namespace lull
