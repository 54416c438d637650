// SPDX-License-Identifier: Apache-2.0
#include <lull/tests/support/simulated.hpp>

#include <utility>

namespace lull {

namespace {
constexpr std::size_t stack_bytes = 64 * 1024;
}

void scheduler::enter() {
  fiber& me = *current_->running_;
  me.body();
  me.over = true;
  swapcontext(&me.context, &current_->home_);
}

void scheduler::spawn(std::function<void()> body) {
  if (idle_.empty()) {
    fibers_.push_back(std::make_unique<fiber>());
    fibers_.back()->stack.reset(new std::byte[stack_bytes]);
    idle_.push_back(fibers_.back().get());
  }
  fiber* const made = idle_.back();
  idle_.pop_back();
  made->body = std::move(body);
  made->own = nullptr;
  made->over = false;
  getcontext(&made->context);
  made->context.uc_stack.ss_sp = made->stack.get();
  made->context.uc_stack.ss_size = stack_bytes;
  made->context.uc_link = nullptr;
  makecontext(&made->context, &scheduler::enter, 0);
  alive_.push_back(made);
}

bool scheduler::run(std::uint64_t max_steps) {
  scheduler* const outer = std::exchange(current_, this);
  while (!alive_.empty() && steps_ < max_steps) {
    std::size_t const index = draw(alive_.size());
    running_ = alive_[index];
    // A burst now and then lets one fiber run much faster than the others, like an SM that is not disturbed.
    burst_ = draw(8) == 0 ? draw(64) : 0;
    swapcontext(&home_, &running_->context);
    if (running_->over) {
      idle_.push_back(running_);
      alive_[index] = alive_.back();
      alive_.pop_back();
    }
  }
  current_ = outer;
  return alive_.empty();
}

void scheduler::step() {
  ++steps_;
  if (burst_ > 0) {
    --burst_;
    return;
  }
  swapcontext(&running_->context, &home_);
}

}  // namespace lull
