// SPDX-License-Identifier: Apache-2.0
#include <lull/apps/lull/queue/agent_log.hpp>

#include <cstdint>

#include <nlohmann/json.hpp>

#include <lull/host/queue/job_document.hpp>

namespace lull {

std::string json_line(std::string const& message, std::string const& job, std::chrono::system_clock::time_point time) {
  using json = nlohmann::ordered_json;
  auto const ms = std::chrono::floor<std::chrono::milliseconds>(time.time_since_epoch()).count();
  std::string when = queue::format_time(ms / 1'000);
  when.insert(when.size() - 1, "." + std::to_string(1'000 + ms % 1'000).substr(1));
  json line{{"time", when}};
  if (!job.empty()) line["job"] = job;
  line["message"] = message;
  return line.dump(-1, ' ', false, json::error_handler_t::replace) + "\n";
}

}  // namespace lull
