// SPDX-License-Identifier: Apache-2.0
#include <lull/host/queue/postgres_store.hpp>

#include <algorithm>
#include <cerrno>
#include <functional>
#include <map>
#include <string_view>
#include <utility>

#include <sys/stat.h>

#include <nlohmann/json.hpp>

#include <lull/host/error.hpp>
#include <lull/host/queue/job_id.hpp>
#include <lull/host/queue/open_folder.hpp>

namespace lull::queue {

namespace {

using json = nlohmann::json;
using namespace std::chrono_literals;

constexpr std::size_t jobs_at_once = 2'000;  // in one statement, so that it ends within its time limit

constexpr postgres_statement insert_jobs{
    "submitting",
    R"(WITH given AS (SELECT * FROM unnest($1::text[], $2::text[], $3::integer[], $4::text[])
                        AS each (id, document, priority, token)),
            documents AS (INSERT INTO lull.documents (id, document) SELECT id, document FROM given)
       INSERT INTO lull.jobs (id, priority, token) SELECT id, priority, token FROM given)"};
constexpr postgres_statement count_jobs{"looking for jobs",
                                        "SELECT count(*) FROM lull.jobs WHERE id = ANY ($1::text[])"};
constexpr postgres_statement list_jobs{
    "listing", "SELECT id, version, state, in_place, priority, attempt, failures, deaths, agent, token FROM lull.jobs"};
constexpr postgres_statement read_job{
    "reading a job",
    "SELECT id, version, state, in_place, priority, attempt, failures, deaths, agent, token FROM lull.jobs"
    " WHERE id = $1"};
constexpr postgres_statement read_document{"reading a document",
                                           "SELECT document, owner FROM lull.documents WHERE id = $1"};
// The commit of one statement takes its settings when the statement is over: nothing of it is in the way of others.
constexpr postgres_statement change_as_agent{"changing a job",
                                             R"(WITH changed AS (
         UPDATE lull.jobs SET version = version + 1, token = $4, state = $5, priority = $6::integer,
           failures = $7::integer, deaths = $8::integer, agent = $9, attempt = $10::integer, in_place = $13::boolean
         WHERE id = $1 AND version = $2::bigint AND token = $3 RETURNING id, version)
       INSERT INTO lull.events (id, version, token, token_before, state, agent, attempt, reason, results)
         SELECT id, version, $4, $3, $5, $9, $10::integer, $11, $14 FROM changed
         WHERE set_config('synchronous_commit', $12, true) IS NOT NULL)"};
constexpr postgres_statement change_as_user{"changing a job of this user",
                                            R"(WITH changed AS (
         UPDATE lull.jobs SET version = version + 1, token = $4, state = $5, priority = $6::integer,
           failures = $7::integer, deaths = $8::integer
         WHERE id = $1 AND version = $2::bigint AND token = $3 RETURNING id, version)
       INSERT INTO lull.events (id, version, token, token_before, state, agent, attempt, reason)
         SELECT id, version, $4, $3, $5, $9, $10::integer, $11 FROM changed
         WHERE set_config('synchronous_commit', $12, true) IS NOT NULL)"};
constexpr postgres_statement find_change{
    "looking for a change", "SELECT FROM lull.events WHERE id = $1 AND version = $2::bigint AND token = $3"};
constexpr postgres_statement read_events{
    "reading a history",
    "SELECT version, token, token_before, state, extract(epoch FROM at)::bigint, agent, attempt, reason, results"
    " FROM lull.events WHERE id = $1"};
constexpr postgres_statement beat_agent{"beating",
                                        R"(INSERT INTO lull.agents AS known (id, beats, host, process, offers)
         SELECT $1, $2::bigint, $3, $4::bigint, $5 WHERE set_config('synchronous_commit', 'off', true) IS NOT NULL
       ON CONFLICT (id) DO UPDATE SET beats = excluded.beats, host = excluded.host, process = excluded.process,
         offers = excluded.offers, seen = clock_timestamp())"};
// While the server was not there no agent could beat.
constexpr postgres_statement list_agents{"listing agents",
                                         R"(SELECT id, beats, host, process, offers, greatest(0,
         extract(epoch FROM clock_timestamp() - greatest(seen, pg_postmaster_start_time())) * 1000)::bigint
       FROM lull.agents)"};
