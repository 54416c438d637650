// SPDX-License-Identifier: Apache-2.0
#include <lull/host/solo/solo_bubbles.hpp>

#include <algorithm>
#include <cassert>
#include <span>
#include <thread>
#include <utility>

#include <lull/device/threads_world.hpp>
#include <lull/host/detail/job_record.hpp>

namespace lull {

solo_bubbles::solo_bubbles(executor& machine, worker_kernel const& kernel, solo_workers const& workers)
    : machine_(machine), kernel_(kernel), lease_ns_(static_cast<std::uint64_t>(workers.lease.count())) {
  grid_ = machine_.load(kernel_, workers.blocks_per_processor);
  gate_ = {machine_, 1};
  record_ = {machine_, 1};
  slot_ = {machine_, 1};
  for (std::size_t i = 0; i < workers.in_line; ++i) marks_.push_back(machine_.make_mark());
}

solo_bubbles::~solo_bubbles() { give_up(); }

void solo_bubbles::give_up() noexcept {
  if (!served_) return;
  job_->move_to(job_state::cancelled);
  served_.reset();
}

void solo_bubbles::begin(job_description job) {
  give_up();
  std::shared_ptr<executor> const borrowed{std::shared_ptr<void>{}, &machine_};
  job_ = std::make_shared<detail::job_record>(
      borrowed, std::move(job),
      4 * (grid_.blocks * marks_.size() * 2));  // as in a runtime, so that what is saved there fits
  slot_line slot{};
  slot.at = tagged_cursor{0, job_->at()}.word();
  slot.lease_ns = lease_ns_;
  slot.functor = job_->description().functor;
  slot_.write(std::span<slot_line const>{&slot, 1});
}

void solo_bubbles::serve(task_owner& owner) {
  assert(job_ != nullptr && served_ == nullptr);
  served_ = std::make_unique<feeder_thread>(owner, machine_, detail::handle_of(job_));
}

void solo_bubbles::end(job_state how) {
  job_->move_to(how);
  if (std::unique_ptr<feeder_thread> const served = std::move(served_)) served->finish();
}

void solo_bubbles::open() {
  ++bubble_;
  record_.fill_zero();
  stream_handle const trainer = machine_.plain_stream();
  machine_.open_edge(trainer, edges(), closing_value() - 1, bubble_, *marks_.front(), false);
  machine_.synchronize(trainer);  // a worker that comes sooner finds a closed gate
  for (auto& mark : marks_) launch(*mark);
}

void solo_bubbles::renew() {
  for (auto& mark : marks_) {
    if (machine_.workers_left(*mark)) launch(*mark);
  }
}

bool solo_bubbles::left() {
  return std::all_of(marks_.begin(), marks_.end(), [&](auto const& mark) { return machine_.workers_left(*mark); });
}

void solo_bubbles::shut() {
  stream_handle const trainer = machine_.plain_stream();
  machine_.close_edge(trainer, edges(), closing_value(), *marks_.front(), false, closing{});
  machine_.synchronize(trainer);
}

bubble_record solo_bubbles::close() {
  shut();
  while (!left()) std::this_thread::yield();  // a lease bounds it
  return record();
}

cursor solo_bubbles::reached() const {
  cursor words;
  machine_.read(&words, job_->at(), sizeof words);
  return words;
}

std::uint64_t solo_bubbles::inside() const { return entry_word<threads_world>::inside(slot_.read().front().entry); }

}  // namespace lull
