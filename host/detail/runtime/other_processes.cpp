// SPDX-License-Identifier: Apache-2.0
// A runtime that shares its bubbles with other processes, or works in those of another.
#include <algorithm>
#include <cerrno>
#include <chrono>
#include <exception>
#include <memory>
#include <mutex>
#include <string>

#include <lull/host/detail/runtime/runtime_state.hpp>
#include <lull/host/report/bubble_writers.hpp>

namespace lull::detail {

void runtime_state::meet_other_processes() {
  auto const say = [log = log_](std::string const& line) { log->add(line); };
  if (mode_ != runtime_mode::on) {
    if (mode_ == runtime_mode::observe && !options_.share.empty()) say("observes: its bubbles are not shared");
    return;
  }
  if (!options_.share.empty())
    sharing_ =
        std::make_unique<sharing>(options_.share, *executor_, options_.executor.reserve_bytes,
                                  attach::share_server::calls{.changed = [wakes = wake_] { wakes->notify(); },
                                                              .log = say,
                                                              .state = [this] { return state_for_observers(); }});
  if (!options_.attach.empty())
    follower_ = std::make_unique<follower>(options_.attach, *executor_,
                                           attach::attachment::worker{.name = program_invocation_short_name,
                                                                      .kind = executor_->kind(),
                                                                      .device = executor_->place().pci_bus_id,
                                                                      .together = executor_->runs_processes_together()},
                                           say);
}

/// Empty while the runtime is being made, and while it ends.
std::string runtime_state::state_for_observers() const {
  std::lock_guard const lock{telling_};
  return can_tell_ ? bubble_json(summary()) : std::string{};
}

void runtime_state::let_observers_ask(bool may) {
  std::lock_guard const lock{telling_};
  can_tell_ = may;
}

/// Returns when to call it again.
std::chrono::steady_clock::time_point runtime_state::with_other_processes() {
  auto const now = std::chrono::steady_clock::now();
  placer& places = dispatcher_->places();
  if (sharing_ && mode_ != runtime_mode::on) sharing_->end();  // the gates may stay open: workers must leave
  if (sharing_ && std::any_of(gates_.begin(), gates_.end(), [](auto const& each) { return each->is_forged(); }))
    sharing_->end_workers();
  if (sharing_) sharing_->tick(places, pauses_ != 0, now);
  if (auto const others = sharing_ ? sharing_->others() : std::nullopt) {
    steps_.collect(others->kinds, others->may_halve);
  } else {
    steps_.collect(places.kinds_in_places(), places.may_halve());
  }
  if (!follower_ || mode_ != runtime_mode::on) return std::chrono::steady_clock::time_point::max();
  return follower_->tick(
      gates_, *dispatcher_, [this] { return no_worker_comes(); }, now);
}

/// The trainer's report has what this runtime did.
void runtime_state::tell_trainer(bool over) const noexcept {
  if (!follower_) return;
  try {
    collect_last(over);
    follower_->say_last(*dispatcher_);
  } catch (std::exception const&) {  // the machine is gone: it keeps what it was told before
  }
}

}  // namespace lull::detail
