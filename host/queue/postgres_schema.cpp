// SPDX-License-Identifier: Apache-2.0
#include <lull/host/queue/postgres_schema.hpp>

#include <cstddef>
#include <iterator>
#include <span>

#include <lull/host/error.hpp>

namespace lull::queue {

namespace {

// Column rights say what each role may write, and row policies which rows. An owner is always `session_user`, which
// SET ROLE does not change. Ids and tokens become names of files on agents' machines, so their letters are checked.
// A user cannot name results, because an agent renames those as its own Unix user; nor can a user end a job as done.
constexpr char const* first_step[] = {
    "CREATE SCHEMA lull",
    R"(CREATE TABLE lull.queue (
         schema_number integer NOT NULL,
         lease_ms bigint NOT NULL CHECK (lease_ms BETWEEN 1000 AND 86400000),
         folder text NOT NULL))",
    "CREATE UNIQUE INDEX one_row ON lull.queue ((true))",
    R"(CREATE TABLE lull.documents (
         id text COLLATE "C" PRIMARY KEY CHECK (id ~ '^[0-9a-hjkmnp-tv-z]{20}$'),
         owner name NOT NULL DEFAULT session_user,
         document text NOT NULL CHECK (octet_length(document) <= 1048576)))",
    // Space for the next version of a row beside it, so that a change touches no index.
    R"(CREATE TABLE lull.jobs (
         id text COLLATE "C" PRIMARY KEY REFERENCES lull.documents,
         owner name NOT NULL DEFAULT session_user,
         version bigint NOT NULL DEFAULT 0 CHECK (version >= 0),
         state text NOT NULL DEFAULT 'queued' CHECK (state IN ('queued', 'claimed', 'running', 'saved', 'done',
           'failed', 'refused', 'held', 'cancelled')),
         in_place boolean NOT NULL DEFAULT false,
         priority integer NOT NULL CHECK (priority BETWEEN -1000 AND 1000),
         attempt integer NOT NULL DEFAULT 0 CHECK (attempt >= 0),
         failures integer NOT NULL DEFAULT 0 CHECK (failures >= 0),
         deaths integer NOT NULL DEFAULT 0 CHECK (deaths >= 0),
         agent text COLLATE "C" NOT NULL DEFAULT '' CHECK (agent ~ '^([0-9a-hjkmnp-tv-z]{12})?$'),
         token text COLLATE "C" NOT NULL CHECK (token ~ '^[0-9a-hjkmnp-tv-z]{12}$')) WITH (fillfactor = 50))",
    // The token is of the key: a line that a user made up cannot be in the way of a change that happens.
    R"(CREATE TABLE lull.events (
         id text COLLATE "C" NOT NULL,
         version bigint NOT NULL,
         token text COLLATE "C" NOT NULL,
         token_before text COLLATE "C" NOT NULL,
         state text NOT NULL,
         at timestamptz NOT NULL DEFAULT clock_timestamp(),
         agent text NOT NULL,
         attempt integer NOT NULL,
         reason text NOT NULL,
         results text NOT NULL DEFAULT '[]',
         PRIMARY KEY (id, version, token)))",
    R"(CREATE TABLE lull.agents (
         id text COLLATE "C" PRIMARY KEY CHECK (id ~ '^[0-9a-hjkmnp-tv-z]{12}$'),
         owner name NOT NULL DEFAULT session_user,
         beats bigint NOT NULL,
         host text NOT NULL,
         process bigint NOT NULL,
         offers text NOT NULL,
         seen timestamptz NOT NULL DEFAULT clock_timestamp()) WITH (fillfactor = 50))",
    R"(DO $$ BEGIN
         IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = 'lull_user') THEN CREATE ROLE lull_user; END IF;
         IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = 'lull_agent') THEN CREATE ROLE lull_agent; END IF;
       END $$)",
    "GRANT USAGE ON SCHEMA lull TO lull_user, lull_agent",
    "GRANT SELECT ON ALL TABLES IN SCHEMA lull TO lull_user, lull_agent",
    "GRANT INSERT (id, document) ON lull.documents TO lull_user",
    "GRANT INSERT (id, priority, token) ON lull.jobs TO lull_user",
    "GRANT UPDATE (version, token, state, priority, failures, deaths) ON lull.jobs TO lull_user",
    "GRANT INSERT (id, version, token, token_before, state, agent, attempt, reason) ON lull.events TO lull_user",
    R"(GRANT UPDATE (version, token, state, priority, failures, deaths, in_place, attempt, agent)
         ON lull.jobs TO lull_agent)",
    R"(GRANT INSERT (id, version, token, token_before, state, agent, attempt, reason, results)
         ON lull.events TO lull_agent)",
    R"(GRANT INSERT (id, beats, host, process, offers), UPDATE (beats, host, process, offers, seen), DELETE
         ON lull.agents TO lull_agent)",
    "ALTER TABLE lull.documents ENABLE ROW LEVEL SECURITY",
    "ALTER TABLE lull.jobs ENABLE ROW LEVEL SECURITY",
    "ALTER TABLE lull.events ENABLE ROW LEVEL SECURITY",
    "ALTER TABLE lull.agents ENABLE ROW LEVEL SECURITY",
    "CREATE POLICY own ON lull.documents TO lull_user USING (owner = session_user) WITH CHECK (owner = session_user)",
    "CREATE POLICY own ON lull.jobs FOR SELECT TO lull_user USING (owner = session_user)",
    "CREATE POLICY own_submitted ON lull.jobs FOR INSERT TO lull_user WITH CHECK (owner = session_user)",
    R"(CREATE POLICY own_changed ON lull.jobs FOR UPDATE TO lull_user USING (owner = session_user)
         WITH CHECK (owner = session_user AND state IN ('queued', 'saved', 'held', 'cancelled')))",
    R"(CREATE POLICY own ON lull.events FOR SELECT TO lull_user
         USING (EXISTS (SELECT FROM lull.jobs AS job WHERE job.id = events.id AND job.owner = session_user)))",
    R"(CREATE POLICY own_changed ON lull.events FOR INSERT TO lull_user
         WITH CHECK (EXISTS (SELECT FROM lull.jobs AS job WHERE job.id = events.id AND job.owner = session_user)))",
    "CREATE POLICY every ON lull.documents FOR SELECT TO lull_agent USING (true)",
    "CREATE POLICY every ON lull.jobs FOR SELECT TO lull_agent USING (true)",
    "CREATE POLICY every_changed ON lull.jobs FOR UPDATE TO lull_agent USING (true)",
    "CREATE POLICY every ON lull.events FOR SELECT TO lull_agent USING (true)",
    "CREATE POLICY every_changed ON lull.events FOR INSERT TO lull_agent WITH CHECK (true)",
    "CREATE POLICY every ON lull.agents FOR SELECT TO lull_user, lull_agent USING (true)",
    "CREATE POLICY own_begun ON lull.agents FOR INSERT TO lull_agent WITH CHECK (owner = session_user)",
    R"(CREATE POLICY own_beat ON lull.agents FOR UPDATE TO lull_agent USING (owner = session_user)
         WITH CHECK (owner = session_user))",
    "CREATE POLICY every_forgotten ON lull.agents FOR DELETE TO lull_agent USING (true)",
};

