// SPDX-License-Identifier: Apache-2.0
#include <lull/host/report/step_writers.hpp>

#include <nlohmann/json.hpp>

#include <lull/host/report/time_text.hpp>

namespace lull {
namespace {

using json = nlohmann::ordered_json;

std::string percent(double share) {
  std::string const text = formatted("%.2f %%", 100 * share);
  return text == "-0.00 %" ? "0.00 %" : text;
}

}  // namespace

std::string bound_text(step_report const& steps) {
  bool const is_bounded = steps.max_slowdown != 0;
  if (!is_bounded && (steps.slowdown_cap == 0 || steps.begun == 0)) return {};
  std::string text = is_bounded ? "Steps may take " + percent(steps.max_slowdown) + " longer in the mean"
                                : "Side work that is known to make a step more than " + percent(steps.slowdown_cap) +
                                      " longer gives way";
  if (steps.begun == 0) return text + "; no step was marked, so no side work ran: call step";
  text += (is_bounded ? ", so " : "; ") + std::to_string(steps.withheld) + " of " + std::to_string(steps.begun) +
          " had no side work; ";
  if (steps.slowdown) {
    text += "one with it takes " + percent(steps.slowdown->estimate) +
            " longer (95 % interval: " + percent(steps.slowdown->low) + " to " + percent(steps.slowdown->high) + ")";
  } else {
    text += "how much longer one with it takes is not known yet";
  }
  text += "; " + percent(steps.chance) + " of those to come may have it";
  if (steps.halved != 0) text += "; in " + std::to_string(steps.halved) + " it had half of its blocks";
  bool const is_known = steps.slowdown && steps.slowdown->high - steps.slowdown->low <= steps.max_slowdown;
  if (is_bounded && !is_known && steps.noise) {
    text += "; with the noise seen, " + percent(*steps.noise) +
            " of a step, it will be known to half of the bound after about " + std::to_string(steps.steps_to_know) +
            " steps";
  }
  return text;
}

std::string step_json(step_report const& steps) {
  auto const mean_ms = static_cast<double>(steps.total.count()) / 1e6 / static_cast<double>(steps.timed);
  bool const is_bounded = steps.max_slowdown != 0;
  bool const may_withhold = steps.may_withhold();
  json interval;
  if (steps.slowdown) interval = {100 * steps.slowdown->low, 100 * steps.slowdown->high};
  return json{{"marked", steps.begun},
              {"timed", steps.timed},
              {"mean_ms", steps.timed != 0 ? json(mean_ms) : json(nullptr)},
              {"max_slowdown_pct", is_bounded ? json(100 * steps.max_slowdown) : json(nullptr)},
              {"slowdown_cap_pct", steps.slowdown_cap != 0 ? json(100 * steps.slowdown_cap) : json(nullptr)},
              {"withheld", may_withhold ? json(steps.withheld) : json(nullptr)},
              {"halved", may_withhold ? json(steps.halved) : json(nullptr)},
              {"chance", may_withhold ? json(steps.chance) : json(nullptr)},
              {"slowdown_pct", steps.slowdown ? json(100 * steps.slowdown->estimate) : json(nullptr)},
              {"ci95_pct", interval},
              {"noise_pct", steps.noise ? json(100 * *steps.noise) : json(nullptr)},
              {"steps_to_know", steps.steps_to_know != 0 ? json(steps.steps_to_know) : json(nullptr)}}
      .dump();
}

}  // namespace lull
