// SPDX-License-Identifier: Apache-2.0
#include <lull/host/measure/always_on.hpp>

#include <utility>

#include <lull/host/error.hpp>

namespace lull {

always_on::always_on(executor& executor, task_owner& owner, results_kept kept)
    : executor_(executor),
      owner_(owner),
      kept_(kept),
      same_(executor),
      job_(owner.describe()),
      kernel_(executor.kind() == executor_kind::cuda ? job_.type.cuda : job_.type.threads),
      plain_(make_plain_kernels(executor, kernel_)),
      extents_(executor, kernel_.shape.steps),
      sizes_(kernel_.shape.steps) {}

always_on::~always_on() {
  wanted_ = false;
  if (working_.valid()) working_.wait();
  executor_.synchronize(executor_.own_stream());
}

void always_on::resume() {
  if (working_.valid()) return;
  wanted_ = true;
  working_ = std::async(std::launch::async, [this] {
    executor_.adopt_thread();
    while (wanted_) one_round();
    executor_.synchronize(executor_.own_stream());
  });
}

void always_on::pause() {
  wanted_ = false;
  if (working_.valid()) working_.get();
}

bool always_on::finish(stop_question const& stop) {
  pause();
  while (!over_ && !stop({&done_, 1})) one_round();  // the result of one that has just ended stands
  executor_.synchronize(executor_.own_stream());
  done_.finished = over_;
  return over_;
}

/// Ends the phase before `at`, if there was one, and asks for the size of the one at `at`.
void always_on::ask(position at) {
  plain_->between(job_.functor, at_, at, word(at.step));
  at_ = at;
}

/// Enqueues one round of the task, from the start where it had ended. Blocks until the one before is done.
void always_on::one_round() {
  if (std::exchange(over_, false)) {
    owner_.reset();
    job_ = owner_.describe();
    at_.reset();
    rounds_ = 0;
  }
  stream_handle const stream = executor_.own_stream();
  bool const learning = rounds_++ < 2;
  ask({at_ ? at_->round + 1 : 0, 0});
  executor_.synchronize(stream);
  for (std::uint32_t step = 0; step < kernel_.shape.steps; ++step) {
    if (step != 0) ask({at_->round, step});
    if (step != 0 && learning) executor_.synchronize(stream);
    std::uint64_t const size = step == 0 || learning ? read_extent(step) : sizes_[step];
    if (size == finished && step == 0) {
      over_ = true;
      ++ended_;
      if (kept_ == results_kept::all) same_.holds_for(owner_);  // its verdict comes with verify
      return;
    }
    if (size >= starved)
      throw usage_error{"job '" + job_.name +
                        "': mode naive cannot run a task that waits for input or ends within a round: use mode lull"};
    if (learning) sizes_[step] = size;
    if (size != sizes_[step] || (!learning && read_extent(step) != size)) {
      throw usage_error{"job '" + job_.name +
                        "': mode naive cannot run a task whose phases change their size: use mode lull"};
    }
    if (size != 0) plain_->phase(job_.functor, {*at_, 0, size}, job_.grain);
    done_.items += size;
    done_.chunks += (size + job_.grain - 1) / job_.grain;
    ++done_.phases;
  }
}

}  // namespace lull