// Why agents begin no jobs; empty: they do. All who may use the queue read it, and its owner writes it.
constexpr char const* second_step[] = {
    "ALTER TABLE lull.queue ADD COLUMN drained text NOT NULL DEFAULT '' CHECK (octet_length(drained) <= 65536)",
};

// The step at place i makes number i + 1 of number i. A step that was released does not change.
constexpr std::span<char const* const> steps[] = {first_step, second_step};
static_assert(std::size(steps) == static_cast<std::size_t>(postgres_schema_number));

constexpr postgres_statement is_there{"looking for the queue", "SELECT to_regclass('lull.queue') IS NOT NULL", false};
constexpr postgres_statement read_queue{"reading the queue", "SELECT schema_number, lease_ms, folder FROM lull.queue",
                                        false};

constexpr char const* no_right = "42501";

postgres_rows step(postgres_connection& on, char const* sql, std::vector<std::string> const& values = {}) {
  try {
    return on.run({.what = "making the queue", .sql = sql, .is_prepared = false}, values);
  } catch (postgres_refusal const& refused) {
    if (refused.state() != no_right) throw;
    throw usage_error{on.server() +
                      ": this database user cannot make the queue or bring it up to date: that takes the owner of the "
                      "database, who may also create the roles lull_user and lull_agent if they are not there"};
  }
}

