// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include <lull/host/error.hpp>

struct pg_conn;  // libpq's: only postgres_connection.cpp includes its header
struct pg_result;

namespace lull::queue {

/// The connection ended, or none can be made. Whether the server did what it was asked for is not known.
class postgres_lost : public device_error {
 public:
  using device_error::device_error;
};

/// The server answered that it does not do it.
class postgres_refusal : public device_error {
 public:
  postgres_refusal(int code, std::string const& name, std::string const& call, std::string const& place,
                   std::string state)
      : device_error(code, name, call, place), state_(std::move(state)) {}

  /// Returns SQL's code of five letters and digits.
  std::string const& state() const noexcept { return state_; }

 private:
  std::string state_;
};

/// One statement of SQL. What users write never becomes a part of it: it comes as values, for $1, $2 and so on.
struct postgres_statement {
  char const* what;  // for messages; of one that is prepared also its name, so each has another
  char const* sql;
  bool is_prepared = true;  // once for each connection
};

/// What a statement returned, as text.
class postgres_rows {
 public:
  explicit postgres_rows(pg_result* of);

  int size() const noexcept;
  std::string_view text(int row, int column) const noexcept;
  /// Throws input_error for a text that is no whole number.
  std::int64_t number(int row, int column) const;
  bool is_true(int row, int column) const noexcept { return text(row, column) == "t"; }
  /// Returns how many rows were inserted, updated or deleted.
  int changed() const noexcept;

 private:
  std::unique_ptr<pg_result, void (*)(pg_result*)> of_;
};

/// A connection to one database, made when it is first used, and again after it was lost. Every call ends within a
/// time limit, which the server has too, and a shorter one: so no statement is at work after its call has thrown. Not
/// thread-safe.
class postgres_connection {
 public:
  /// Throws usage_error if the address cannot be read: "postgresql://USER@HOST/DATABASE".
  explicit postgres_connection(std::string address);
  ~postgres_connection();
  postgres_connection(postgres_connection const&) = delete;
  postgres_connection& operator=(postgres_connection const&) = delete;

  /// Throws postgres_lost, postgres_refusal.
  postgres_rows run(postgres_statement const& what, std::vector<std::string> const& values = {});
  /// The same, once more where the connection was lost: for what may be done twice.
  postgres_rows run_again(postgres_statement const& what, std::vector<std::string> const& values = {});
  /// Ends the connection, and what it had begun is undone.
  void close() noexcept;
  /// Calls end within this time, from now on. Another time needs another connection.
  void limit(std::chrono::milliseconds at_most) noexcept;

  /// Returns the address without its password.
  std::string const& server() const noexcept { return server_; }
  /// Returns how the server commits what must be on its disk.
  std::string const& durable_commit() const noexcept { return durable_commit_; }

 private:
  using clock = std::chrono::steady_clock;

  void connect();
  void await(short events, clock::time_point deadline, char const* call);
  postgres_rows result(char const* call, clock::time_point deadline);
  [[noreturn]] void fail_lost(int code, std::string const& why, char const* call);

  std::string const address_;
  std::string const server_;
  std::unique_ptr<pg_conn, void (*)(pg_conn*)> connection_;
  std::set<std::string_view> prepared_;
  std::chrono::milliseconds limit_{10'000};
  std::string durable_commit_ = "on";
};

/// Several statements that happen together or not at all.
class postgres_transaction {
 public:
  explicit postgres_transaction(postgres_connection& on);
  /// Without a commit, nothing of it happens.
  ~postgres_transaction();
  postgres_transaction(postgres_transaction const&) = delete;
  postgres_transaction& operator=(postgres_transaction const&) = delete;

  void commit();

 private:
  postgres_connection& on_;
  bool is_over_ = false;
};

/// Returns values as one of an array type: `{"a","b"}`.
std::string array_value(std::vector<std::string> const& values);

}  // namespace lull::queue
