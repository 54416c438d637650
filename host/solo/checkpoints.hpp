// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include <lull/host/io/checkpoint_file.hpp>
#include <lull/host/task/job_saver.hpp>
#include <lull/host/task/owner.hpp>
#include <lull/host/task/task_request.hpp>

namespace lull {

/// Saves a job's arrays and progress into one file of a folder, at intervals and when the job is stopped; resumes an
/// earlier run from there. A finished job is saved, too, because its results may not be written yet.
class checkpoints final : public job_saver {
 public:
  /// Returns the files in which a job of this name may be saved: by its arrays, or by its owner's account.
  static std::vector<std::filesystem::path> files_of(std::filesystem::path const& folder, std::string const& name);

  /// Makes the folder. Throws usage_error if the folder cannot be made or written, the task has no state to save, an
  /// older Lull's checkpoint is there, or the file exists and `resume` is false. `name`: of the job and the file.
  checkpoints(std::filesystem::path folder, std::chrono::nanoseconds every, bool resume, std::string const& name,
              task_request const& request, task_owner& owner, executor& executor);

  void begin(detail::job_core& job) override;
  /// Writes nothing if the job has done nothing since the last save.
  void save(detail::job_core& job) override;
  /// Delays the next save by at least a second.
  void put_off() override;
  /// Keeps saving to a fifth of a job's time at most, however often it is asked for.
  bool wants_save() const override { return std::chrono::steady_clock::now() >= next_; }
  void forget() noexcept override;

  std::filesystem::path const& file() const noexcept { return file_; }
  bool resumed() const noexcept { return resumed_; }

 private:
  void write(detail::job_core& job);

  task_owner& owner_;
  bool own_account_ = false;  // the owner's account replaces arrays
  std::filesystem::path file_;
  std::chrono::nanoseconds every_;
  bool const resume_;
  bool resumed_ = false;
  executor& executor_;
  std::vector<task_array> arrays_;
  checkpoint_description what_;
  std::vector<std::byte> buffer_;
  std::vector<std::uint64_t> saved_;  // the job's state in the file
  std::chrono::steady_clock::time_point next_;
};

}  // namespace lull
