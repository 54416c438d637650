// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <iosfwd>
#include <optional>
#include <string>
#include <vector>

namespace lull {

class stop_request;

/// What the program returns to the shell. `not_attached`: no trainer takes this process, and nothing has run. The last
/// two are those of a program that SIGINT or SIGPIPE ends.
enum class exit_code : int { done = 0, failed = 1, usage = 2, not_attached = 3, interrupted = 130, reader_left = 141 };

enum class side_mode { lull, naive, none };

/// Where jobs are saved.
struct saving {
  std::optional<std::string> folder;  // none: nowhere
  std::string every = "60s";
  bool resume = false;
};

/// As they were spelled; what they mean is checked by the command. Defaults are those of the help.
struct device_settings {
  int device = 0;
  int reserved_groups = 0;  // harvest and doctor: 2
  bool json = false;
};

struct run_settings : device_settings {
  std::string executor;  // empty: cuda if a device answers, else threads
  std::string mode = "lull";
  std::vector<std::string> tasks;
  std::optional<std::string> job_file;
  std::string at_most;  // a duration; empty: the tasks to their end, and all pairs
  saving checkpoint;
  std::optional<std::string> report;
  bool verify = false;
};

struct work_settings : run_settings {
  std::string attach;                      // where a trainer shares its bubbles
  std::optional<std::string> cpus;         // such as 0-3; none: all that the process may use
  std::optional<std::string> host_memory;  // a size; none: no limit
};

struct harvest_settings : run_settings {
  std::string schedule = "1f1b";
  std::uint32_t stages = 4;
  std::uint32_t microbatches = 8;
  std::uint32_t stage = 0;
  std::string segment = "2ms";
  std::string max_bubble;  // a duration; sets the segment
  std::uint32_t iterations = 5;
  std::uint32_t pairs = 10;
  std::optional<double> training_worth;          // none: the runtime's own
  std::optional<std::string> min_bubble;         // a duration; none: the runtime's own
  std::optional<std::string> rest_before_close;  // a duration; none: the runtime's own
  std::optional<std::string> max_slowdown;       // such as 0.5%; none: no bound
  std::optional<std::string> share;              // where; none: this process's own tasks are the side work
  std::optional<std::string> profile;            // file of profiles
  std::optional<std::string> trace;
  std::optional<std::string> timeline;  // refused: it was an SVG until 0.2
};

struct profile_settings : device_settings {
  std::string executor;  // empty: cuda if a device answers, else threads
  std::vector<std::string> tasks;
  std::vector<std::string> bubbles{"100us", "1ms", "10ms"};  // lengths of the longest one
  std::uint32_t pairs = 6;
  std::optional<std::string> out;
};

struct choose_settings {
  std::string profiles;
  std::string bubbles;
  std::string reserve = "0";                // a size
  std::optional<std::string> max_slowdown;  // such as 0.5%; none: no bound
  bool json = false;
};

struct top_settings {
  std::vector<std::string> trainers;  // where they share their bubbles
  bool once = false;
  bool json = false;
};

struct tasks_settings {
  std::optional<std::string> name;  // none: all of them
  bool json = false;
};

/// Each writes its findings to `out` and what goes on to standard error. They throw errors of error.hpp; main turns
/// those into exit codes. Those that may take long look at `stop`, and end in order when it is requested.
exit_code run_command(run_settings const& asked, stop_request const& stop, std::ostream& out);
exit_code work_command(work_settings const& asked, stop_request const& stop, std::ostream& out);
exit_code harvest_command(harvest_settings const& asked, stop_request const& stop, std::ostream& out);
exit_code profile_command(profile_settings const& asked, stop_request const& stop, std::ostream& out);
exit_code choose_command(choose_settings const& asked, std::ostream& out);
exit_code doctor_command(device_settings const& asked, std::ostream& out);
exit_code top_command(top_settings const& asked, stop_request const& stop, std::ostream& out);
exit_code tasks_command(tasks_settings const& asked, std::ostream& out);
/// `asked_folder`: none: one of the task's name, here.
exit_code new_task_command(std::string const& name, std::optional<std::string> const& asked_folder, std::ostream& out);

}  // namespace lull
