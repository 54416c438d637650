// SPDX-License-Identifier: Apache-2.0
#include <lull/host/detail/runtime/sharing.hpp>

#include <algorithm>
#include <exception>
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
    : bubbles_(std::make_shared<attach::shared_bubbles>()),
      server_(std::make_unique<attach::share_server>(address, described(machine), bubbles_, std::move(of_trainer))) {}

gate_words sharing::words(std::uint32_t gate) {
  attach::shared_gate& at = bubbles_->page().gates[gate];
  return {&at.line, &at.opening, &at.opening, bubbles_.get(), bubbles_};
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
  bubbles_->give_turn(0);
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
