// SPDX-License-Identifier: Apache-2.0
#include <lull/host/contract/lone_bubbles.hpp>

#include <span>
#include <thread>
#include <utility>

#include <lull/device/threads_world.hpp>
#include <lull/host/error.hpp>
#include <lull/host/submitted.hpp>

namespace lull {

lone_bubbles::lone_bubbles(executor& machine, worker_kernel const& kernel, std::chrono::nanoseconds lease)
    : machine_(machine), kernel_(kernel), lease_ns_(static_cast<std::uint64_t>(lease.count())) {
  if (!kernel_)
    throw usage_error{
        "the task was built without code for this machine: CMake's lull_side_task() makes it, for a GPU where nvcc is"};
  machine_.load(kernel_, 0);
  blocks_ = machine_.blocks_of(kernel_);
  gate_ = {machine_, 1};
  record_ = {machine_, 1};
  slot_ = {machine_, 1};
  mark_ = machine_.make_mark();
}

lone_bubbles::~lone_bubbles() { give_up(); }

void lone_bubbles::give_up() noexcept {
  if (!served_) return;
  job_->set_state(job_state::cancelled);
  served_.reset();
}

void lone_bubbles::begin(functor_bytes const& functor, std::uint32_t grain, task_owner* owner) {
  give_up();
  std::shared_ptr<executor> const borrowed{std::shared_ptr<void>{}, &machine_};
  job_description task;
  task.functor = functor;
  task.grain = grain;
  job_ = std::make_shared<detail::submitted>(borrowed, std::move(task), 4 * blocks_);
  slot_line slot{};
  slot.at = tagged_cursor{0, job_->at()}.word();
  slot.lease_ns = lease_ns_;
  slot.functor = functor;
  slot_.write(std::span<slot_line const>{&slot, 1});
  if (owner != nullptr) served_ = std::make_unique<serving>(*owner, machine_, detail::handle_of(job_));
}

void lone_bubbles::end(job_state how) {
  job_->set_state(how);
  if (std::unique_ptr<serving> const served = std::move(served_)) served->finish();
}

void lone_bubbles::open() {
  ++bubble_;
  record_.fill_zero();
  machine_.open_edge(machine_.plain_stream(), edges(), closing_value() - 1, bubble_, *mark_, false);
  machine_.launch(kernel_, {slot_.data(), edges(), machine_.rooms_of(kernel_)}, mark_.get());
}

bubble_record lone_bubbles::close() {
  stream_handle const trainer = machine_.plain_stream();
  machine_.close_edge(trainer, edges(), closing_value(), *mark_, false, {});
  machine_.synchronize(trainer);
  while (!left()) std::this_thread::yield();  // a lease bounds it
  return record_.read().front();
}

cursor lone_bubbles::reached() const {
  cursor words;
  machine_.read(&words, job_->at(), sizeof words);
  return words;
}

std::uint64_t lone_bubbles::inside() const { return entry_word<threads_world>::inside(slot_.read().front().entry); }

}  // namespace lull
