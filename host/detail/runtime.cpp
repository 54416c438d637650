// SPDX-License-Identifier: Apache-2.0
#include <lull/host/runtime.hpp>

#include <lull/host/detail/runtime_state.hpp>

namespace lull {

runtime::runtime(runtime_options options) : runtime(make_executor(options.machine), options) {}

runtime::runtime(std::unique_ptr<executor> machine, runtime_options options)
    : state_(std::make_unique<state>(std::move(machine), std::move(options))) {}

runtime::~runtime() {
  // In a child, threads and locks of the state are the parent's: destroying it could block for ever, so leak it.
  if (state_->in_child()) static_cast<void>(state_.release());
}

job runtime::submit(job_description description) { return state_->submit(std::move(description)); }
void runtime::step(stream_handle stream, std::optional<std::uint64_t> number) noexcept { state_->step(stream, number); }
void runtime::skip_step() noexcept { return state_->in_child() ? void() : state_->steps().skip(); }
void runtime::bound_slowdown(double most) { return state_->in_child() ? void() : state_->steps().bound(most); }
void runtime::suppose(std::string_view name, double slowdown) {
  if (!state_->in_child()) state_->steps().suppose(name, slowdown);
}
std::optional<slowdown_interval> runtime::slowdown_of(std::string_view name) const {
  return state_->in_child() ? std::nullopt : state_->steps().slowdown(detail::kind_of(name));
}
step_report runtime::steps() const { return state_->in_child() ? step_report{} : state_->steps().report(); }
open_result runtime::open(stream_handle stream, site where) noexcept { return state_->open(stream, where); }
void runtime::close(bubble_id id, stream_handle stream) noexcept { state_->close(id, stream); }
bool runtime::quiet(std::chrono::nanoseconds at_most) { return state_->quiet(at_most); }
void runtime::release() noexcept { state_->release(); }
std::uint64_t runtime::give_back(std::uint64_t bytes, std::chrono::nanoseconds at_most) {
  return state_->give_back(bytes, at_most);
}
std::uint64_t runtime::keep_reserve(std::chrono::nanoseconds at_most) { return state_->keep_reserve(at_most); }
bool runtime::drain(std::chrono::nanoseconds at_most) { return state_->drain(at_most); }
executor& runtime::machine() noexcept { return state_->machine(); }
runtime_mode runtime::mode() const noexcept { return state_->mode(); }
std::string runtime::why_off() const { return state_->why_off(); }
bool runtime::ready(stream_handle stream) { return state_->ready(stream); }
runtime_counts runtime::counts() const { return state_->counts(); }
bubble_summary runtime::summary() const { return state_->summary(); }
std::vector<bubble_report> runtime::take_bubbles() { return state_->take_bubbles(); }

}  // namespace lull
