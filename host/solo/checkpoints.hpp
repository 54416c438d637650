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

/// Saves a job's arrays and how far it has come into one file of a folder, every so often and when it is stopped; takes
/// up an earlier run from there. What has come to its end is saved, too: its results may yet have to be written.
class checkpoints final : public job_saver {
 public:
  /// Returns the files that a job of this name may be saved in: by its arrays, or by its owner's account.
  static std::vector<std::filesystem::path> files_of(std::filesystem::path const& folder, std::string const& name);

  /// Makes the folder. Throws usage_error where it cannot be made or written, the task has no state to save, an older
  /// Lull's checkpoint is in its place, or the file exists and the job shall not resume. `name`: the job's, and of the
  /// file.
  checkpoints(std::filesystem::path folder, std::chrono::nanoseconds every, bool resume, std::string const& name,
              task_request const& request, task_owner& owner, executor& executor);

  void begin(detail::job_record& job) override;
  /// Where the job has done nothing since the file was written, it is left as it is.
  void save(detail::job_record& job) override;
  /// Wants none within a second.
  void put_off() override;
  /// Saving takes at most a fifth of a job's time, however often it is asked for.
  bool wants_save() const override { return std::chrono::steady_clock::now() >= next_; }
  void forget() noexcept override;

  std::filesystem::path const& file() const noexcept { return file_; }
  bool resumed() const noexcept { return resumed_; }

 private:
  void write(detail::job_record& job);

  task_owner& owner_;
  bool own_account_ = false;  // the owner's, in place of arrays
  std::filesystem::path file_;
  std::chrono::nanoseconds every_;
  bool const resume_;
  bool resumed_ = false;
  executor& executor_;
  std::vector<task_array> arrays_;
  checkpoint_description what_;
  std::vector<std::byte> buffer_;
  std::vector<std::uint64_t> saved_;  // what the job's state was in the file
  std::chrono::steady_clock::time_point next_;
};

}  // namespace lull
