// SPDX-License-Identifier: Apache-2.0
#include <lull/host/queue/drain_order.hpp>

#include <nlohmann/json.hpp>

#include <lull/host/error.hpp>
#include <lull/host/queue/job_document.hpp>

namespace lull::queue {

using json = nlohmann::json;

std::string text_of(drain_order const& order) {
  return "the queue is drained by " + order.by + " since " + format_time(order.time_s) +
         (order.reason.empty() ? "" : ": " + order.reason);
}

std::string to_json(drain_order const& order) {
  json const all{{"saves", order.saves}, {"by", order.by}, {"reason", order.reason}, {"time_s", order.time_s}};
  return all.dump(-1, ' ', false, json::error_handler_t::replace) + "\n";
}

drain_order parse_drain_order(std::string const& text, std::string const& where) {
  try {
    json const all = json::parse(text);
    return {.saves = all.at("saves"), .by = all.at("by"), .reason = all.at("reason"), .time_s = all.at("time_s")};
  } catch (json::exception const& wrong) {
    throw input_error{where, 0, std::string{"it does not say whether the queue is drained: "} + wrong.what()};
  }
}

}  // namespace lull::queue
