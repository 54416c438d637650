// SPDX-License-Identifier: Apache-2.0
// Copies a spool while it is used, and brings the copy back; says how a database does.
#include <filesystem>
#include <ostream>
#include <string>

#include <lull/apps/lull/queue/open_queue.hpp>
#include <lull/apps/lull/queue/settings.hpp>
#include <lull/apps/lull/stop_request.hpp>
#include <lull/host/error.hpp>
#include <lull/host/queue/open_store.hpp>
#include <lull/host/queue/spool.hpp>
#include <lull/host/queue/spool_backup.hpp>
#include <lull/host/queue/whole_copy.hpp>

namespace lull {

namespace {

namespace fs = std::filesystem;

/// As one word of a shell.
std::string quoted(std::string const& text) {
  std::string made = "'";
  for (char const each : text) made += each == '\'' ? std::string{"'\\''"} : std::string{each};
  return made + "'";
}

/// Without a slash at its end, which would leave it without a name.
fs::path named(std::string const& text, char const* option) {
  fs::path const path = fs::absolute(text).lexically_normal();
  fs::path const found = path.has_filename() ? path : path.parent_path();
  if (text.empty() || !found.has_filename()) throw usage_error{std::string{option} + ": name a file or a folder"};
  return found;
}

}  // namespace

exit_code queue_backup_command(backup_settings const& asked, stop_request const& stop, std::ostream& out) {
  std::string const address = queue_address(asked.queue);
  fs::path const to = named(asked.to, "--to");
  auto const spool = queue::spool_folder(address);
  if (!spool) {
    queue::open_store(address);  // or there is none
    out << "pg_dump --format=custom --schema=lull --file=" << quoted(to.string()) << ' '
        << quoted(queue::shown_address(address)) << "\n# and after it copy the folder that lull queue init was given\n";
    return exit_code::done;
  }
  auto const jobs = queue::back_up_spool(*spool, to, [&] { return stop.requested(); });
  if (!jobs) return exit_code::interrupted;
  out << to.string() << " has " << *jobs << " jobs\n";
  return exit_code::done;
}

exit_code queue_restore_command(restore_settings const& asked, stop_request const& stop, std::ostream& out) {
  std::string const address = queue_address(asked.queue);
  fs::path const from = named(asked.from, "--from");
  auto const spool = queue::spool_folder(address);
  if (!spool) {
    out << "psql -d " << quoted(queue::shown_address(address))
        << " -c 'CREATE ROLE lull_user; CREATE ROLE lull_agent'  # where the server has no such roles\n"
        << "pg_restore --exit-on-error --single-transaction --dbname=" << quoted(queue::shown_address(address)) << ' '
        << quoted(from.string()) << "\n# and copy the folder that lull queue init was given back to its place\n";
    return exit_code::done;
  }
  queue::spool{from}.list();  // or it is none
  fs::path const to = named(spool->string(), "--queue");
  if (!queue::copy_whole(from, to, queue::existing::refuse, [&] { return stop.requested(); }))
    return exit_code::interrupted;
  out << queue::shown_address(address) << " has " << queue::spool{to}.list().size()
      << " jobs; those that ran go on when an agent has watched for a lease\n";
  return exit_code::done;
}

}  // namespace lull
