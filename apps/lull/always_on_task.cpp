// SPDX-License-Identifier: Apache-2.0
#include <lull/apps/lull/always_on_task.hpp>

#include <string>
#include <utility>

#include <lull/host/error.hpp>

namespace lull {

always_on_task::always_on_task(executor& machine, job_description job)
    : machine_(machine),
      job_(std::move(job)),
      kernel_(machine.kind() == executor_kind::cuda ? job_.type.cuda : job_.type.threads),
      extents_(machine, kernel_.shape.steps),
      sizes_(kernel_.shape.steps) {
  machine_.load(kernel_, job_.blocks_per_processor);
}

always_on_task::~always_on_task() { machine_.synchronize(machine_.plain_stream()); }

mapped_memory always_on_task::word(std::uint32_t step) const {
  return {extents_.host() + step, extents_.device() + step};
}

std::uint64_t always_on_task::read_extent(std::uint32_t step) const { return machine_.load_mapped(word(step).host); }

/// Ends the phase before `at`, if there was one, and asks for the size of the one at `at`.
void always_on_task::ask(position at) {
  machine_.plain_between(machine_.plain_stream(), kernel_, job_.functor, started_ ? std::optional{at_} : std::nullopt,
                         at, word(at.step));
  started_ = true;
  at_ = at;
}

void always_on_task::round() {
  stream_handle const stream = machine_.plain_stream();
  std::uint32_t const steps = kernel_.shape.steps;
  bool const learning = rounds_ < 2;
  ++rounds_;
  ask({started_ ? at_.round + 1 : 0, 0});
  machine_.synchronize(stream);
  for (std::uint32_t step = 0; step < steps; ++step) {
    if (step != 0) ask({at_.round, step});
    if (step != 0 && learning) machine_.synchronize(stream);
    std::uint64_t const size = step == 0 || learning ? read_extent(step) : sizes_[step];
    if (size == lull::finished && step == 0) {
      finished_ = true;
      return;
    }
    if (size >= starved)
      throw usage_error{"job '" + job_.name + "': mode naive runs tasks that need no input and end with a round"};
    if (learning) sizes_[step] = size;
    if (size != sizes_[step] || (!learning && read_extent(step) != size)) {
      throw usage_error{"job '" + job_.name +
                        "': its phases change their size, which mode naive does not follow: use mode lull"};
    }
    if (size != 0) machine_.plain_phase(stream, kernel_, job_.functor, {at_, 0, size}, job_.grain);
    items_ += size;
    chunks_ += (size + job_.grain - 1) / job_.grain;
    ++phases_;
  }
}

}  // namespace lull
