// SPDX-License-Identifier: Apache-2.0
#include <lull/host/detail/runtime/sharing.hpp>

#include <algorithm>
#include <limits>
#include <utility>

#include <lull/host/error.hpp>

namespace lull::detail {

namespace {

attach::share_server::machine described(executor const& machine) {
  if (machine.kind() != executor_kind::threads)
    throw usage_error{"bubbles of a GPU cannot be shared with other processes yet: leave runtime_options::share empty"};
  return {.kind = machine.kind(), .device = machine.place().pci_bus_id};
}

}  // namespace

sharing::sharing(std::string const& address, executor const& machine, attach::share_server::calls of_trainer)
    : server_(address, described(machine), std::move(of_trainer)) {}

gate_words sharing::words(std::uint32_t gate) {
  std::shared_ptr<attach::shared_bubbles> const& told = server_.bubbles();
  attach::shared_gate& at = told->page().gates[gate];
  return {&at.line, &at.opening, &at.opening, told.get(), told};
}

void sharing::tick(placer& own, time_point now) {
  std::optional<int> const others = server_.best_priority(now);
  std::optional<int> const ours = own.best_priority();
  bool const yields = others && (!ours || *others > *ours);
  if (yields != own_are_quiet_) {
    own_are_quiet_ = yields;
    yields ? own.be_quiet() : own.release();
  }
  server_.give_turn(yields && own.places_empty(), now);
}

std::optional<placed_kinds> sharing::kinds() const {
  std::optional<attach::attached_worker> const worker = server_.on_turn();
  if (!worker) return std::nullopt;
  placed_kinds found{};
  std::vector<std::string> const names = worker->jobs();
  for (std::size_t i = 0; i < std::min(names.size(), found.size()); ++i) found.at(i) = kind_of(names[i]);
  return found;
}

bool sharing::may_halve() const {
  std::optional<attach::attached_worker> const worker = server_.on_turn();
  return worker && worker->last.may_halve != 0;
}

std::vector<worker_summary> sharing::workers() const {
  std::vector<worker_summary> found;
  for (attach::attached_worker const& each : server_.workers()) {
    found.push_back({.name = each.name,
                     .process = each.process,
                     .attached = each.is_attached,
                     .jobs = each.is_attached ? each.jobs() : std::vector<std::string>{},
                     .priority = each.last.priority,
                     .bubbles = each.last.bubbles,
                     .time = std::chrono::nanoseconds{static_cast<std::int64_t>(
                         std::min<std::uint64_t>(each.last.worked_ns, std::numeric_limits<std::int64_t>::max()))},
                     .items = each.last.items});
  }
  return found;
}

}  // namespace lull::detail
