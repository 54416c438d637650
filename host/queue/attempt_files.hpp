// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

namespace lull::queue {

/// Where one attempt of a job works.
struct attempt {
  std::string id{};  // the job's
  unsigned number = 0;
  std::filesystem::path checkpoint{};  // a folder; what an earlier attempt had saved is in it
  std::filesystem::path log{};

  /// Returns the name under which the attempt writes a result: "ranks.attempt-2-ID.csv" for "ranks.csv".
  std::filesystem::path result(std::filesystem::path const& wanted) const;
};

/// Returns an attempt's files in a job's folder, and makes the checkpoint's: files of the last one that had any have a
/// second name there, so a program puts others in their places. Throws std::filesystem::filesystem_error.
attempt attempt_in(std::filesystem::path const& folder, std::string const& id, unsigned number);
/// Removes all that attempts of the job have saved.
void forget_checkpoints(std::filesystem::path const& folder);

/// Has the names in a folder, or the bytes of a file, on the disk. Links are followed. Returns errno; 0: it is done, or
/// may not be opened.
int flushed(std::filesystem::path const& at);

/// Has a result, as the attempt has written it, on the disk with its name. Returns what is wrong, also where it is not
/// there, or could not take the place of what stands at `wanted`; empty: nothing. After a failure it must not count as
/// written, even if a second try succeeds.
std::string flush_result(std::filesystem::path const& of, std::filesystem::path const& wanted);
/// Renames a result of an attempt, in the place of one that is there. The name is on the disk then. Returns what is
/// wrong; empty: it is in place, now or since before.
std::string put_in_place(std::filesystem::path const& from, std::filesystem::path const& to);

/// Leaves the last half of so many bytes of a log that is longer. What a program writes meanwhile may be lost.
void bound_log(std::filesystem::path const& log, std::uint64_t max_bytes);

/// Returns the last line of a job's log, as text.
std::string last_line(std::filesystem::path const& log);

}  // namespace lull::queue