[[noreturn]] void fail_number(postgres_connection const& on, std::int64_t found, char const* advice) {
  throw usage_error{on.server() + ": the queue has schema " + std::to_string(found) + ", and this version knows " +
                    std::to_string(postgres_schema_number) + ": " + advice};
}

constexpr char const* use_newer = "use a newer lull";

}  // namespace

void make_postgres_schema(postgres_connection& on, postgres_queue const& with) {
  postgres_transaction whole{on};
  step(on, "SELECT pg_advisory_xact_lock(hashtext('lull.queue'))");  // another may make it now
  if (step(on, "SHOW server_encoding").text(0, 0) != "UTF8")
    throw usage_error{on.server() +
                      ": the queue needs a database of UTF-8: createdb --encoding UTF8 --template template0"};
  bool const is_new = !on.run(is_there).is_true(0, 0);
  std::int64_t number = 0;
  if (is_new && !with.folder.is_absolute())
    throw usage_error{
        "a queue in PostgreSQL needs --folder PATH: an absolute path, below which every agent finds "
        "checkpoints and logs"};
  if (!is_new) {
    postgres_rows const found = on.run(read_queue);
    number = found.number(0, 0);
    if (number > postgres_schema_number) fail_number(on, number, use_newer);
    if (!with.folder.empty() && with.folder != found.text(0, 2))
      throw usage_error{on.server() + ": the queue has the folder " + std::string{found.text(0, 2)} +
                        " already: leave --folder out"};
  }
  for (; number < postgres_schema_number; ++number)
    for (char const* const each : steps[static_cast<std::size_t>(number)]) step(on, each);
  std::string const now = std::to_string(postgres_schema_number);
  if (is_new) {
    step(on, "INSERT INTO lull.queue (schema_number, lease_ms, folder) VALUES ($1::integer, $2::bigint, $3)",
         {now, std::to_string(with.lease.count()), with.folder.string()});
  } else {
    step(on, "UPDATE lull.queue SET schema_number = $1::integer WHERE schema_number <> $1::integer", {now});
  }
  whole.commit();
}

postgres_queue read_postgres_schema(postgres_connection& on) {
  if (!on.run_again(is_there).is_true(0, 0))
    throw usage_error{on.server() + ": there is no queue in this database: make one with lull queue init"};
  postgres_rows const found = on.run_again(read_queue);
  std::int64_t const number = found.number(0, 0);
  if (number > postgres_schema_number) fail_number(on, number, use_newer);
  if (number < postgres_schema_number) fail_number(on, number, "bring the queue up to date with lull queue init");
  return {.lease = std::chrono::milliseconds{found.number(0, 1)}, .folder = std::string{found.text(0, 2)}};
}

std::vector<std::string> postgres_problems(postgres_connection& on) {
  std::vector<std::string> found;
  postgres_statement const look{
      "checking",
      "SELECT current_setting('fsync'), current_setting('full_page_writes'), current_user,"
      " has_column_privilege('lull.jobs', 'priority', 'INSERT'), has_column_privilege('lull.jobs', 'agent', 'UPDATE'),"
      " (SELECT count(*) FROM pg_class WHERE relnamespace = 'lull'::regnamespace AND relrowsecurity)",
      false};
  postgres_rows const is = on.run_again(look);
  for (int const column : {0, 1})
    if (is.text(0, column) != "on")
      found.push_back(std::string{column == 0 ? "fsync" : "full_page_writes"} +
                      " is off: a job that was submitted may be lost when the server's machine loses its power");
  if (!is.is_true(0, 3) && !is.is_true(0, 4))
    found.push_back("user " + std::string{is.text(0, 2)} +
                    " may neither submit jobs nor run them: GRANT lull_user or "
                    "lull_agent to it");
  if (is.number(0, 5) != 4)
    found.push_back("row policies are switched off for some tables of the schema lull: users see each other's jobs");
  return found;
}

}  // namespace lull::queue
