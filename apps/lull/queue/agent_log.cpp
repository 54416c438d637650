// SPDX-License-Identifier: Apache-2.0
#include <lull/apps/lull/queue/agent_log.hpp>

#include <cstdint>
#include <string_view>

#include <nlohmann/json.hpp>

#include <lull/host/queue/job_document.hpp>
#include <lull/host/queue/job_id.hpp>

namespace lull {

namespace {

constexpr std::string_view before_id = "job ";
constexpr std::size_t id_length = 20;

}  // namespace

std::string json_line(std::string const& message, std::chrono::system_clock::time_point time) {
  using json = nlohmann::ordered_json;
  auto const ms = std::chrono::floor<std::chrono::milliseconds>(time.time_since_epoch()).count();
  std::string when = queue::format_time(ms / 1'000);
  when.insert(when.size() - 1, "." + std::to_string(1'000 + ms % 1'000).substr(1));
  json line{{"time", when}};
  std::string_view const id = std::string_view{message}.substr(0, before_id.size() + id_length);
  if (id.starts_with(before_id) && queue::is_job_id(id.substr(before_id.size())))
    line["job"] = id.substr(before_id.size());
  line["message"] = message;
  return line.dump(-1, ' ', false, json::error_handler_t::replace) + "\n";
}

}  // namespace lull
