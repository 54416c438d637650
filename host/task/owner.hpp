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
#include <lull/host/task/options.hpp>
#include <lull/host/task/task_array.hpp>

namespace lull {

/// What a verifier found; it shares no code with the task.
struct verification {
  bool ok = false;
  std::string message;  // one sentence with the figures
};

/// What became of a task's own account of its work.
enum class account { none, begun, resumed };

/// A task's host half: makes its arrays, describes it as a job, judges and writes its result. The command line,
/// checkpoints and the contract suite use this and nothing else of a task. Not thread-safe; calls may block, none is
/// for the trainer's path.
class task_owner {
 public:
  virtual ~task_owner() = default;

  /// Reads inputs and fills the arrays on the machine. Once. Throws input_error, limit_error or usage_error; nothing is
  /// left behind then.
  virtual void prepare(executor& machine) = 0;
  /// The functor over those arrays, with its name and grain: the same whenever it is asked for. After `prepare`.
  virtual job_description describe() const = 0;
  /// How many rounds a run has at most, for a line that tells how far it is; 0: not known. After `prepare`.
  virtual std::uint64_t max_rounds() const { return 0; }
  /// Puts the arrays back to the start, where they are, for another run from the beginning. Only while no job of it is
  /// about.
  virtual void reset() = 0;
  /// All that the task writes, always of the same names, types and shapes. After `prepare`.
  virtual std::vector<task_array> arrays() const = 0;
  /// The files that `prepare` reads: a checkpoint is of these. At any time, as the next.
  virtual std::vector<std::filesystem::path> inputs() const { return {}; }
  /// The files that `write` makes: not one of them may be an input, or another's.
  virtual std::vector<std::filesystem::path> outputs() const { return {}; }
  /// Of a task whose state is in the files that it makes, not in `arrays`, which are empty then: it keeps account of
  /// them from now on; with `resume`, and where there is such a file, it goes on from what `save_account` wrote. After
  /// `prepare`, before the job is submitted. Throws input_error, with the reason, for a file that is not of this job.
  /// Others keep none.
  virtual account keep_account(std::filesystem::path const& /*file*/, bool /*resume*/) { return account::none; }
  /// Atomically, at any moment from `keep_account` on, `serve` or not.
  virtual void save_account(std::filesystem::path const& /*file*/) {}
  /// Of a fed task, whose input comes while the job is about: called by a thread of its own from submission on. Gives
  /// the machine input as it has room, takes what is done, and returns when the job is over and all is taken; throws
  /// what went wrong, and then the job is cancelled. Others return at once.
  virtual void serve(job&) {}
  /// While no job of it is about. Reads the result back and holds it against another algorithm: one that is not there
  /// yet is wrong.
  virtual verification verify() = 0;
  /// After the job has finished. Writes what the options ask for, atomically, and returns lines that sum the result up.
  virtual std::vector<std::string> write() = 0;
  /// Inputs that could not be used, while the rest went on; `write` names them.
  virtual std::uint64_t failures() const { return 0; }
};

/// A task type as the command line and the C library list it.
struct task_entry {
  std::string_view name;
  std::string_view help;  // one line
  option_table options;
  task_type (*type)(option_values const& values);  // of the jobs that an owner of these options describes
  std::unique_ptr<task_owner> (*make)(option_values const& values);
};

}  // namespace lull
