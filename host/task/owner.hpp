// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <lull/host/executor.hpp>
#include <lull/host/job.hpp>
#include <lull/host/task/memory_need.hpp>
#include <lull/host/task/options.hpp>
#include <lull/host/task/task_array.hpp>

namespace lull {

/// What a verifier found; it shares no code with the task.
struct verification {
  bool ok = false;
  std::string message;  // one sentence with the figures
};

/// What a result comes to in one number, for a report.
struct task_figure {
  std::string name;  // as in JSON: lower case, '_', its unit last
  double value;
};

/// What `keep_account` did: kept no account, began a new one, or resumed from the file.
enum class account { none, begun, resumed };

/// A task's host half: makes its arrays, describes it as a job, judges and writes its result. The command line,
/// checkpoints and the contract suite use this and nothing else of a task. One call at a time, except where one says
/// otherwise, from any thread; calls to different owners may overlap. Calls may block, none is for the trainer's path.
class task_owner {
 public:
  virtual ~task_owner() = default;

  /// Tells what `prepare` will take on such a machine, beside what this call itself has read of the inputs. At most
  /// once, before `prepare`. Errors as of `prepare`.
  virtual memory_need needs(executor_kind /*kind*/) { return {}; }
  /// Tries whether the outputs could be written; nothing stays behind. May be called at any time. Throws usage_error.
  virtual void check_outputs() const {}
  /// Reads inputs and fills the arrays on the machine. Once. Throws input_error, limit_error or usage_error; nothing is
  /// left behind then.
  virtual void prepare(executor& executor) = 0;
  /// The functor over those arrays, with its name and grain: the same whenever it is asked for. After `prepare`.
  virtual job_description describe() const = 0;
  /// How many rounds a run has at most, for a line that tells how far it is; 0: not known. After `prepare`.
  virtual std::uint64_t max_rounds() const { return 0; }
  /// Resets in place what a run reads before it writes it, for another run from the beginning. Call it only while no
  /// job of this owner is unfinished.
  virtual void reset() = 0;
  /// All that the task writes, always of the same names, types and shapes. After `prepare`.
  virtual std::vector<task_array> arrays() const = 0;
  /// Returns the files that `prepare` reads; a checkpoint is valid only for the same contents. `inputs` and `outputs`
  /// may be called at any time.
  virtual std::vector<std::filesystem::path> inputs() const { return {}; }
  /// Returns the files that a run makes, in `write` or in `serve`. None of them may be an input, or an output of
  /// another owner.
  virtual std::vector<std::filesystem::path> outputs() const { return {}; }
  /// For a task whose state is in its output files and whose `arrays` is empty. Makes the task record its finished
  /// files from now on. With `resume`, if `file` exists, the task continues from what `save_account` wrote there. After
  /// `prepare`, before the job is submitted. Throws input_error, with the reason, for a file that is not of this job.
  /// Others keep none.
  virtual account keep_account(std::filesystem::path const& /*file*/, bool /*resume*/) { return account::none; }
  /// Writes the account to `file` atomically. May be called at any time after `keep_account`, also while `serve` runs.
  virtual void save_account(std::filesystem::path const& /*file*/) {}
  /// Whether the arrays may give way to the trainer and come back, and the job go back to where it was some time
  /// before: true only if the task writes nothing that `prepare` did not allocate on the thread that called it, and is
  /// not fed.
  virtual bool may_give_way() const { return false; }
  /// Serves a fed task, whose input arrives while its job runs. A separate thread calls it right after submission.
  /// Copies input to the machine while there is room, and takes finished results. Returns when the job has ended and
  /// all results are taken. If it throws, the caller cancels the job. Others return at once. A job that was taken up
  /// again has input already: `job::fed` says up to where.
  virtual void serve(job&) {}
  /// Reads the result back and compares it with the result of another algorithm. A result that does not exist yet
  /// counts as wrong. Call it only while no job of this owner is unfinished.
  virtual verification verify() = 0;
  /// After the job has finished. Writes what the options ask for, atomically, and returns lines that sum the result up.
  virtual std::vector<std::string> write() = 0;
  /// Returns the result's figures, all that a report should have beside counts. Call it after the job has finished and
  /// before `reset`.
  virtual std::vector<task_figure> figures() const { return {}; }
  /// Returns how many parts of the work failed, such as inputs that could not be used. `write` names them.
  virtual std::uint64_t failures() const { return 0; }
};

/// A task type as the command line and the C library list it.
struct task_entry {
  std::string_view name;
  std::string_view help;     // one line
  std::string_view example;  // a request, as parse_task reads it
  option_table options;
  task_type (*type)(option_values const& values);  // of the jobs that an owner of these options describes
  std::unique_ptr<task_owner> (*make)(option_values const& values);
};

}  // namespace lull
