// SPDX-License-Identifier: Apache-2.0
#include <lull/host/cli/alone.hpp>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <memory>
#include <optional>
#include <thread>
#include <utility>

#include <lull/host/array.hpp>
#include <lull/host/bubble_report.hpp>
#include <lull/host/cli/checkpoints.hpp>
#include <lull/host/cli/plain_work.hpp>
#include <lull/host/history.hpp>
#include <lull/host/serving.hpp>
#include <lull/host/submitted.hpp>
#include <lull/host/units.hpp>

namespace lull {
namespace {

using namespace std::chrono_literals;

constexpr auto lease = lease_at_close({});
constexpr auto round = 200us;  // between two looks at what the worker does
constexpr auto longest_chunk = 10s;

/// Gate, slot and cursor of one job that has the machine to itself.
class lone_job {
 public:
  lone_job(executor& machine, job_description const& job, std::function<void(std::string_view)> log)
      : machine_(machine),
        log_(log ? std::move(log) : [](std::string_view) {}),
        kernel_(machine.kind() == executor_kind::cuda ? job.type.cuda : job.type.threads) {
    machine_.arrive();
    machine_.load(kernel_, job.blocks_per_processor);
    line_ = machine_array<gate_line>{machine_, 1};
    record_ = machine_array<bubble_record>{machine_, 1};
    slot_ = machine_array<slot_line>{machine_, 1};
    std::uint64_t const alive = machine_.blocks_of(kernel_) * marks_.size() * 2;
    std::shared_ptr<executor> const borrowed{std::shared_ptr<void>{}, &machine_};
    job_ = std::make_shared<detail::submitted>(borrowed, job, 4 * alive);
    for (auto& mark : marks_) mark = machine_.make_mark();
    fill_slot();
  }

  /// Opens the bubble and launches two workers, the second behind the first.
  void open() {
    machine_.open_edge(machine_.plain_stream(), gate(), 1, 1, *marks_[0], false);
    for (auto& mark : marks_) launch(*mark);
  }

  /// Launches a worker where one has left; in a bubble of its own if the job has starved, for in that one nobody asks for input again.
  void renew() {
    if (job_->reached() == phase_state::starved) {
      for (auto& mark : marks_) {
        if (!machine_.workers_left(*mark)) return;
      }
      close();
      open();
      return;
    }
    for (auto& mark : marks_) {
      if (machine_.workers_left(*mark)) launch(*mark);
    }
  }

  /// Ends the bubble and waits until nobody is inside.
  void close() {
    machine_.close_edge(machine_.plain_stream(), gate(), 2, *marks_[0], false, {});
    machine_.synchronize(machine_.plain_stream());
    auto const begin = std::chrono::steady_clock::now();
    bool told = false;
    while (!std::all_of(marks_.begin(), marks_.end(), [&](auto const& mark) { return machine_.workers_left(*mark); })) {
      auto const waited = std::chrono::steady_clock::now() - begin;
      if (waited >= longest_chunk) end_here();
      if (waited >= lease && !std::exchange(told, true)) say_that_we_wait();
      std::this_thread::sleep_for(round);
    }
    bubble_record const found = record_.read().front();
    record_.fill_zero();
    sum_.chunks += found.chunks;
    sum_.stay_ns += found.stay_ns;
    sum_.wait_ns += found.wait_ns;
    time_ += time_at_work(found);
  }

  /// Behind an error: nobody is left inside, if that can be had.
  void abandon() noexcept {
    try {
      close();
    } catch (std::exception const&) {  // the machine is gone
    }
  }

  detail::submitted& job() { return *job_; }
  /// What was done until the last close, and the time that those bubbles took together in which something was.
  std::uint64_t chunks() const noexcept { return sum_.chunks; }
  std::uint64_t stay_ns() const noexcept { return sum_.stay_ns; }
  std::uint64_t wait_ns() const noexcept { return sum_.wait_ns; }
  std::chrono::nanoseconds time() const noexcept { return time_; }
  lull::job handle() const { return detail::handle_of(job_); }
  bool over() const {
    phase_state const reached = job_->reached();
    return reached == phase_state::finished || reached == phase_state::failed;
  }

 private:
  gate_ref gate() const { return {line_.data(), record_.data(), 0}; }
  void launch(bubble_mark& mark) { machine_.launch(kernel_, {slot_.data(), gate(), machine_.rooms_of(kernel_)}, &mark); }

  void fill_slot() {
    mapped_memory const answer = machine_.map(sizeof(std::uint64_t));
    slot_content const content{job_->at(), static_cast<std::uint64_t>(lease.count()), job_->description().functor};
    machine_.exchange(slot_.data(), content, 1'000'000, static_cast<std::uint64_t*>(answer.device), 1);
    while (machine_.load_mapped(answer.host) == 0) std::this_thread::yield();
    machine_.unmap(answer, sizeof(std::uint64_t));
  }

  void say_that_we_wait() const noexcept {
    try {
      log_(too_long() + "; waiting for its end");
    } catch (...) {  // nobody to tell; and we must not go while a block is inside
    }
  }
  std::string too_long() const {
    return "a chunk of job '" + job_->description().name + "' takes longer than " + format_duration(lease) + ": a smaller grain makes it shorter";
  }

