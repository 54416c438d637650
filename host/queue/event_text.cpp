// SPDX-License-Identifier: Apache-2.0
#include <lull/host/queue/event_text.hpp>

#include <algorithm>
#include <cstdint>

#include <nlohmann/json.hpp>

#include <lull/host/error.hpp>

namespace lull::queue {

using json = nlohmann::json;

namespace {

template <class Number>
Number whole(json const& all, char const* key) {
  json const& found = all.at(key);  // nlohmann::json would cut a fraction, which may be out of all range
  if (!found.is_number_integer()) throw json::other_error::create(501, std::string{key} + " is no whole number", &all);
  return found.get<Number>();
}

}  // namespace

std::string text_of(kept_event const& kept) {
  job_event const& event = kept.event;
  json const all{{"state", name_of(event.state)}, {"time_s", event.time_s}, {"agent", event.agent},
                 {"attempt", event.attempt},      {"reason", event.reason}, {"results", event.results},
                 {"version", event.version},      {"before", kept.before}};
  return all.dump(-1, ' ', false, json::error_handler_t::replace) + "\n";
}

kept_event parse_event(std::string const& text, std::string const& file) try {
  json const all = json::parse(text);
  std::string const state = all.at("state");
  auto const at = std::find(state_names.begin(), state_names.end(), state);
  if (at == state_names.end()) throw input_error{file, 0, "\"" + state + "\" is no state"};
  return {.event = {.version = whole<std::uint64_t>(all, "version"),
                    .state = static_cast<entry_state>(at - state_names.begin()),
                    .time_s = whole<std::int64_t>(all, "time_s"),
                    .agent = all.at("agent"),
                    .attempt = whole<unsigned>(all, "attempt"),
                    .reason = all.at("reason"),
                    .results = all.at("results")},
          .before = all.at("before")};
} catch (json::exception const& wrong) {
  throw input_error{file, 0, wrong.what()};
}

}  // namespace lull::queue
