// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <iosfwd>
#include <optional>
#include <string>
#include <vector>

#include <lull/apps/lull/commands.hpp>

namespace lull {

/// Which queue: where jobs wait.
struct queue_settings {
  std::string queue;  // such as spool:/path or postgresql://alice@server/lull
  bool json = false;
};

struct init_settings : queue_settings {
  std::string lease = "30s";
  std::string folder;  // of checkpoints and logs; empty: the queue is a folder, or has one
};

struct clean_settings : queue_settings {
  std::string older;  // a duration
};

struct metrics_settings : queue_settings {
  std::optional<std::string> out;    // a file; none: standard output
  std::optional<std::string> every;  // a duration; none: once
};

struct usage_settings : queue_settings {
  std::string since = "7d";     // a duration
  std::string by = "user,day";  // or one of the two
};

struct drain_settings : queue_settings {
  bool save = false;   // jobs that run, too
  std::string reason;  // for people
};

struct backup_settings : queue_settings {
  std::string to;  // a folder that is not there yet, or of a database a file
};

struct restore_settings : queue_settings {
  std::string from;  // what a backup made
};

struct submit_settings : queue_settings {
  std::vector<std::string> files;
  std::vector<std::string> tasks;
  std::optional<std::string> name;
  std::optional<std::string> user;
  std::optional<int> priority;
  std::optional<std::string> deadline;
  std::optional<std::string> at_most;  // a duration
  std::optional<std::string> each;     // a folder to watch; none: the jobs are submitted as they are
  std::optional<std::string> marker;   // a file that says that what appears there is complete
  std::string quiet = "30s";           // without one: unchanged for this long
};

struct jobs_settings : queue_settings {
  bool all = false;
  std::optional<std::string> why;  // the id of the only one
  std::vector<std::string> ids;    // these only, whatever has become of them; empty: all
};

struct job_settings : queue_settings {
  std::vector<std::string> ids;
  bool fresh = false;  // of retry: without what was saved
};

struct results_settings : queue_settings {
  std::vector<std::string> ids;
  std::optional<std::string> to;  // a folder to which they are copied
  bool force = false;             // what is there is replaced
};

struct logs_settings : queue_settings {
  std::string id;
  bool follow = false;
};

struct agent_settings : queue_settings {
  std::string executor;  // empty: cuda if a device answers, else threads
  int device = 0;
  std::optional<std::string> attach;  // where a trainer shares its bubbles; none: the whole machine is free
  std::size_t jobs = 1;               // at once
  std::optional<std::string> policy;  // of which jobs come first; none: by priority and age
  bool until_empty = false;
  std::optional<int> with_process;  // the agent is asked to stop when this process has ended
  bool allow_commands = false;
  std::vector<std::string> allow;        // folders with Python files and libraries of tasks that may run
  bool allow_untested = false;           // … also in the bubbles of a trainer, when it has run nowhere yet
  std::optional<std::string> tries_for;  // a duration: what has run nowhere yet goes back after that
  std::string python = "python3";        // the interpreter of Python jobs
  std::string log = "text";              // or json
};

/// What can be done to a job that waits, runs or is over.
enum class job_action { cancel, hold, release, retry };

exit_code queue_init_command(init_settings const& asked, std::ostream& out);
exit_code queue_check_command(queue_settings const& asked, std::ostream& out);
exit_code queue_clean_command(clean_settings const& asked, std::ostream& out);
exit_code queue_metrics_command(metrics_settings const& asked, stop_request const& stop, std::ostream& out);
exit_code usage_command(usage_settings const& asked, std::ostream& out);
exit_code queue_drain_command(drain_settings const& asked, std::ostream& out);
exit_code queue_resume_command(queue_settings const& asked, std::ostream& out);
exit_code queue_backup_command(backup_settings const& asked, stop_request const& stop, std::ostream& out);
exit_code queue_restore_command(restore_settings const& asked, stop_request const& stop, std::ostream& out);
exit_code submit_command(submit_settings const& asked, stop_request const& stop, std::ostream& out);
exit_code jobs_command(jobs_settings const& asked, std::ostream& out);
exit_code show_command(job_settings const& asked, std::ostream& out);
exit_code job_action_command(job_action what, job_settings const& asked, std::ostream& out);
exit_code results_command(results_settings const& asked, stop_request const& stop, std::ostream& out);
exit_code logs_command(logs_settings const& asked, stop_request const& stop, std::ostream& out);
exit_code agents_command(queue_settings const& asked, std::ostream& out);
exit_code agent_command(agent_settings const& asked, stop_request const& stop, std::ostream& out);

}  // namespace lull
