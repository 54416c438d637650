// SPDX-License-Identifier: Apache-2.0
#include <lull/apps/lull/solo.hpp>

#include <cstdio>
#include <cstdlib>
#include <exception>
#include <thread>
#include <utility>

#include <lull/apps/lull/always_on_task.hpp>
#include <lull/apps/lull/checkpoints.hpp>
#include <lull/host/bubble.hpp>
#include <lull/host/detail/history.hpp>
#include <lull/host/detail/job_record.hpp>
#include <lull/host/io/units.hpp>
#include <lull/host/solo/solo_bubbles.hpp>

namespace lull {
namespace {

using namespace std::chrono_literals;

constexpr auto lease = lease_at_close({});
constexpr auto round = 200us;  // between two looks at what the worker does
constexpr auto max_chunk = 10s;

/// One job that has the machine to itself, in bubbles that end when it must, and what was done in them.
class solo_job {
 public:
  solo_job(executor& machine, job_description const& job, std::function<void(std::string_view)> log)
      : bubbles_(machine, machine.kind() == executor_kind::cuda ? job.type.cuda : job.type.threads,
                 {.lease = lease, .blocks_per_processor = job.blocks_per_processor, .in_line = 2}),
        log_(log ? std::move(log) : [](std::string_view) {}),
        name_(job.name) {
    bubbles_.begin(job);
  }

  solo_bubbles& bubbles() noexcept { return bubbles_; }
  detail::job_record& job() noexcept { return bubbles_.job(); }
  bool over() noexcept {
    phase_state const reached = job().reached();
    return reached == phase_state::finished || reached == phase_state::failed;
  }

  void open() { bubbles_.open(); }

  /// Launches a worker where one has left; in a bubble of its own if the job has starved, because a block asks for
  /// input only once a bubble.
  void renew() {
    if (job().reached() != phase_state::starved) return bubbles_.renew();
    if (!bubbles_.left()) return;
    close();
    open();
  }

  /// Ends the bubble and waits until nobody is inside.
  void close() {
    bubbles_.shut();
    auto const begin = std::chrono::steady_clock::now();
    bool told = false;
    while (!bubbles_.left()) {
      auto const waited = std::chrono::steady_clock::now() - begin;
      if (waited >= max_chunk) end_here();
      if (waited >= lease && !std::exchange(told, true)) say_that_we_wait();
      std::this_thread::sleep_for(round);
    }
    bubble_record const found = bubbles_.record();
    chunks_ += found.chunks;
    stay_ns_ += found.stay_ns;
    wait_ns_ += found.wait_ns;
    time_ += time_at_work(found);
  }

  /// Behind an error: nobody is left inside, if that can be had.
  void abandon() noexcept {
    try {
      close();
    } catch (std::exception const&) {  // the machine is gone
    }
  }

  /// What was done until the last close, and the time that those bubbles took together in which something was.
  void tell(solo_result& of) const {
    of.chunks = chunks_;
    of.stay_ns = stay_ns_;
    of.wait_ns = wait_ns_;
    of.time = time_;
  }

 private:
  void say_that_we_wait() const noexcept {
    try {
      log_(too_long() + "; waiting for its end");
    } catch (...) {  // nobody to tell; and we must not go while a block is inside
    }
  }
  std::string too_long() const {
    return "a chunk of job '" + name_ + "' takes longer than " + format_duration(lease) +
           ": a smaller grain makes it shorter";
  }

  /// While a block is inside neither our memory nor the owner's may go, and there is no way to make it leave.
  [[noreturn]] void end_here() const {
    std::fprintf(stderr, "lull: %s; given up after %s\n", too_long().c_str(), format_duration(max_chunk).c_str());
    std::_Exit(1);
  }

  solo_bubbles bubbles_;
  std::function<void(std::string_view)> const log_;
  std::string const name_;
  std::uint64_t chunks_ = 0;
  std::uint64_t stay_ns_ = 0;
  std::uint64_t wait_ns_ = 0;
  std::chrono::nanoseconds time_{0};
};

/// In one bubble after the other, until the job is over or must end. Why it was not saved any more; empty: it was, or
/// nobody asked.
std::string work(solo_job& solo, stop_question const& stop, checkpoints* saves,
                 std::function<void(std::string_view)> const& log) {
  std::string problem;
  auto const save = [&] {
    if (saves == nullptr) return;
    try {
      saves->save(solo.job());
    } catch (std::exception const& reason) {
      problem = reason.what();
      saves = nullptr;
      if (log) log("job '" + solo.job().description().name + "' is not saved any more: " + problem);
    }
  };
  solo.open();
  while (!solo.over() && !solo.bubbles().serving_failed() && !stop(solo.job().progress().phases)) {
    std::this_thread::sleep_for(round);
    if (solo.over()) break;
    if (saves != nullptr && saves->due()) {
      solo.close();
      save();
      solo.open();
    } else {
      solo.renew();  // not for a job that is over: such a worker would leave later than the last that worked
    }
  }
  solo.close();
  if (solo.job().reached() != phase_state::failed) save();  // else what was saved before is the last that can go on
  return problem;
}

}  // namespace

double solo_result::items_per_s() const noexcept {
  return time.count() == 0 ? 0 : static_cast<double>(items - brought) / (static_cast<double>(time.count()) * 1e-9);
}

solo_result run_solo(executor& machine, job_description const& job, stop_question const& stop, task_owner* owner,
                     checkpoints* saves, std::function<void(std::string_view)> const& log) {
  machine.arrive();
  solo_job solo{machine, job, log};
  solo_result found;
  auto const begin = std::chrono::steady_clock::now();
  if (saves != nullptr) {
    saves->begin(solo.job());
    solo.job().read_totals();
    found.brought = solo.job().progress().items;
  }
  if (owner != nullptr) solo.bubbles().serve(*owner);
  try {
    found.save_problem = work(solo, stop, saves, log);
  } catch (...) {
    solo.job().move_to(job_state::cancelled);  // else the feeder thread would wait for that
    solo.abandon();
    throw;
  }
  solo.job().read_totals();
  job_progress const reached = solo.job().progress();
  found.state = !solo.over()                                    ? job_state::cancelled
                : solo.job().reached() == phase_state::finished ? job_state::finished
                                                                : job_state::failed;
  solo.bubbles().end(found.state);
  solo.tell(found);
  found.items = reached.items;
  found.phases = reached.phases;
  if (found.state == job_state::finished) {
    found.jobs = 1;
    found.chunks_of_job = found.chunks;
  }
  found.elapsed = std::chrono::steady_clock::now() - begin;
  return found;
}

solo_result run_plain(executor& machine, job_description const& job, stop_question const& stop) {
  machine.arrive();
  always_on_task work{machine, job};
  auto const begin = std::chrono::steady_clock::now();
  while (!work.finished() && !stop(work.phases())) work.round();
  machine.synchronize(machine.plain_stream());
  solo_result found;
  found.time = std::chrono::steady_clock::now() - begin;
  found.elapsed = found.time;
  found.state = work.finished() ? job_state::finished : job_state::cancelled;
  found.items = work.items();
  found.chunks = work.chunks();
  found.phases = work.phases();
  return found;
}

solo_result measure_solo(executor& machine, task_owner& owner, std::chrono::nanoseconds about,
                         stop_question const& stop) {
  auto const until = std::chrono::steady_clock::now() + about;
  auto const enough = [&](std::uint64_t phases) { return std::chrono::steady_clock::now() >= until || stop(phases); };
  solo_result sum;
  do {
    solo_result const one = run_solo(machine, owner.describe(), enough, &owner);
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