constexpr postgres_statement delete_agent{"forgetting an agent", "DELETE FROM lull.agents WHERE id = $1"};
constexpr postgres_statement delete_job{"removing a job",
                                        R"(WITH gone AS (
         DELETE FROM lull.jobs WHERE id = $1 AND version = $2::bigint AND token = $3 RETURNING id),
         lines AS (DELETE FROM lull.events USING gone WHERE events.id = gone.id)
       SELECT count(*) FROM gone)"};
constexpr postgres_statement delete_document{"removing a document", "DELETE FROM lull.documents WHERE id = $1"};
constexpr postgres_statement read_drained{"looking whether the queue is drained", "SELECT drained FROM lull.queue"};
constexpr postgres_statement write_drained{"draining", "UPDATE lull.queue SET drained = $1"};
constexpr postgres_statement look_at_ownership{"looking at rights", "SELECT has_table_privilege('lull.jobs', 'DELETE')",
                                               false};
constexpr postgres_statement look_at_rights{"looking at rights",
                                            "SELECT has_column_privilege('lull.jobs', 'agent', 'UPDATE')", false};

/// Returns a text as the database takes it: UTF-8, and no zero byte in it.
std::string stored(std::string const& text) {
  std::string made = json::parse(json(text).dump(-1, ' ', false, json::error_handler_t::replace)).get<std::string>();
  std::replace(made.begin(), made.end(), '\0', ' ');
  return made;
}

[[noreturn]] void fail_unknown(std::string const& id) { throw usage_error{"there is no job " + id}; }

void check_id(std::string const& id) {
  if (!is_job_id(id)) throw usage_error{"\"" + id + "\" is no job's id"};
}

entry_state state_of(std::string_view name) {
  auto const at = std::find(state_names.begin(), state_names.end(), name);
  if (at == state_names.end())
    throw input_error{"the queue's database", 0, "\"" + std::string{name} + "\" is no state of a job"};
  return static_cast<entry_state>(at - state_names.begin());
}

job_entry entry_of(postgres_rows const& rows, int row) {
  return {.id = std::string{rows.text(row, 0)},
          .version = static_cast<std::uint64_t>(rows.number(row, 1)),
          .state = state_of(rows.text(row, 2)),
          .in_place = rows.is_true(row, 3),
          .priority = static_cast<int>(rows.number(row, 4)),
          .attempt = static_cast<unsigned>(rows.number(row, 5)),
          .failures = static_cast<unsigned>(rows.number(row, 6)),
          .deaths = static_cast<unsigned>(rows.number(row, 7)),
          .agent = std::string{rows.text(row, 8)},
          .token = std::string{rows.text(row, 9)}};
}

postgres_queue opened(postgres_connection& on) {
  postgres_queue const found = read_postgres_schema(on);
  // Two tries, so that an agent whose server is gone has not lost its lease when it learns it.
  on.limit(std::clamp<std::chrono::milliseconds>(found.lease / 3, 5s, 10s));
  return found;
}

}  // namespace

postgres_store::postgres_store(std::string const& address)
    : connection_(address),
      queue_(opened(connection_)),
      may_run_(connection_.run_again(look_at_rights).is_true(0, 0)) {}

void postgres_store::make(std::string const& address, postgres_queue const& with) {
  if (with.lease < 1s || with.lease > 24h) throw usage_error{"a lease is from 1s to 24h long"};
  postgres_connection on{address};
  make_postgres_schema(on, with);
}

std::vector<std::string> postgres_store::submit(std::span<job_document const> jobs) {
  std::vector<job_entry> entries;
  std::vector<std::string> ids;
  for (job_document const& each : jobs) {
    entries.push_back({.id = make_job_id(), .priority = each.priority, .token = make_token()});
    ids.push_back(entries.back().id);
  }
  if (jobs.empty()) return ids;
  try {
    insert(jobs, entries);
  } catch (postgres_lost const&) {  // the jobs are all there, or none of them is
    std::int64_t const found = connection_.run_again(count_jobs, {array_value(ids)}).number(0, 0);
    if (found != static_cast<std::int64_t>(ids.size())) insert(jobs, entries);
  }
  return ids;
}

