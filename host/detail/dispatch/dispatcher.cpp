// SPDX-License-Identifier: Apache-2.0
#include <lull/host/detail/dispatch/dispatcher.hpp>

#include <algorithm>
#include <utility>

#include <lull/host/detail/deadline.hpp>

namespace lull::detail {

namespace {

std::vector<bubble_source*> sources_of(std::vector<std::unique_ptr<gate>> const& gates, captured_gates& captured) {
  std::vector<bubble_source*> all;
  for (auto const& each : gates) all.push_back(each.get());
  all.push_back(&captured);
  return all;
}

}  // namespace

dispatcher::dispatcher(std::shared_ptr<executor> executor, std::vector<std::unique_ptr<gate>>& gates,
                       captured_gates& captured, device_clock& clock, std::shared_ptr<wake_signal> wakes,
                       dispatcher_options const& options, log_queue& log)
    : executor_(std::move(executor)),
      gates_(gates),
      captured_(captured),
      wakes_(std::move(wakes)),
      queue_(std::make_shared<job_queue>(wakes_)),
      placer_(executor_, gates, captured, *queue_, log),
      collector_(executor_, sources_of(gates, captured), clock, options.reports, log),
      memories_(*executor_, options.memory) {}

void dispatcher::add(std::shared_ptr<job_core> job) {
  placer_.prepare(*job);
  queue_->add(std::move(job));
}

std::uint64_t dispatcher::give_back(std::uint64_t bytes, std::chrono::nanoseconds at_most) {
  // a day is enough, and cannot overflow
  auto const deadline = deadline_after(std::min<std::chrono::nanoseconds>(at_most, std::chrono::hours{24}));
  auto const request = std::make_shared<memory_request>(memory_request{.bytes = bytes, .deadline = deadline});
  memories_.requests().ask(request);
  wakes_->notify();
  return memories_.requests().await(request);
}

dispatcher::time_point dispatcher::tick() {
  if (collector_.collect(placer_.at_work())) {
    placer_.follow_captures();  // no copy from or to a graph's gate is under way
    collector_.begin(false);
  }
  placer_.note_longest_bubble(collector_.longest());
  queue_->settle(given_up_ ? job_state::failed : job_state::queued);
  for (auto& job : queue_->take_new_tenants()) memories_.add(std::move(job));
  memories_.tick(std::chrono::steady_clock::now());
  placer_.tick();
  free_leftovers();
  return std::min(next_tick(), memories_.next());
}

dispatcher::time_point dispatcher::next_tick() const {
  auto const now = std::chrono::steady_clock::now();
  if (placer_.is_busy()) return now + at_once;
  if (std::any_of(gates_.begin(), gates_.end(), [](auto const& gate) { return gate->outstanding() != 0; }))
    return now + soon;
  return now + (placer_.any_stands() || placer_.in_graphs() || captured_.any() ? later : much_later);
}

void dispatcher::free_leftovers() {
  auto const now = std::chrono::steady_clock::now();
  if (now < next_free_) return;
  next_free_ = now + free_every;
  executor_->free_leftovers();
}

void dispatcher::give_up() {
  if (std::exchange(given_up_, true)) return;
  placer_.give_up();
  memories_.requests().end_all();
  queue_->cancel_all();
}

void dispatcher::fail_all() noexcept {
  memories_.requests().end_all();
  placer_.fail_all();
}

}  // namespace lull::detail
