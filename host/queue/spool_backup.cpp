// SPDX-License-Identifier: Apache-2.0
#include <lull/host/queue/spool_backup.hpp>

#include <map>
#include <set>
#include <string>
#include <system_error>
#include <vector>

#include <lull/host/error.hpp>
#include <lull/host/queue/entry_name.hpp>
#include <lull/host/queue/open_folder.hpp>
#include <lull/host/queue/spool.hpp>
#include <lull/host/queue/whole_copy.hpp>

namespace lull::queue {

namespace {

namespace fs = std::filesystem;

constexpr auto later = open_folder::flushing::later;
constexpr int listings = 3;  // a name that changes meanwhile may be missing in one

/// Files of a spool, by the last letter of the job's id.
open_folder part(open_folder const& root, char const* kind, std::string const& id) {
  return root.below(kind).below(std::string{id.back()});
}

void copy_file(open_folder const& from, open_folder const& to, std::string const& name) {
  if (auto const text = from.read(name, max_document_bytes)) to.write_new(name, *text, later);
}

/// Copies what the attempts of a job have saved and printed. What goes meanwhile is left out: another agent goes on
/// with what there is.
void copy_work(fs::path const& from, open_folder const& to) {
  std::error_code none;
  std::error_code unreadable;
  fs::directory_iterator at{from, unreadable};
  for (; !unreadable && at != fs::directory_iterator{}; at.increment(unreadable)) {
    fs::directory_entry const& each = *at;
    std::string const name = each.path().filename();
    if (each.is_symlink(none) || name.front() == '.') continue;
    if (each.is_directory(none)) {
      copy_work(each.path(), to.below(name));
    } else if (each.is_regular_file(none)) {
      std::error_code problem;
      fs::copy_file(each.path(), to.path() / name, problem);
      if (problem && fs::exists(each.path(), none)) throw fs::filesystem_error{"copying", each.path(), problem};
    }
  }
  if (unreadable && unreadable != std::errc::no_such_file_or_directory)
    throw fs::filesystem_error{"listing", from, unreadable};
}

bool has(spool& store, std::string const& id) {
  try {
    return store.entry(id).id == id;
  } catch (usage_error const&) {
    return false;
  }
}

/// A spool writes a job's document and the file of a change before the name that needs them. So names are read first,
/// and what they need is there then, unless the job was removed.
std::optional<std::size_t> copy_spool(fs::path const& from, fs::path const& to,
                                      std::function<bool()> const& is_stopped) {
  spool store{from};
  spool::make(to, store.lease());
  open_folder const source = open_folder::own(from);
  open_folder const target = open_folder::own(to);
  std::map<std::string, job_entry> jobs;
  for (int i = 0; i < listings; ++i) {
    for (job_entry& each : store.list()) {
      job_entry& known = jobs.try_emplace(each.id, each).first->second;
      if (known.version < each.version) known = std::move(each);
    }
  }
  for (std::string const& letter : source.below("events").names()) {
    open_folder const events = source.below("events").below(letter);
    open_folder const copies = target.below("events").below(letter);
    for (std::string const& name : events.names()) {
      if (is_stopped()) return std::nullopt;
      if (jobs.contains(name.substr(0, name.find(',')))) copy_file(events, copies, name);
    }
  }
  for (auto const& [id, entry] : jobs) {
    if (is_stopped()) return std::nullopt;
    copy_file(part(source, "documents", id), part(target, "documents", id), id + ".json");
    fs::path const work = from / "work" / std::string{id.back()} / id;
    if (fs::exists(work)) copy_work(work, part(target, "work", id).below(id));
  }
  // Of a job that was removed meanwhile some files were missing.
  std::set<std::string> there;
  for (job_entry const& each : store.list()) there.insert(each.id);
  std::erase_if(jobs, [&](auto const& each) { return !there.contains(each.first) && !has(store, each.first); });
  for (auto const& [id, entry] : jobs) part(target, "jobs", id).write_new(name_of(entry), "", later);
  if (auto const order = store.drained()) spool{to}.set_drained(order);
  target.flush_all();
  return jobs.size();
}

}  // namespace

std::optional<std::size_t> back_up_spool(fs::path const& from, fs::path const& to,
                                         std::function<bool()> const& is_stopped) {
  std::optional<std::size_t> jobs;
  make_whole(to, existing::refuse, [&](fs::path const& hidden) {
    jobs = copy_spool(from, hidden, is_stopped);
    return jobs.has_value();
  });
  return jobs;
}

}  // namespace lull::queue