void postgres_store::insert(std::span<job_document const> jobs, std::span<job_entry const> entries) {
  std::optional<postgres_transaction> whole;
  if (jobs.size() > jobs_at_once) whole.emplace(connection_);
  std::size_t bytes = 0;
  for (std::size_t begin = 0; begin < jobs.size(); begin += jobs_at_once) {
    std::vector<std::string> ids, documents, priorities, tokens;
    for (std::size_t i = begin; i < std::min(begin + jobs_at_once, jobs.size()); ++i) {
      ids.push_back(entries[i].id);
      documents.push_back(to_json(jobs[i]));
      priorities.push_back(std::to_string(entries[i].priority));
      tokens.push_back(entries[i].token);
      bytes += documents.back().size();
    }
    if (bytes > max_submit_bytes)
      throw limit_error{"the documents are larger than " + std::to_string(max_submit_bytes >> 20) +
                        " MiB in all: submit them in parts"};
    connection_.run(insert_jobs,
                    {array_value(ids), array_value(documents), array_value(priorities), array_value(tokens)});
  }
  if (whole) whole->commit();
}

std::vector<job_entry> postgres_store::list() {
  postgres_rows const rows = connection_.run_again(list_jobs);
  std::vector<job_entry> all;
  all.reserve(static_cast<std::size_t>(rows.size()));
  for (int i = 0; i < rows.size(); ++i) all.push_back(entry_of(rows, i));
  return all;
}

job_entry postgres_store::entry(std::string const& id) {
  check_id(id);
  postgres_rows const rows = connection_.run_again(read_job, {id});
  if (rows.size() == 0) fail_unknown(id);
  return entry_of(rows, 0);
}

postgres_store::stored_document const& postgres_store::stored_of(std::string const& id) {
  check_id(id);
  if (last_.id == id) return last_;
  postgres_rows const rows = connection_.run_again(read_document, {id});
  if (rows.size() == 0) fail_unknown(id);
  last_ = {.id = id, .text = std::string{rows.text(0, 0)}, .owner = std::string{rows.text(0, 1)}};
  return last_;
}

job_document postgres_store::document(std::string const& id) {
  return parse_jobs(stored_of(id).text, "the document of job " + id).front();
}

std::optional<std::string> postgres_store::owner(std::string const& id) { return stored_of(id).owner; }

std::optional<job_entry> postgres_store::change(job_entry const& from, job_entry to, job_event what, durability how) {
  check_id(from.id);
  to.id = from.id;
  to.version = from.version + 1;
  to.token = make_token();
  bool const is_users = to.agent == from.agent && to.attempt == from.attempt && to.in_place == from.in_place;
  if (!may_run_ && (!is_users || !what.results.empty()))
    throw usage_error{"this database user may not run jobs: GRANT lull_agent to it"};
  std::vector<std::string> values{
      from.id,
      std::to_string(from.version),
      from.token,
      to.token,
      std::string{name_of(to.state)},
      std::to_string(to.priority),
      std::to_string(to.failures),
      std::to_string(to.deaths),
      to.agent,
      std::to_string(to.attempt),
      stored(what.reason),
      how == durability::durable ? connection_.durable_commit() : "off",
  };
  if (may_run_) {
    values.emplace_back(to.in_place ? "true" : "false");
    values.push_back(json(what.results).dump(-1, ' ', false, json::error_handler_t::replace));
  }
  postgres_statement const& statement = may_run_ ? change_as_agent : change_as_user;
  try {
    if (connection_.run(statement, values).changed() == 1) return to;
    return std::nullopt;
  } catch (postgres_lost const&) {
  }
  // It may have happened, and others may have changed the job since.
  if (connection_.run(statement, values).changed() == 1 || has_happened(to)) return to;
  return std::nullopt;
}

bool postgres_store::has_happened(job_entry const& changed) {
  return connection_.run_again(find_change, {changed.id, std::to_string(changed.version), changed.token}).size() == 1;
}

