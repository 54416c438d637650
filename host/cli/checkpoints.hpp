// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <filesystem>
#include <string>
#include <vector>

#include <lull/host/cli/alone.hpp>
#include <lull/host/npz/checkpoint_file.hpp>
#include <lull/host/owner.hpp>
#include <lull/host/task_request.hpp>

namespace lull {

/// Saves a job's arrays and how far it has come into one file of a folder, every so often and when it is stopped; takes up an
/// earlier run from there. The file goes when the job has come to its end.
class checkpoints final : public state_keeper {
 public:
  /// Makes the folder. Throws usage_error where it cannot be made, or the task has no state to save.
  checkpoints(std::filesystem::path folder, std::chrono::nanoseconds every, bool resume, task_request const& request, task_owner& owner,
              executor& machine);

  void begin(detail::submitted& job) override;
  bool due() override { return std::chrono::steady_clock::now() >= next_; }
  void save(detail::submitted& job) override;
  void end(detail::submitted& job, bool over) override;

  std::filesystem::path const& file() const noexcept { return file_; }
  bool resumed() const noexcept { return resumed_; }

 private:
  std::filesystem::path file_;
  std::chrono::nanoseconds every_;
  bool const resume_;
  bool resumed_ = false;
  executor& machine_;
  std::vector<task_array> arrays_;
  checkpoint_description what_;
  std::vector<std::byte> buffer_;
  std::chrono::steady_clock::time_point next_;
};

}  // namespace lull
