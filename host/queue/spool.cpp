// SPDX-License-Identifier: Apache-2.0
#include <lull/host/queue/spool.hpp>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <ctime>
#include <string_view>
#include <system_error>
#include <tuple>
#include <utility>

#include <sys/stat.h>

#include <lull/host/error.hpp>
#include <lull/host/io/lined_json.hpp>
#include <lull/host/io/units.hpp>
#include <lull/host/queue/entry_name.hpp>
#include <lull/host/queue/event_text.hpp>
#include <lull/host/queue/job_id.hpp>

namespace lull::queue {

namespace {

using json = nlohmann::json;

constexpr char const* format_file = "FORMAT";
constexpr char const* drained_file = "DRAINED";
constexpr std::string_view format_schema = "lull.spool/1";
constexpr std::size_t max_small_file = 1 << 16;
constexpr std::string_view parts = "0123456789abcdefghjkmnpqrstvwxyz";  // the last letters that ids have

std::string document_name(std::string const& id) { return id + ".json"; }

std::string event_name(std::string const& id, std::uint64_t version, std::string const& token) {
  return id + "," + std::to_string(version) + "," + token;
}

open_folder own_root(std::filesystem::path const& at) {
  open_folder found = open_folder::own(at);
  if (!found.read(format_file, max_small_file))
    throw usage_error{at.string() + " is no spool: make one with lull queue init spool:" + at.string()};
  return found;
}

void remove_tree(std::filesystem::path const& at) {
  std::error_code problem;
  std::filesystem::remove_all(at, problem);
  if (problem) throw device_error{problem.value(), problem.message(), "remove", at.string()};
}

[[noreturn]] void fail_unknown(std::string const& id) { throw usage_error{"there is no job " + id}; }

/// Returns the letter by which a job's files are found.
char letter_of(std::string const& id) {
  if (!is_job_id(id)) throw usage_error{"\"" + id + "\" is no job's id"};
  return id.back();
}

}  // namespace

spool::spool(std::filesystem::path folder) : root_(own_root(folder)), agents_(root_.below("agents")) {
  std::string const text = root_.read(format_file, max_small_file).value_or("");
  lined_json const document{text, (folder / format_file).string(), max_small_file};
  lined_object const format{document, "", {"schema", "lease"}};
  if (format.text("schema") != format_schema)
    format.fail("schema", "this version knows spools of schema " + std::string{format_schema} + " only");
  lease_ = parse_duration(format.text("lease").value_or("30s"));
}

void spool::make(std::filesystem::path const& folder, std::chrono::nanoseconds lease) {
  if (lease < std::chrono::seconds{1} || lease > std::chrono::hours{24})
    throw usage_error{"a lease is from 1s to 24h long"};
  if (::mkdir(folder.c_str(), S_IRWXU) != 0 && errno != EEXIST)
    throw usage_error{"the folder " + folder.string() +
                      " cannot be made: its own folder must be there, and writable: " + std::strerror(errno)};
  open_folder const root = open_folder::own(folder);
  if (root.read(format_file, max_small_file)) return root.flush_all();  // the process that made it may have died
  std::string const unfinished = std::string{format_file} + "-" + make_token();
  for (std::string const& each : root.names()) {
    if (!each.starts_with(format_file))
      throw usage_error{folder.string() + " holds other files: name a folder that is empty or missing"};
  }
  auto const ms = std::chrono::duration_cast<std::chrono::milliseconds>(lease).count();
  root.write_new(unfinished, json{{"schema", format_schema}, {"lease", std::to_string(ms) + "ms"}}.dump() + "\n",
                 open_folder::flushing::flush);
  root.link(unfinished, format_file);  // unless another was faster
  root.remove(unfinished);
  root.flush_all();  // also its own name
}

open_folder const& spool::jobs_of(std::string const& id) { return part(jobs_, "jobs", letter_of(id)); }
open_folder const& spool::documents_of(std::string const& id) { return part(documents_, "documents", letter_of(id)); }
open_folder const& spool::events_of(std::string const& id) { return part(events_, "events", letter_of(id)); }

open_folder const& spool::part(std::map<char, open_folder>& of, char const* kind, char letter) {
  auto const known = of.find(letter);
  if (known != of.end()) return known->second;
  return of.emplace(letter, root_.below(kind).below(std::string{letter})).first->second;
}

/// Has the names in a part on the disk, and at first its own: a process that made it may have died before it did so.
void spool::flush_part(std::map<char, open_folder>& of, char const* kind, char letter) {
  part(of, kind, letter).flush_names();
  if (flushed_.contains({kind, letter})) return;
  root_.below(kind).flush_names();
  root_.flush_names();
  flushed_.emplace(kind, letter);
}

std::vector<std::string> spool::submit(std::span<job_document const> jobs) {
  bool const is_one = jobs.size() == 1;
  std::vector<job_entry> entries;
  std::vector<std::string> ids;
  try {
    for (job_document const& each : jobs) {
      job_entry const made{.id = make_job_id(), .priority = each.priority, .token = make_token()};
      documents_of(made.id).write_new(document_name(made.id), to_json(each),
                                      is_one ? open_folder::flushing::flush : open_folder::flushing::later);
      entries.push_back(made);
    }
    if (is_one) flush_part(documents_, "documents", letter_of(entries.front().id));
    if (!is_one) root_.flush_all();
    for (job_entry const& each : entries) {
      ids.push_back(each.id);
      jobs_of(each.id).write_new(name_of(each), "", open_folder::flushing::later);  // from now on it can be claimed
    }
    if (is_one) flush_part(jobs_, "jobs", letter_of(ids.front()));
    if (!is_one) root_.flush_all();
  } catch (...) {
    withdraw(entries, ids.size());
    throw;
  }
  return ids;
}

/// Removes jobs that could not be submitted, of which the first may be listed: those that an agent has by now stay.
void spool::withdraw(std::span<job_entry const> entries, std::size_t listed) noexcept {
  for (std::size_t i = 0; i < entries.size(); ++i) {
    std::string const& id = entries[i].id;
    try {
      if (i >= listed || jobs_of(id).remove(name_of(entries[i]))) documents_of(id).remove(document_name(id));
    } catch (std::exception const&) {  // of a document without a job nothing is heard but by remove_litter
    }
  }
}

std::vector<job_entry> spool::list() {
  std::vector<job_entry> all;
  for (std::string const& last : root_.below("jobs").names()) {
    if (last.size() != 1 || parts.find(last) == parts.npos) continue;
    std::vector<job_entry> const& found = listed(last.front());
    all.insert(all.end(), found.begin(), found.end());
  }
  return all;
}

/// Reads the names of a part again only where it may have changed.
std::vector<job_entry> const& spool::listed(char letter) {
  open_folder const& here = part(jobs_, "jobs", letter);
  listing& known = listings_[letter];
  auto const now = std::chrono::steady_clock::now();
  open_folder::moment const changed = here.changed();
  if (changed != known.changed) known = {.changed = changed, .seen = now};
  if (known.is_final) return known.entries;
  std::vector<job_entry> entries;
  for (std::string const& name : here.names())
    if (auto found = entry_of(name)) entries.push_back(std::move(*found));
  auto const is_older = [](job_entry const& one, job_entry const& other) {
    return std::tie(one.id, other.version) < std::tie(other.id, one.version);  // the latest version first
  };
  std::sort(entries.begin(), entries.end(), is_older);
  auto const same = [](job_entry const& one, job_entry const& other) { return one.id == other.id; };
  entries.erase(std::unique(entries.begin(), entries.end(), same), entries.end());
  known.entries = std::move(entries);
  known.is_final = now - known.seen >= clock_step;
  return known.entries;
}

job_entry spool::entry(std::string const& id) {
  auto latest = find(id);
  if (!latest) fail_unknown(id);
  return std::move(*latest);
}

std::optional<job_entry> spool::find(std::string const& id) {
  std::optional<job_entry> latest;
  for (std::string const& name : jobs_of(id).names()) {
    if (!name.starts_with(id)) continue;
    auto found = entry_of(name);
    if (found && (!latest || latest->version < found->version)) latest = std::move(found);
  }
  return latest;
}

job_document spool::document(std::string const& id) {
  std::string const name = document_name(id);
  open_folder const& documents = documents_of(id);
  auto const text = documents.read(name, max_document_bytes);
  if (!text) fail_unknown(id);
  return parse_jobs(*text, (documents.path() / name).string()).front();
}

std::optional<job_entry> spool::change(job_entry const& from, job_entry to, job_event what, durability how) {
  if (!jobs_of(from.id).has(name_of(from))) return std::nullopt;  // mostly so where many try: it saves the rest
  to.id = from.id;
  to.version = from.version + 1;
  to.token = make_token();
  what.version = to.version;
  what.state = to.state;
  what.time_s = std::time(nullptr);
  what.agent = to.agent;
  what.attempt = to.attempt;
  bool const is_durable = how == durability::durable;
  open_folder const& events = events_of(from.id);
  std::string const event = event_name(to.id, to.version, to.token);
  events.write_new(event, text_of({what, from.token}),
                   is_durable ? open_folder::flushing::flush : open_folder::flushing::later);
  if (is_durable) flush_part(events_, "events", letter_of(from.id));
  if (!jobs_of(from.id).rename(name_of(from), name_of(to))) {
    events.remove(event);
    return std::nullopt;
  }
  if (is_durable) flush_part(jobs_, "jobs", letter_of(from.id));
  return to;
}

std::vector<job_event> spool::events(std::string const& id) {
  job_entry const now = entry(id);
  std::vector<job_event> all;
  std::string token = now.token;
  for (std::uint64_t version = now.version; version != 0; --version) {
    open_folder const& events = events_of(id);
    std::string const name = event_name(id, version, token);
    auto const text = events.read(name, max_document_bytes);
    if (!text) break;  // lost with the power of a machine: what comes before it cannot be told
    try {
      kept_event found = parse_event(*text, (events.path() / name).string());
      all.push_back(std::move(found.event));
      token = std::move(found.before);
    } catch (input_error const&) {
      break;
    }
  }
  std::reverse(all.begin(), all.end());
  return all;
}

bool spool::remove(job_entry const& from) {
  open_folder const& jobs = jobs_of(from.id);
  if (!jobs.has(name_of(from))) return false;
  // First, so that a job that is no longer listed leaves nothing large.
  remove_tree(folder(from.id));
  if (!jobs.remove(name_of(from))) return false;
  jobs.flush_names();  // or a job that comes back with the power would have no document
  remove_files(from.id);
  return true;
}

/// Removes the document and the history of a job that is not listed.
void spool::remove_files(std::string const& id) {
  for (std::string const& each : events_of(id).names())
    if (each.starts_with(id + ",")) events_of(id).remove(each);
  documents_of(id).remove(document_name(id));
}

std::size_t spool::remove_litter(std::int64_t before_s) {
  std::set<std::string> known;
  for (job_entry const& each : list()) known.insert(each.id);
  std::set<std::string> lost;
  for (char const* const kind : {"documents", "events", "work"}) {
    open_folder const all = root_.below(kind);
    for (std::string const& last : all.names()) {
      for (std::string const& name : all.below(last).names()) {
        std::string const id = name.substr(0, job_id_digits);
        bool const is_old = is_job_id(id) && static_cast<std::int64_t>(made_ms(id) / 1'000) < before_s;
        if (is_old && !known.contains(id)) lost.insert(id);
      }
    }
  }
  // A listing may be without a job that changes meanwhile, so each is looked for once more.
  std::erase_if(lost, [&](std::string const& id) { return find(id).has_value(); });
  for (std::string const& each : lost) {
    remove_tree(folder(each));
    remove_files(each);
  }
  std::size_t count = lost.size();
  for (std::string const& each : agents_.names())  // one that lives has written its own since
    if (agents_.written_s(each) < before_s && agents_.remove(each)) ++count;
  for (std::string const& each : root_.names()) {
    bool const is_unfinished = each.starts_with(format_file) && each != format_file;
    if (is_unfinished && root_.written_s(each) < before_s && root_.remove(each)) ++count;
  }
  return count;
}

std::vector<std::string> spool::problems() {
  std::vector<std::string> found;
  for (job_entry const& each : list()) {
    if (!documents_of(each.id).has(document_name(each.id)) && find(each.id))
      found.push_back("job " + each.id + " has lost its document: cancel it, and submit it again");
  }
  return found;
}

/// Where the path leads elsewhere by now, the spool was made again, or a file server has come back.
void spool::beat(agent_record const& agent) {
  if (!root_.is_at_its_path()) *this = spool{root_.path()};
  json const all{{"beats", agent.beats}, {"host", agent.host}, {"process", agent.process}, {"offers", agent.offers}};
  agents_.replace(agent.id, all.dump(-1, ' ', false, json::error_handler_t::replace) + "\n");
}

std::vector<agent_record> spool::agents() {
  std::vector<agent_record> all;
  for (std::string const& id : agents_.names()) {
    auto const text = is_token(id) ? agents_.read(id, max_small_file) : std::nullopt;
    if (!text) continue;
    json const found = json::parse(*text, nullptr, false);
    if (!found.is_object()) continue;
    try {
      // nlohmann::json would cut a fraction, which may be out of all range.
      if (!found.at("beats").is_number_integer() || !found.at("process").is_number_integer()) continue;
      all.push_back({.id = id,
                     .beats = found.at("beats"),
                     .host = found.at("host"),
                     .process = found.at("process"),
                     .offers = found.at("offers")});
    } catch (json::exception const&) {  // not by an agent of this version
    }
  }
  return all;
}

void spool::forget_agent(std::string const& id) { agents_.remove(id); }

std::filesystem::path spool::folder(std::string const& id) {
  return root_.below("work").below(std::string{letter_of(id)}).below(id).path();
}

std::optional<drain_order> spool::drained() {
  auto const text = root_.read(drained_file, max_small_file);
  if (!text) return std::nullopt;
  return parse_drain_order(*text, (root_.path() / drained_file).string());
}

void spool::set_drained(std::optional<drain_order> const& order) {
  if (order) {
    root_.replace(drained_file, to_json(*order), open_folder::flushing::flush);
    root_.flush_names();
  } else {
    root_.remove(drained_file);
    root_.flush_names();
  }
}

}  // namespace lull::queue
