// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <filesystem>
#include <string>
#include <vector>

#include <lull/host/queue/postgres_connection.hpp>

namespace lull::queue {

/// The number of the schema that this version makes and uses.
inline constexpr int postgres_schema_number = 2;

/// What a queue in a database was made with.
struct postgres_queue {
  std::chrono::milliseconds lease{0};
  std::filesystem::path folder{};  // of checkpoints and logs
};

/// Makes the schema `lull` in a database, with the roles lull_user and lull_agent, or makes the steps to this version's
/// number that are missing. A queue that is there keeps its lease. Throws usage_error for a folder that is missing, or
/// another than the queue has; device_error.
void make_postgres_schema(postgres_connection& on, postgres_queue const& with);

/// Reads what the queue was made with. Throws usage_error where there is none, or one of another number.
postgres_queue read_postgres_schema(postgres_connection& on);

/// Returns what is wrong with the database or with this user's rights, in words.
std::vector<std::string> postgres_problems(postgres_connection& on);

}  // namespace lull::queue
