// SPDX-License-Identifier: Apache-2.0
#include <lull/host/detail/runtime/sharing.hpp>

#include <algorithm>
#include <exception>
#include <limits>
#include <utility>

namespace lull::detail {

sharing::words_on_machine sharing::words_on(executor& machine) {
  auto const bubbles = std::make_shared<attach::shared_bubbles>();
  attach::shared_page& page = bubbles->page();
  auto reached = machine.reach(&page, sizeof page);
  auto lines = machine.export_memory(attach::max_gates * sizeof(gate_line), page.lines);
  return {bubbles, std::move(reached), std::move(lines)};
}

sharing::sharing(std::string const& address, executor& machine, std::uint64_t reserve_bytes,
                 attach::share_server::calls of_trainer)
    : words_(std::make_shared<words_on_machine const>(words_on(machine))),
      server_(std::make_unique<attach::share_server>(
          address,
          attach::share_server::machine{.kind = machine.kind(),
                                        .device = machine.place().pci_bus_id,
                                        .together = machine.runs_processes_together(),
                                        .reserve_bytes = reserve_bytes},
          words_->bubbles, std::move(of_trainer))) {}

gate_words sharing::words(std::uint32_t gate) {
  attach::shared_page& page = words_->bubbles->page();
  attach::shared_gate& at = page.gates[gate];
  auto const into_page = reinterpret_cast<char*>(&at.opening) - reinterpret_cast<char*>(&page);
  auto* const opening = reinterpret_cast<opening_line*>(static_cast<char*>(words_->page.get()) + into_page);
  gate_line* const line = words_->lines != nullptr ? static_cast<gate_line*>(words_->lines.get()) + gate : &at.line;
  return {line, &at.opening, opening, words_->bubbles.get(), words_};
}

void sharing::tick(placer& own, bool paused, time_point now) {
  std::optional<int> const others = server_ != nullptr && !paused ? server_->best_priority(now) : std::nullopt;
  std::optional<int> const ours = own.best_priority();
  bool const yields = others && (!ours || *others > *ours);
  if (yields != own_are_quiet_) {
    own_are_quiet_ = yields;
    yields ? own.be_quiet() : own.release();
  }
  if (server_ != nullptr) server_->give_turn(yields && own.places_empty(), now);
}

std::optional<sharing::on_turn> sharing::others() const {
  if (server_ == nullptr) return std::nullopt;
  std::optional<attach::attached_worker> const worker = server_->on_turn();
  if (!worker) return std::nullopt;
  on_turn found{.may_halve = worker->last.may_halve != 0};
  std::vector<std::string> const names = worker->jobs();
  for (std::size_t i = 0; i < std::min(names.size(), found.kinds.size()); ++i) found.kinds.at(i) = kind_of(names[i]);
  return found;
}

std::uint64_t sharing::take(std::uint64_t bytes, std::chrono::nanoseconds within) {
  return server_ != nullptr ? server_->take_memory(bytes, within, std::chrono::steady_clock::now()) : 0;
}

std::uint64_t sharing::freed() { return server_ != nullptr ? server_->memory_freed() : 0; }

void sharing::end_workers() noexcept {
  if (server_ != nullptr) server_->kill_workers();
  end();
}

void sharing::end() noexcept {
  std::unique_ptr<attach::share_server> ended;  // destroyed without the lock: its thread may ask for the workers
  {
    std::lock_guard const lock{mutex_};
    ended = std::move(server_);
    if (ended == nullptr) return;
    try {
      last_ = ended->workers();
    } catch (std::exception const&) {  // no memory for them: the report does without
    }
  }
  words_->bubbles->give_turn(0);
}

std::vector<worker_summary> sharing::workers() const {
  std::vector<worker_summary> found;
  std::vector<attach::attached_worker> all;
  {
    std::lock_guard const lock{mutex_};
    all = server_ != nullptr ? server_->workers() : last_;
  }
  for (attach::attached_worker const& each : all) {
    found.push_back({.name = each.name,
                     .process = each.process,
                     .attached = each.is_attached,
                     .jobs = each.is_attached ? each.jobs() : std::vector<std::string>{},
                     .priority = each.last.priority,
                     .bubbles = each.last.bubbles,
                     .time = std::chrono::nanoseconds{static_cast<std::int64_t>(
                         std::min<std::uint64_t>(each.last.worked_ns, std::numeric_limits<std::int64_t>::max()))},
                     .items = each.last.items,
                     .held_bytes = each.is_attached ? each.last.held_bytes : 0});
  }
  return found;
}

}  // namespace lull::detail
