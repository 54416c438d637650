// SPDX-License-Identifier: Apache-2.0
#include <ostream>
#include <utility>

#include <lull/apps/lull/commands.hpp>
#include <lull/apps/lull/harvest.hpp>
#include <lull/apps/lull/setting.hpp>
#include <lull/host/io/folder_lock.hpp>

namespace lull {

exit_code harvest_command(harvest_settings const& asked, stop_request const& stop, std::ostream& out) {
  plan_of_harvest plan = check(asked);
  folder_lock const ours{asked.checkpoint.folder};
  harvested const done = measure_harvest(asked, std::move(plan), unfinished_jobs::run_to_their_end, stop);
  if (asked.json) {
    out << to_json(done.found);
  } else {
    print_report(out, done.found);
    out << "trained with            " << done.trained_with << " a forward\n";
  }
  exit_code const code = conclude(out, asked, done.found, done.lines, done.good);
  if (asked.trace) write_trace(*asked.trace, done.events, {.process = headline(done.found), .time = done.found.time});
  return code;
}

}  // namespace lull
