// SPDX-License-Identifier: Apache-2.0
#include <lull/host/solo/solo_bubbles.hpp>

#include <cstdio>
#include <cstdlib>
#include <exception>
#include <span>
#include <string>
#include <thread>
#include <utility>

#include <lull/device/threads_world.hpp>
#include <lull/host/detail/job/job_core.hpp>
#include <lull/host/error.hpp>
#include <lull/host/io/units.hpp>

namespace lull {
namespace {

using namespace std::chrono_literals;

constexpr auto long_chunk = 2s;
constexpr auto max_chunk = 10s;
constexpr auto max_copy = 1min;
constexpr auto spun = 200us;  // most chunks are shorter; after that it yields the CPU

worker_kernel const& kernel_of(job_description const& job, executor_kind kind) {
  return kind == executor_kind::cuda ? job.type.cuda : job.type.threads;
}

}  // namespace

solo_bubbles::solo_bubbles(executor& executor, job_description job, std::chrono::nanoseconds lease)
    : executor_(executor),
      grid_(executor.load(kernel_of(job, executor.kind()), job.blocks_per_processor)),
      gate_(executor, 1),
      record_(executor, 1),
      slot_(executor, 1),
      mark_(executor.make_mark()),
      // The ring is as large as in a runtime, so that what was saved there fits.
      job_(std::make_shared<detail::job_core>(std::shared_ptr<lull::executor>{std::shared_ptr<void>{}, &executor},
                                              std::move(job), 16 * grid_.blocks)),
      seat_(std::make_shared<detail::job_seat>(std::shared_ptr<lull::executor>{std::shared_ptr<void>{}, &executor},
                                               job_->ring_capacity())),
      lane_(executor.make_copy_lane()) {
  slot_line slot{};
  slot.at = tagged_cursor{0, seat_->at()}.word();
  slot.lease_ns = static_cast<std::uint64_t>(lease.count());
  slot.functor = job_->description().functor;
  slot_.write(std::span<slot_line const>{&slot, 1});
}

solo_bubbles::~solo_bubbles() {
  try {
    if (is_open_) close();
  } catch (std::exception const&) {  // the machine is gone
  }
  end(job_state::cancelled);  // otherwise its owner would wait for the job
}

void solo_bubbles::restore(std::span<std::uint64_t const> saved) { job_->restore(saved); }

std::vector<std::uint64_t> solo_bubbles::save() { return job_->save(); }

void solo_bubbles::end(job_state how) { job_->move_to(how); }

void solo_bubbles::open() {
  ++bubble_;
  record_.fill_zero();
  job_->take(seat_, *lane_);
  do await_copies();
  while (!job_->catch_up_fed(*lane_));
  stream_handle const trainer = executor_.own_stream();
  executor_.open_edge(trainer, edges(), closing_value() - 1, bubble_, *mark_, false);
  executor_.synchronize(trainer);  // a worker that comes earlier finds a closed gate
  is_open_ = true;
  executor_.launch(job_->kernel(), grid_, {slot_.data(), edges()}, mark_.get(), start_when::at_once);
}

bubble_record solo_bubbles::close(log_function const& log) {
  is_open_ = false;
  stream_handle const trainer = executor_.own_stream();
  executor_.close_edge(trainer, edges(), closing_value(), *mark_, false, closing{});
  executor_.synchronize(trainer);
  await_blocks(log);
  job_->begin_to_leave(*lane_);
  do await_copies();
  while (!job_->leave(*lane_));
  return record_.read().front();
}

void solo_bubbles::await_copies() {
  auto const begin = std::chrono::steady_clock::now();
  while (!lane_->done()) {
    auto const waited = std::chrono::steady_clock::now() - begin;
    if (waited >= max_copy) throw limit_error{"the machine did not copy a job's words within a minute"};
    if (waited < spun) {
      std::this_thread::yield();
    } else {
      std::this_thread::sleep_for(spun / 10);
    }
  }
}

void solo_bubbles::await_blocks(log_function const& log) {
  auto const too_long = [this] {
    return "a chunk of job '" + job_->description().name + "' takes longer than " + format_duration(long_chunk) +
           ": a smaller grain makes it shorter";
  };
  auto const begin = std::chrono::steady_clock::now();
  for (bool told = false; !left();) {
    auto const waited = std::chrono::steady_clock::now() - begin;
    if (waited < spun) {
      std::this_thread::yield();
      continue;
    }
    std::this_thread::sleep_for(spun);
    if (waited >= max_chunk) {
      std::fprintf(stderr, "lull: %s; given up after %s\n", too_long().c_str(), format_duration(max_chunk).c_str());
      std::_Exit(1);
    }
    if (waited < long_chunk || std::exchange(told, true) || !log) continue;
    try {
      log(too_long() + "; waiting for its end");
    } catch (...) {  // nothing can be told, and the object must not go while a block is inside
    }
  }
}

detail::job_image solo_bubbles::reached() const { return job_->image(); }

std::uint64_t solo_bubbles::inside() const { return entry_word<threads_world>::inside(slot_.read().front().entry); }

}  // namespace lull