std::vector<job_event> postgres_store::events(std::string const& id) {
  job_entry const now = entry(id);
  postgres_rows const rows = connection_.run_again(read_events, {id});
  std::map<std::string, int, std::less<>> by_token;
  for (int i = 0; i < rows.size(); ++i) by_token.emplace(rows.text(i, 1), i);
  std::vector<job_event> all;
  // Only what led to the job as it is: a user can add other lines to a job of their own.
  std::string_view token = now.token;
  for (std::uint64_t version = now.version; version != 0; --version) {
    auto const found = by_token.find(token);
    if (found == by_token.end()) break;
    int const row = found->second;
    if (rows.number(row, 0) != static_cast<std::int64_t>(version)) break;
    job_event event{.version = version,
                    .state = state_of(rows.text(row, 3)),
                    .time_s = rows.number(row, 4),
                    .agent = std::string{rows.text(row, 5)},
                    .attempt = static_cast<unsigned>(rows.number(row, 6)),
                    .reason = std::string{rows.text(row, 7)}};
    event.results = json::parse(rows.text(row, 8)).get<decltype(event.results)>();
    all.push_back(std::move(event));
    token = rows.text(row, 2);
  }
  std::reverse(all.begin(), all.end());
  return all;
}

bool postgres_store::remove(job_entry const& from) {
  std::vector<std::string> const as_it_is{from.id, std::to_string(from.version), from.token};
  if (!connection_.run_again(look_at_ownership).is_true(0, 0))
    throw usage_error{"the owner of the queue's schema removes jobs: run lull queue clean as that database user"};
  postgres_rows const now = connection_.run_again(read_job, {from.id});
  if (now.size() == 0 || entry_of(now, 0) != from) return false;
  std::filesystem::remove_all(folder(from.id));
  postgres_transaction whole{connection_};
  if (connection_.run(delete_job, as_it_is).number(0, 0) != 1) return false;
  connection_.run(delete_document, {from.id});
  whole.commit();
  return true;
}

void postgres_store::beat(agent_record const& agent) {
  connection_.run_again(beat_agent, {agent.id, std::to_string(agent.beats), stored(agent.host),
                                     std::to_string(agent.process), stored(agent.offers)});
}

std::vector<agent_record> postgres_store::agents() {
  postgres_rows const rows = connection_.run_again(list_agents);
  std::vector<agent_record> all;
  for (int i = 0; i < rows.size(); ++i)
    all.push_back({.id = std::string{rows.text(i, 0)},
                   .beats = static_cast<std::uint64_t>(rows.number(i, 1)),
                   .host = std::string{rows.text(i, 2)},
                   .process = rows.number(i, 3),
                   .offers = std::string{rows.text(i, 4)},
                   .silence = std::chrono::milliseconds{rows.number(i, 5)}});
  return all;
}

void postgres_store::forget_agent(std::string const& id) { connection_.run_again(delete_agent, {id}); }

/// A folder that is missing is this machine's fault, not the job's: an agent that met a usage_error would refuse the
/// job.
std::filesystem::path postgres_store::folder(std::string const& id) {
  check_id(id);
  try {
    ::mkdir(queue_.folder.c_str(), S_IRWXU);  // by the first agent; its own folder must be there
    return open_folder::own(queue_.folder).below(std::string{id.back()}).below(id).path();
  } catch (usage_error const& wrong) {
    throw device_error{EACCES, wrong.what(), "opening the queue's folder", connection_.server()};
  }
}

std::optional<drain_order> postgres_store::drained() {
  std::string const text{connection_.run_again(read_drained).text(0, 0)};
  if (text.empty()) return std::nullopt;
  return parse_drain_order(text, "lull.queue in " + connection_.server());
}

void postgres_store::set_drained(std::optional<drain_order> const& order) {
  if (!connection_.run_again(look_at_ownership).is_true(0, 0))
    throw usage_error{"the owner of the queue's schema drains and resumes it: do it as that database user"};
  connection_.run_again(write_drained, {order ? stored(to_json(*order)) : ""});
}

std::vector<std::string> postgres_store::problems() {
  std::vector<std::string> found = postgres_problems(connection_);
  if (!may_run_) return found;
  try {
    open_folder::own(queue_.folder);
  } catch (error const& wrong) {
    found.push_back(std::string{wrong.what()} + " (an agent on this machine keeps checkpoints and logs there)");
  }
  return found;
}

}  // namespace lull::queue
