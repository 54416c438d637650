// SPDX-License-Identifier: Apache-2.0
// Trainers that share their bubbles, and who works in them.
#include <unistd.h>

#include <chrono>
#include <memory>
#include <ostream>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include <lull/apps/lull/commands.hpp>
#include <lull/apps/lull/stop_request.hpp>
#include <lull/host/attach/observer.hpp>
#include <lull/host/error.hpp>
#include <lull/host/report/time_text.hpp>

namespace lull {
namespace {

using namespace std::chrono_literals;
using json = nlohmann::ordered_json;

constexpr auto look_every = 1s;
constexpr auto answers_within = 1s;

/// One trainer, or where one may be again.
class watched {
 public:
  explicit watched(std::string const& address) : address_(address), path_(attach::socket_path(address, "TRAINER")) {}

  /// Returns what the trainer tells; null: none is there.
  json look() {
    if (trainer_ == nullptr) trainer_ = attach::observer::of(path_);
    if (trainer_ == nullptr) return nullptr;
    std::string const told = trainer_->state(answers_within);
    if (told.empty()) trainer_ = nullptr;
    json state = told.empty() ? json(nullptr) : json::parse(told, nullptr, false);
    if (state.is_discarded()) throw usage_error{path_ + " tells what this version of lull cannot read"};
    return state;
  }
  std::string const& address() const noexcept { return address_; }
  pid_t process() const noexcept { return trainer_ != nullptr ? trainer_->trainer() : 0; }

 private:
  std::string const address_;
  std::string const path_;
  std::unique_ptr<attach::observer> trainer_;
};

double number(json const& of, char const* name) {
  auto const found = of.find(name);
  return found != of.end() && found->is_number() ? found->get<double>() : 0;
}

std::string percent(double share) { return formatted("%.2f %%", 100 * share); }

/// Idle time, and what side work used of it, over all gates.
std::string bubbles_text(json const& state) {
  double bubbles = 0;
  double idle_ms = 0;
  double used_ms = 0;
  for (json const& gate : state["gates"]) {
    bubbles += number(gate, "bubbles") + number(gate, "unknown");
    idle_ms += number(gate, "total_ms");
    if (gate["side_work"].is_object()) used_ms += number(gate["side_work"], "gpu_ms");
  }
  for (json const& worker : state["workers"]) used_ms += number(worker, "gpu_ms");
  return formatted("%.0f bubbles, ", bubbles) + formatted("%.3f s of known idle time, ", idle_ms / 1e3) +
         formatted("%.3f s of side work", used_ms / 1e3);
}

/// Returns nothing where no steps are marked.
std::string steps_text(json const& steps) {
  if (!steps.is_object()) return {};
  std::string text = formatted("  %.0f steps", number(steps, "marked"));
  if (double const bound = number(steps, "max_slowdown_pct"); bound != 0) text += ", bound " + percent(bound / 100);
  if (json const& slowdown = steps.value("slowdown_pct", json{}); slowdown.is_number())
    text += ", slowdown " + percent(slowdown.get<double>() / 100);
  return text + "\n";
}

std::string workers_text(json const& workers) {
  std::string text;
  for (json const& each : workers) {
    std::string jobs;
    for (json const& job : each["jobs"]) jobs += (jobs.empty() ? "" : ", ") + job.get<std::string>();
    text += "  process " + std::to_string(each["process"].get<std::int64_t>()) + " (" +
            each["name"].get<std::string>() + ")" + (each["attached"].get<bool>() ? "" : ", has gone") + ": " +
            formatted("%.0f bubbles, ", number(each, "bubbles")) + formatted("%.3f s, ", number(each, "gpu_ms") / 1e3) +
            formatted("%.0f items", number(each, "items")) + (jobs.empty() ? "" : "; next: " + jobs) + "\n";
  }
  return text.empty() ? "  no worker has attached\n" : text;
}

std::string text_of(watched const& one, json const& state) {
  if (state.is_null()) return one.address() + ": no trainer\n";
  return one.address() + ": process " + std::to_string(one.process()) + ", " + bubbles_text(state) + "\n" +
         steps_text(state["steps"]) + workers_text(state["workers"]);
}

}  // namespace

exit_code top_command(top_settings const& asked, stop_request const& stop, std::ostream& out) {
  std::vector<watched> trainers;
  for (std::string const& each : asked.trainers) trainers.emplace_back(each);
  bool const on_terminal = ::isatty(STDOUT_FILENO) == 1 && !asked.once && !asked.json;
  for (;;) {
    json all = json::array();
    std::string text;
    bool any = false;
    for (watched& each : trainers) {
      json state = each.look();
      any = any || !state.is_null();
      text += text_of(each, state);
      all.push_back({{"trainer", each.address()}, {"process", each.process()}, {"state", std::move(state)}});
    }
    if (on_terminal) out << "\x1b[H\x1b[2J";
    out << (asked.json ? all.dump(2, ' ', false, json::error_handler_t::replace) + "\n" : text) << std::flush;
    if (asked.once) return any ? exit_code::done : exit_code::failed;
    for (auto const until = std::chrono::steady_clock::now() + look_every; std::chrono::steady_clock::now() < until;) {
      if (stop.requested() || !out) return exit_code::done;
      std::this_thread::sleep_for(20ms);
    }
  }
}

}  // namespace lull
