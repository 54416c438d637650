// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <iosfwd>
#include <optional>

#include <CLI/CLI.hpp>

#include <lull/apps/lull/queue/settings.hpp>

namespace lull {

/// The commands about a queue, as a part of the program's command line.
struct queue_command_line {
  explicit queue_command_line(CLI::App& app);
  queue_command_line(queue_command_line const&) = delete;
  queue_command_line& operator=(queue_command_line const&) = delete;

  /// Runs the one that was given; nothing: it was another.
  std::optional<exit_code> dispatch(stop_request const& stop, std::ostream& out) const;

 private:
  CLI::App& app_;
  init_settings init_;
  queue_settings check_;
  clean_settings clean_;
  metrics_settings metrics_;
  usage_settings usage_;
  drain_settings drain_;
  backup_settings backup_;
  restore_settings restore_;
  queue_settings resume_;
  submit_settings submit_;
  jobs_settings jobs_;
  job_settings show_;
  job_settings action_;
  results_settings results_;
  logs_settings logs_;
  queue_settings agents_;
  agent_settings agent_;
};

}  // namespace lull
