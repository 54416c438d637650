// SPDX-License-Identifier: Apache-2.0
#include <lull/host/queue/postgres_connection.hpp>

#include <libpq-fe.h>
#include <poll.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstdlib>
#include <map>
#include <utility>

namespace lull::queue {

namespace {

constexpr std::size_t max_message_bytes = 500;

/// Returns the address's parts by libpq's names of them.
std::map<std::string, std::string> parts_of(std::string const& address) {
  // libpq's own message may hold the whole address, with its password.
  std::unique_ptr<PQconninfoOption, void (*)(PQconninfoOption*)> const all{PQconninfoParse(address.c_str(), nullptr),
                                                                           PQconninfoFree};
  if (all == nullptr)
    throw usage_error{
        "the address of the queue cannot be read: it must be postgresql://USER@HOST/DATABASE, and in a "
        "password %XX stands for each of :/?#[]@%"};
  std::map<std::string, std::string> parts;
  for (PQconninfoOption const* each = all.get(); each->keyword != nullptr; ++each)
    if (each->val != nullptr && *each->val != '\0') parts[each->keyword] = each->val;
  return parts;
}

std::string without_password(std::string const& address) {
  auto parts = parts_of(address);
  std::string shown = "postgresql://";
  if (parts.contains("user")) shown += parts["user"] + "@";
  bool const is_socket = parts.contains("host") && parts["host"].starts_with('/');
  if (!is_socket) shown += parts["host"];
  if (parts.contains("port")) shown += ":" + parts["port"];
  shown += "/" + parts["dbname"];
  if (is_socket) shown += "?host=" + parts["host"];
  return shown;
}

/// Returns a message of the server's or of libpq's in one line.
std::string line_of(char const* message) {
  std::string line = message != nullptr ? message : "";
  while (!line.empty() && line.back() == '\n') line.pop_back();
  std::replace_if(
      line.begin(), line.end(), [](unsigned char c) { return c < ' '; }, ' ');
  if (line.size() > max_message_bytes) line.resize(max_message_bytes);
  return line;
}

/// Returns what the user can do about it; empty: nothing more than the message says.
std::string advice_for(std::string_view state) {
  if (state == "42501") return ": this database user needs the role lull_user to submit, or lull_agent to run jobs";
  if (state == "3F000" || state == "42P01") return ": make the queue with lull queue init";
  if (state == "57014") return ": the server took too long; it is busy, or another session holds a lock";
  if (state == "25006") return ": the server is a standby, name the primary";
  return {};
}

/// The server has ended the session, or is about to.
bool ends_session(std::string_view state) { return state.starts_with("57P") || state.starts_with("08"); }

}  // namespace

postgres_rows::postgres_rows(pg_result* of) : of_(of, PQclear) {}

int postgres_rows::size() const noexcept { return PQntuples(of_.get()); }

std::string_view postgres_rows::text(int row, int column) const noexcept {
  return {PQgetvalue(of_.get(), row, column), static_cast<std::size_t>(PQgetlength(of_.get(), row, column))};
}

std::int64_t postgres_rows::number(int row, int column) const {
  std::string_view const digits = text(row, column);
  std::int64_t value = 0;
  auto const [end, wrong] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  if (wrong != std::errc{} || end != digits.data() + digits.size())
    throw input_error{"the queue's database", 0, "\"" + std::string{digits} + "\" is no whole number"};
  return value;
}

int postgres_rows::changed() const noexcept { return std::atoi(PQcmdTuples(of_.get())); }

postgres_connection::postgres_connection(std::string address)
    : address_(std::move(address)), server_(without_password(address_)), connection_(nullptr, PQfinish) {}

postgres_connection::~postgres_connection() = default;

void postgres_connection::close() noexcept {
  connection_.reset();
  prepared_.clear();
}

void postgres_connection::limit(std::chrono::milliseconds at_most) noexcept {
  if (std::exchange(limit_, at_most) != at_most) close();
}

void postgres_connection::fail_lost(int code, std::string const& why, char const* call) {
  close();
  throw postgres_lost{code, why + ": see that the server runs and can be reached, and try again", call, server_};
}

void postgres_connection::await(short events, clock::time_point deadline, char const* call) {
  pollfd one{.fd = PQsocket(connection_.get()), .events = events, .revents = 0};
  for (;;) {
    auto const left = std::chrono::ceil<std::chrono::milliseconds>(deadline - clock::now());
    if (left.count() <= 0)
      fail_lost(ETIMEDOUT, "there was no answer within " + std::to_string(limit_.count()) + " ms", call);
    int const ready = ::poll(&one, 1, static_cast<int>(left.count()));
    if (ready > 0) return;
    if (ready < 0 && errno != EINTR) fail_lost(errno, "poll", call);
  }
}

void postgres_connection::connect() {
  constexpr char const* call = "connecting";
  auto const deadline = clock::now() + limit_;
  char const* const keys[] = {"dbname", "client_encoding", "fallback_application_name", nullptr};
  char const* const values[] = {address_.c_str(), "UTF8", "lull", nullptr};
  connection_.reset(PQconnectStartParams(keys, values, 1));
  if (connection_ == nullptr) throw limit_error{"there is no memory for a connection"};
  PQsetNoticeProcessor(
      connection_.get(), [](void*, char const*) {}, nullptr);
  auto next = PGRES_POLLING_WRITING;
  while (next != PGRES_POLLING_OK && PQstatus(connection_.get()) != CONNECTION_BAD) {
    await(next == PGRES_POLLING_WRITING ? POLLOUT : POLLIN, deadline, call);
    next = PQconnectPoll(connection_.get());
    if (next == PGRES_POLLING_FAILED) break;
  }
  if (PQstatus(connection_.get()) != CONNECTION_OK || PQsetnonblocking(connection_.get(), 1) != 0)
    fail_lost(ECONNREFUSED, line_of(PQerrorMessage(connection_.get())), call);
  // An operator may have other defaults. What was acknowledged must be on the disk, and no statement may outlast its
  // call.
  postgres_statement const settings{
      call,
      "SELECT set_config('statement_timeout', $1, false), set_config('idle_in_transaction_session_timeout', $1, false),"
      " set_config('lock_timeout', '0', false), set_config('search_path', 'pg_catalog', false),"
      " set_config('default_transaction_isolation', 'read committed', false), set_config('synchronous_commit', CASE"
      " current_setting('synchronous_commit') WHEN 'off' THEN 'on' ELSE current_setting('synchronous_commit') END, "
      "false)",
      false};
  durable_commit_ = run(settings, {std::to_string(limit_.count() * 3 / 4)}).text(0, 5);
}

postgres_rows postgres_connection::run(postgres_statement const& what, std::vector<std::string> const& values) {
  if (connection_ == nullptr) connect();
  auto const deadline = clock::now() + limit_;
  auto const sent = [&](int is_sent) {
    if (is_sent == 0) fail_lost(ENOTCONN, line_of(PQerrorMessage(connection_.get())), what.what);
  };
  std::vector<char const*> texts;
  for (std::string const& each : values) texts.push_back(each.c_str());
  int const count = static_cast<int>(texts.size());
  if (!what.is_prepared) {
    sent(PQsendQueryParams(connection_.get(), what.sql, count, nullptr, texts.data(), nullptr, nullptr, 0));
    return result(what.what, deadline);
  }
  if (!prepared_.contains(what.what)) {
    sent(PQsendPrepare(connection_.get(), what.what, what.sql, 0, nullptr));
    result(what.what, deadline);
    prepared_.insert(what.what);
  }
  sent(PQsendQueryPrepared(connection_.get(), what.what, count, texts.data(), nullptr, nullptr, 0));
  return result(what.what, deadline);
}

postgres_rows postgres_connection::run_again(postgres_statement const& what, std::vector<std::string> const& values) {
  try {
    return run(what, values);
  } catch (postgres_lost const&) {
    return run(what, values);
  }
}

postgres_rows postgres_connection::result(char const* call, clock::time_point deadline) {
  pg_conn* const on = connection_.get();
  for (int left = 1; (left = PQflush(on)) != 0;) {
    if (left < 0) fail_lost(ENOTCONN, line_of(PQerrorMessage(on)), call);
    await(POLLIN | POLLOUT, deadline, call);
    if (PQconsumeInput(on) == 0) fail_lost(ENOTCONN, line_of(PQerrorMessage(on)), call);
  }
  postgres_rows last{nullptr};
  for (;;) {
    while (PQisBusy(on) != 0) {
      await(POLLIN, deadline, call);
      if (PQconsumeInput(on) == 0) fail_lost(ECONNRESET, line_of(PQerrorMessage(on)), call);
    }
    pg_result* const each = PQgetResult(on);
    if (each == nullptr) return last;
    last = postgres_rows{each};
    auto const status = PQresultStatus(each);
    if (status == PGRES_TUPLES_OK || status == PGRES_COMMAND_OK) continue;
    char const* const field = PQresultErrorField(each, PG_DIAG_SQLSTATE);
    std::string const state = field != nullptr ? field : "";
    std::string const message = line_of(PQresultErrorMessage(each));
    if (state.empty() || ends_session(state) || PQstatus(on) == CONNECTION_BAD) fail_lost(ECONNRESET, message, call);
    close();  // whatever it was in the middle of
    int const code = state == "42501" ? EACCES : EIO;
    throw postgres_refusal{code, message + advice_for(state), call, server_, state};
  }
}

postgres_transaction::postgres_transaction(postgres_connection& on) : on_(on) {
  on_.run({.what = "begin", .sql = "BEGIN", .is_prepared = false});
}

postgres_transaction::~postgres_transaction() {
  if (!is_over_) on_.close();
}

void postgres_transaction::commit() {
  on_.run({.what = "commit", .sql = "COMMIT", .is_prepared = false});
  is_over_ = true;
}

std::string array_value(std::vector<std::string> const& values) {
  std::string all = "{";
  for (std::string const& each : values) {
    if (all.size() > 1) all += ',';
    all += '"';
    for (char const c : each) {
      if (c == '"' || c == '\\') all += '\\';
      all += c;
    }
    all += '"';
  }
  return all + "}";
}

}  // namespace lull::queue
