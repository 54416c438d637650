// SPDX-License-Identifier: Apache-2.0
#include <lull/host/runtime.hpp>

#include <algorithm>

#include <lull/host/attach/local_socket.hpp>
#include <lull/host/detail/environment.hpp>
#include <lull/host/detail/runtime/runtime_state.hpp>

namespace lull {

namespace {

/// A process of another user must not start CUDA: under MPS it would wait there until the trainer has ended.
runtime_options const& with_own_trainer(runtime_options const& options) {
  auto const may_be = detail::mode_from_environment().value_or(runtime_mode::on);
  bool const is_on = std::min(options.mode, may_be) == runtime_mode::on;
  if (is_on && !options.attach.empty())
    attach::connect_to(attach::socket_path(options.attach, "runtime_options::attach"));
  return options;
}

}  // namespace

runtime::runtime(runtime_options options) : runtime(make_executor(with_own_trainer(options).executor), options) {}

runtime::runtime(std::unique_ptr<executor> executor, runtime_options options)
    : state_(std::make_unique<detail::runtime_state>(std::move(executor), std::move(options))) {}

runtime::~runtime() {
  // In a child, threads and locks of the state are the parent's: destroying it could block for ever, so leak it.
  if (state_->in_child()) static_cast<void>(state_.release());
}

job runtime::submit(job_description description) { return state_->submit(std::move(description)); }
void runtime::step(stream_handle stream, std::optional<std::uint64_t> number, double work) noexcept {
  state_->step(stream, number, work);
}
void runtime::skip_step() noexcept { return state_->in_child() ? void() : state_->steps().skip(); }
open_result runtime::open(stream_handle stream, site where) noexcept { return state_->open(stream, where); }
void runtime::close(bubble_id id, stream_handle stream) noexcept { state_->close(id, stream); }
bool runtime::pause_all(std::chrono::nanoseconds at_most) { return state_->pause_all(at_most); }
void runtime::resume_all() noexcept { state_->resume_all(); }
bool runtime::wait_all(std::chrono::nanoseconds at_most) { return state_->wait_all(at_most); }
runtime_steps runtime::steps() const noexcept { return runtime_steps{*state_}; }
runtime_memory runtime::memory() const noexcept { return runtime_memory{*state_}; }
runtime_mode runtime::mode() const noexcept { return state_->mode(); }
std::string runtime::why_off() const { return state_->why_off(); }
bool runtime::ready(stream_handle stream) { return state_->ready(stream); }
runtime_counts runtime::counts() const { return state_->counts(); }
bubble_summary runtime::summary() const { return state_->summary(); }
std::vector<bubble_report> runtime::take_bubbles() { return state_->take_bubbles(); }

executor& executor_of(runtime& side) noexcept { return side.state_->executor(); }

void runtime_steps::bound_slowdown(double most) {
  if (!of_.in_child()) of_.steps().bound(most);
}
void runtime_steps::assume_slowdown(std::string_view name, double slowdown) {
  if (!of_.in_child()) of_.steps().assume_slowdown(name, slowdown);
}
std::optional<slowdown_interval> runtime_steps::slowdown_of(std::string_view name) const {
  return of_.in_child() ? std::nullopt : of_.steps().slowdown(detail::kind_of(name));
}
step_report runtime_steps::report() const { return of_.in_child() ? step_report{} : of_.steps().report(); }

runtime_memory::operator device_memory&() const noexcept { return of_.executor(); }
std::uint64_t runtime_memory::give_back(std::uint64_t bytes, std::chrono::nanoseconds at_most) {
  return of_.give_back(bytes, at_most);
}
std::uint64_t runtime_memory::keep_reserve(std::chrono::nanoseconds at_most) { return of_.keep_reserve(at_most); }

}  // namespace lull
