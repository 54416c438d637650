// SPDX-License-Identifier: Apache-2.0
#include <lull/host/detail/trainer_steps.hpp>

namespace lull::detail {

trainer_steps::trainer_steps(executor& machine, double max_slowdown, std::uint64_t trainer) : machine_(machine) {
  if (max_slowdown == 0) return;
  governor_.emplace(governor_options{.max_slowdown = max_slowdown, .trainer = trainer});
  may_harvest_ = false;  // until the first step is marked
}

void trainer_steps::next(stream_handle stream) {
  std::lock_guard const lock{mutex_};
  std::uint64_t const step = report_.begun++;
  if (governor_) {
    may_harvest_ = governor_->harvests(step);
    report_.withheld += may_harvest_ ? 0 : 1;
  }
  if (count_ - read_ == kept) return;  // its length stays unknown
  beginning& now = noted_[count_ % kept];
  if (!now.when) now.when = machine_.make_moment();
  now.step = step;
  machine_.note(stream, *now.when);
  ++count_;
}

void trainer_steps::collect() {
  while (read_next()) {
  }
}

/// Under a lock of its own each: the trainer's thread may be waiting for it.
bool trainer_steps::read_next() {
  std::lock_guard const lock{mutex_};
  if (read_ + 1 >= count_) return false;
  beginning const& from = noted_[read_ % kept];
  beginning const& to = noted_[(read_ + 1) % kept];
  auto const took = machine_.between(*from.when, *to.when);
  if (!took) return false;
  ++read_;
  if (to.step != from.step + 1) return true;
  ++report_.timed;
  report_.total += *took;
  if (governor_) governor_->took(from.step, static_cast<double>(took->count()));
  return true;
}

step_report trainer_steps::report() const {
  std::lock_guard const lock{mutex_};
  step_report found = report_;
  if (governor_) {
    found.chance = governor_->chance();
    found.slowdown = governor_->interval();
  }
  return found;
}

}  // namespace lull::detail
