// SPDX-License-Identifier: Apache-2.0
#include <lull/apps/lull/finding.hpp>

#include <algorithm>
#include <array>
#include <sstream>

#include <nlohmann/json.hpp>

namespace lull {

namespace {

constexpr std::array<std::string_view, 3> names{"ok", "look", "stop"};

std::string_view name_of(health state) { return names[static_cast<std::size_t>(state)]; }

}  // namespace

bool any_stops(std::span<finding const> all) {
  return std::any_of(all.begin(), all.end(), [](finding const& each) { return each.state == health::stops; });
}

std::string findings_text(std::span<finding const> all) {
  std::ostringstream out;
  for (finding const& each : all) {
    std::string_view const state = name_of(each.state);
    out << state << std::string(6 - state.size(), ' ') << each.what << std::string(15 - each.what.size(), ' ')
        << each.found << '\n';
    if (!each.to_do.empty()) out << std::string(21, ' ') << "-> " << each.to_do << '\n';
  }
  out << (any_stops(all) ? "Lull cannot harvest on a GPU here, see above; the threads executor runs anywhere.\n"
                         : "Lull can harvest here.\n");
  return out.str();
}

std::string findings_json(std::span<finding const> all, std::string_view version) {
  auto list = nlohmann::ordered_json::array();
  for (finding const& each : all) {
    nlohmann::ordered_json one{
        {"name", each.what}, {"state", name_of(each.state)}, {"found", each.found}, {"to_do", each.to_do}};
    for (auto const& [name, value] : each.figures) one[name] = value;
    list.push_back(std::move(one));
  }
  nlohmann::ordered_json const whole{
      {"schema", "lull.doctor/1"}, {"version", version}, {"harvests", !any_stops(all)}, {"findings", list}};
  return whole.dump(2) + '\n';
}

}  // namespace lull