  /// While a block is inside neither our memory nor the owner's may go, and there is no way to make it leave.
  [[noreturn]] void end_here() const {
    std::fprintf(stderr, "lull: %s; given up after %s\n", too_long().c_str(), format_duration(longest_chunk).c_str());
    std::_Exit(1);
  }

  executor& machine_;
  std::function<void(std::string_view)> const log_;
  worker_kernel kernel_;
  machine_array<gate_line> line_;
  machine_array<bubble_record> record_;
  machine_array<slot_line> slot_;
  std::shared_ptr<detail::submitted> job_;
  std::array<std::unique_ptr<bubble_mark>, 2> marks_;
  bubble_record sum_{};
  std::chrono::nanoseconds time_{0};
};

/// In one bubble after the other, until the job is over or must end. Why it was not saved any more; empty: it was, or nobody asked.
std::string work(lone_job& alone, std::optional<serving> const& served, stop_question const& stop, checkpoints* saves,
                 std::function<void(std::string_view)> const& log) {
  std::string problem;
  auto const save = [&] {
    if (saves == nullptr) return;
    try {
      saves->save(alone.job());
    } catch (std::exception const& reason) {
      problem = reason.what();
      saves = nullptr;
      if (log) log("job '" + alone.job().description().name + "' is not saved any more: " + problem);
    }
  };
  alone.open();
  while (!alone.over() && !(served && served->failed()) && !stop(alone.job().progress().phases)) {
    std::this_thread::sleep_for(round);
    if (alone.over()) break;
    if (saves != nullptr && saves->due()) {
      alone.close();
      save();
      alone.open();
    } else {
      alone.renew();  // not for a job that is over: such a worker would leave later than the last that worked
    }
  }
  alone.close();
  if (alone.job().reached() != phase_state::failed) save();  // else what was saved before is the last that can go on
  return problem;
}

}  // namespace

double alone_result::items_per_s() const noexcept {
  return time.count() == 0 ? 0 : static_cast<double>(items - brought) / (static_cast<double>(time.count()) * 1e-9);
}

alone_result run_alone(executor& machine, job_description const& job, stop_question const& stop, task_owner* owner, checkpoints* saves,
                       std::function<void(std::string_view)> const& log) {
  lone_job alone{machine, job, log};
  alone_result found;
  auto const begin = std::chrono::steady_clock::now();
  if (saves != nullptr) {
    saves->begin(alone.job());
    alone.job().read_totals();
    found.brought = alone.job().progress().items;
  }
  std::optional<serving> served;
  if (owner != nullptr) served.emplace(*owner, machine, alone.handle());
  try {
    found.save_problem = work(alone, served, stop, saves, log);
  } catch (...) {
    alone.job().set_state(job_state::cancelled);  // else whoever serves would wait for that
    alone.abandon();
    throw;
  }
  alone.job().read_totals();
  job_progress const reached = alone.job().progress();
  found.state = !alone.over()                                     ? job_state::cancelled
                : alone.job().reached() == phase_state::finished ? job_state::finished
                                                                  : job_state::failed;
  alone.job().set_state(found.state);
  if (served) served->finish();
  found.jobs = found.state == job_state::finished ? 1 : 0;
  found.items = reached.items;
  found.phases = reached.phases;
  found.chunks = alone.chunks();
  if (found.jobs == 1) found.chunks_of_job = alone.chunks();
  found.time = alone.time();
  found.elapsed = std::chrono::steady_clock::now() - begin;
  found.stay_ns = alone.stay_ns();
  found.wait_ns = alone.wait_ns();
  return found;
}

alone_result run_plain(executor& machine, job_description const& job, stop_question const& stop) {
  machine.arrive();
  plain_work work{machine, job};
  auto const begin = std::chrono::steady_clock::now();
  while (!work.finished() && !stop(work.phases())) work.round();
  machine.synchronize(machine.plain_stream());
  alone_result found;
  found.time = std::chrono::steady_clock::now() - begin;
  found.elapsed = found.time;
  found.state = work.finished() ? job_state::finished : job_state::cancelled;
  found.items = work.items();
  found.chunks = work.chunks();
  found.phases = work.phases();
  return found;
}

alone_result measure_alone(executor& machine, task_owner& owner, std::chrono::nanoseconds about, stop_question const& stop) {
  auto const until = std::chrono::steady_clock::now() + about;
  auto const enough = [&](std::uint64_t phases) { return std::chrono::steady_clock::now() >= until || stop(phases); };
  alone_result sum;
  do {
    alone_result const one = run_alone(machine, owner.describe(), enough, &owner);
    owner.reset();
    sum.state = one.state;
    sum.jobs += one.jobs;
    sum.items += one.items;
    sum.chunks += one.chunks;
    if (one.chunks_of_job) sum.chunks_of_job = one.chunks_of_job;
    sum.phases += one.phases;
    sum.time += one.time;
    sum.elapsed += one.elapsed;
    sum.stay_ns += one.stay_ns;
    sum.wait_ns += one.wait_ns;
  } while (!enough(0) && sum.items != 0 && sum.state == job_state::finished);
  return sum;
}

}  // namespace lull
