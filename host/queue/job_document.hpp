// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace lull::queue {

inline constexpr std::string_view job_schema = "lull.job/1";
inline constexpr std::size_t max_document_bytes = 1 << 20;
inline constexpr std::size_t max_array = 10'000;  // jobs of one document
inline constexpr int max_priority = 1'000;

/// What runs. Exactly one of task, python and command is there.
struct what_runs {
  std::string task{};                                          // "NAME", or "PATH:NAME" of a shared library
  std::string python{};                                        // "FILE.py:FUNCTION" or "MODULE:FUNCTION"
  std::vector<std::pair<std::string, std::string>> options{};  // of task or function, as a user spells them
  std::vector<std::string> results{};                          // which options name files that it writes
  std::vector<std::string> command{};                          // program and arguments; no shell reads them
  std::string folder{};  // where it runs: an absolute path; empty: where the agent does
};

/// Jobs that must be over before a job is begun.
struct what_is_awaited {
  std::vector<std::string> jobs{};  // ids
  bool any_end = false;             // whatever became of them; otherwise they must be done
};

/// One job as somebody asked for it, of schema lull.job/1 (docs/11-the-queue.md). It does not change.
struct job_document {
  std::string name{};  // for people
  what_runs run{};
  std::string user{};                              // a label
  int priority = 0;                                // higher is sooner
  std::optional<std::int64_t> deadline_s{};        // seconds since 1970 (UTC)
  std::optional<std::chrono::nanoseconds> wall{};  // of one attempt
  std::uint64_t memory_bytes = 0;                  // of the device; 0: not told
  unsigned attempts = 3;                           // that may fail
  what_is_awaited after{};
  std::map<std::string, std::string> labels{};
};

/// Returns the task, the Python function, or the command's program.
std::string const& program_of(what_runs const& run);

/// Returns "FILE.py" or "MODULE", and "FUNCTION".
std::pair<std::string, std::string> split_entry(std::string const& python);

/// Reads a document, and makes a job for each combination of the values in `array`: "${NAME}" stands for one of them in
/// `name`, options and arguments. `file` is named in messages. Errors: input_error with file and line.
std::vector<job_document> parse_jobs(std::string_view json, std::string const& file);

/// Puts a value for "${NAME}" in the job's name, options and arguments.
job_document with_value(job_document of, std::string const& name, std::string const& value);

/// Returns the seconds since 1970 of a time in UTC, such as "2026-12-01T10:00:00Z" (RFC 3339). Throws usage_error.
std::int64_t parse_time(std::string_view text);
/// Writes it like that.
std::string format_time(std::int64_t seconds);

/// Writes one job as a document without `array`, which parse_jobs reads back as the same job.
std::string to_json(job_document const& job);

}  // namespace lull::queue
