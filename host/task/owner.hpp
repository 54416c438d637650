// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
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

/// One number of a result, for a report.
struct task_figure {
  std::string name;  // as in JSON: lower case, '_', its unit last
  double value;
};

/// What `keep_account` did: kept no account, began a new one, or resumed from the file.
enum class account { none, begun, resumed };

/// A task's host half: makes its arrays, describes it as a job, judges and writes its result. The command line,
/// checkpoints and the contract suite use only this of a task. One call at a time, unless stated otherwise, from any
/// thread; calls to different owners may overlap. Calls may block; none is for the trainer's path.
class task_owner {
 public:
  virtual ~task_owner() = default;

  /// Returns what `prepare` will take on such a machine, in addition to what this call itself has read of the inputs.
  /// Call it at most once, before `prepare`. Errors as `prepare`.
  virtual memory_need needs(executor_kind /*kind*/) { return {}; }
  /// Checks whether the outputs could be written; leaves nothing on the disk. May be called at any time. Throws
  /// usage_error.
  virtual void check_outputs() const {}
  /// Reads inputs and fills the arrays on the machine. Call it once. Throws input_error, limit_error or usage_error;
  /// then it has left nothing.
  virtual void prepare(executor& executor) = 0;
  /// Returns the functor over those arrays, with its name and grain; always the same. Call it after `prepare`.
  virtual job_description describe() const = 0;
  /// Returns the most rounds of a run, for a line of progress; 0: unknown. Call it after `prepare`.
  virtual std::uint64_t max_rounds() const { return 0; }
  /// Resets in place what a run reads before writing, for another run from the start. Call it only while no job of this
  /// owner is unfinished.
  virtual void reset() = 0;
  /// Returns all that the task writes, always with the same names, types and shapes. Call it after `prepare`.
  virtual std::vector<task_array> arrays() const = 0;
  /// Returns the files that `prepare` reads; a checkpoint is valid only for the same contents. `inputs` and `outputs`
  /// may be called at any time.
  virtual std::vector<std::filesystem::path> inputs() const { return {}; }
  /// Returns the files that a run makes, in `write` or in `serve`. None of them may be an input, or an output of
  /// another owner.
  virtual std::vector<std::filesystem::path> outputs() const { return {}; }
  /// Makes a task whose state is in its output files, and whose `arrays` is empty, record its finished files from now
  /// on. With `resume`, if `file` exists, the task continues from what `save_account` wrote there. Call it after
  /// `prepare` and before the job is submitted. Throws input_error, with the reason, for a file that is not of this
  /// job. Other tasks keep no account.
  virtual account keep_account(std::filesystem::path const& /*file*/, bool /*resume*/) { return account::none; }
  /// Writes the account to `file` atomically. May be called at any time after `keep_account`, also while `serve` runs.
  virtual void save_account(std::filesystem::path const& /*file*/) {}
  /// Returns whether the arrays may be moved out for the trainer and come back, and the job go back to an earlier
  /// point. True only if the task is not fed, and writes only what `prepare` allocated on its calling thread.
  virtual bool may_give_way() const { return false; }
  /// Serves a fed task, whose input arrives while its job runs. A separate thread calls it right after submission.
  /// Copies input to the machine while there is room, and takes finished results. Returns when the job has ended and
  /// all results are taken. If it throws, the caller cancels the job. Other tasks return at once. A resumed job has
  /// input already: `job::fed` says up to where.
  virtual void serve(job&) {}
  /// Reads the result back and compares it with the result of another algorithm. A result that does not exist yet
  /// counts as wrong. Call it only while no job of this owner is unfinished.
  virtual verification verify() = 0;
  /// Writes what the options ask for, atomically, and returns lines that sum up the result. Call it after the job has
  /// finished.
  virtual std::vector<std::string> write() = 0;
  /// Returns the result's figures for a report, without counts. Call it after the job has finished and before `reset`.
  virtual std::vector<task_figure> figures() const { return {}; }
  /// Returns how many parts of the work failed, such as inputs that could not be used. `write` names them.
  virtual std::uint64_t failures() const { return 0; }
  /// Returns what the user has to know of the inputs, a line each: how a text was read, what was made up, what was left
  /// out. Programs show it after the lines of `write`, and reports hold it. Call it after `prepare`, while `serve` does
  /// not run.
  virtual std::vector<std::string> notes() const { return {}; }
};

/// Writes what the options ask for, as task_owner::write, and returns all lines for a person: the notes come last.
inline std::vector<std::string> write_result(task_owner& owner) {
  std::vector<std::string> lines = owner.write();
  for (std::string& note : owner.notes()) lines.push_back(std::move(note));
  return lines;
}

/// Makes an owner, as task_entry wants it.
template <class Owner>
std::unique_ptr<task_owner> make_owner(option_values const& values) {
  return std::make_unique<Owner>(values);
}

/// A task type as the command line and the C library list it.
struct task_entry {
  std::string_view name;
  std::string_view help;     // one line
  std::string_view example;  // a request, as parse_task reads it
  option_table options;
  task_type (*type)(option_values const& values);  // of the jobs of an owner with these options
  std::unique_ptr<task_owner> (*make)(option_values const& values);
};

}  // namespace lull
