// SPDX-License-Identifier: Apache-2.0
// Device memory that the trainer needs and its workers hold.
#include <algorithm>
#include <csignal>
#include <string>
#include <utility>
#include <vector>

#include <lull/host/attach/share_server.hpp>

namespace lull::attach {

std::uint64_t share_server::take_memory(std::uint64_t bytes, std::chrono::nanoseconds within, time_point now) {
  std::uint64_t comes = 0;
  bool any_new = false;
  {
    std::lock_guard const lock{mutex_};
    std::vector<client*> others;
    for (client& each : clients_) {
      if (each.owes) {
        comes += each.owes->what.bytes;
      } else if (each.is.number != 0 && each.is.last.held_bytes >= min_bytes) {
        others.push_back(&each);
      }
    }
    std::sort(others.begin(), others.end(), [](client const* one, client const* other) {
      return std::pair{one->is.last.priority, one->is.number} < std::pair{other->is.last.priority, other->is.number};
    });
    for (client* const each : others) {
      if (comes >= bytes) break;
      auto const half = std::chrono::duration_cast<std::chrono::nanoseconds>(within / 2);
      std::uint64_t const part = std::min(each->is.last.held_bytes, std::max(bytes - comes, min_bytes));
      each->owes = debt{.what = {++debts_, part, static_cast<std::uint64_t>(half.count())}, .until = now + half};
      comes += part;
      any_new = true;
    }
  }
  if (any_new) wake();
  return comes;
}

std::uint64_t share_server::memory_freed() {
  std::lock_guard const lock{mutex_};
  return std::exchange(freed_, 0);
}

/// Tells a worker what it owes, or takes what it has paid; stops it if that comes too late or is too little. Returns
/// whether it has paid.
bool share_server::settle_debt(client& of, time_point now) {
  std::lock_guard const lock{mutex_};
  if (!of.owes || of.owes->is_stopped) return false;
  debt& owes = *of.owes;
  if (owes.is_asked_to_end) {
    if (now >= owes.until) stop(of, now);
    return false;
  }
  bool const reads = std::exchange(owes.is_told, true) || of.at.send(owes.what);
  report const& said = of.is.last;
  if (said.answers != owes.what.number) {
    if (!reads || now >= owes.until) stop(of, now);
    return false;
  }
  std::uint64_t const paid = std::min(said.freed_bytes, owes.what.bytes);
  freed_ += paid;
  owes.what.bytes -= paid;
  if (owes.what.bytes >= min_bytes) {
    stop(of, now);
  } else {
    of.owes.reset();
  }
  return true;
}

/// Asks the worker to end, and the second time kills it: on a GPU a kill may cost the trainer more. Call it with the
/// lock.
void share_server::stop(client& whom, time_point now) {
  debt& owes = *whom.owes;
  if (!std::exchange(owes.is_asked_to_end, true) && whom.at.signal(SIGTERM)) {
    owes.until = now + std::chrono::nanoseconds{static_cast<std::int64_t>(owes.what.within_ns / 2)};
    say("worker " + whom.is.name + " (process " + std::to_string(whom.is.process) + ") is asked to end", now);
    return;
  }
  owes.is_stopped = true;
  bool const dies = whom.at.signal(SIGKILL);
  say("worker " + whom.is.name + " (process " + std::to_string(whom.is.process) + ") has not freed " +
          std::to_string(owes.what.bytes) + " bytes that training needs: " +
          (dies ? "it is stopped" : "it cannot be stopped from here, and is no longer attached"),
      now);
  if (dies) return;  // its end is seen
  whom.owes.reset();
  whom.leaves = true;
}

share_server::time_point share_server::next_debt_is_due() const {
  std::lock_guard const lock{mutex_};
  time_point next = time_point::max();
  for (client const& each : clients_) {
    if (each.owes && !each.owes->is_stopped)
      next = std::min(next, each.owes->is_told ? each.owes->until : time_point{});
  }
  return next;
}

}  // namespace lull::attach
