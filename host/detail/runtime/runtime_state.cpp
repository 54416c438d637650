// SPDX-License-Identifier: Apache-2.0
#include <lull/host/detail/runtime/runtime_state.hpp>

#include <sys/prctl.h>

#include <exception>
#include <utility>

#include <lull/host/cuda/nvtx.hpp>
#include <lull/host/detail/environment.hpp>
#include <lull/host/detail/job/job_core.hpp>
#include <lull/host/detail/runtime/orphans.hpp>
#include <lull/host/error.hpp>
#include <lull/host/report/at_end.hpp>

namespace lull::detail {
namespace {

// trainer streams of one device that are harvested at the same time
constexpr std::size_t max_gates = attach::max_gates;

/// A lease and a second: then the end of the runtime no longer waits for a worker.
constexpr std::chrono::nanoseconds max_worker_wait = lease_at_close({}) + std::chrono::seconds{1};

/// The end of the runtime waits this much longer for copies of jobs' memory.
constexpr std::chrono::seconds max_moving{60};

/// From here on lines go through the queue to the program's callback.
runtime_options with_log(runtime_options options, std::shared_ptr<log_queue> const& queue) {
  if (options.log) options.log = [queue](std::string_view line) { queue->add(line); };
  return options;
}

}  // namespace

runtime_state::runtime_state(std::shared_ptr<lull::executor> executor, runtime_options options)
    : log_(std::make_shared<log_queue>(options.log)),
      options_(allowed_options(with_log(std::move(options), log_), executor->kind(), why_off_)),
      executor_(std::move(executor)),
      mode_(options_.mode),
      asked_(options_.mode),
      forks_(forks_now()),
      steps_(*executor_,
             {.harvests = asked_ == runtime_mode::on,
              .max_slowdown = options_.max_slowdown,
              .cap = options_.tuning.training_worth.value_or(0) != 0 ? slowdown_cap : 0,
              .draw_seed = options_.draw_seed},
             options_.log),
      graphs_withhold_(!steps_.may_harvest()) {
  if (asked_ == runtime_mode::on && executor_->kind() == executor_kind::cuda)
    harvested_.emplace(executor_->place().device);
  device_guard const here{*executor_};
  if (asked_ != runtime_mode::off) options_.report = report_path(options_.report, options_.executor.device);
  site_limits const limits{options_.tuning.min_bubble, options_.tuning.rest_before_close,
                           options_.tuning.training_worth.value_or(0)};
  meet_other_processes();
  for (std::uint32_t g = 0; g < max_gates; ++g) {
    std::optional<gate_words> words;
    if (sharing_) words = sharing_->words(g);
    if (follower_) words = follower_->words(g);
    gates_.push_back(std::make_unique<gate>(*executor_, g, 0, limits, words ? &*words : nullptr));
  }
  captured_ = std::make_unique<captured_gates>(*executor_, static_cast<std::uint32_t>(max_gates), graphs_withhold_,
                                               limits, options_.log);
  for (task_type const& type : options_.tasks) captured_->enable(kernel_of(type), executor_->load(kernel_of(type), 0));
  bool const in_line = executor_->kind() == executor_kind::cuda && one_connection();
  launch_policy policy{options_.tuning.armed_ahead, in_line};
  // Another's trainer lets no worker of this process go that waits on the device.
  if (follower_) policy = {.armed_ahead = std::chrono::nanoseconds{0}};
  launcher_ = std::make_unique<launcher>(gates_, policy);
  bool const is_reported = mode_ == runtime_mode::observe || !options_.report.empty();
  dispatcher_ = std::make_unique<dispatcher>(
      executor_, gates_, *captured_, launcher_->clock(), wake_,
      dispatcher_options{.reports = {.min_bubble = limits.shortest_worth_it(),
                                     .max_bubbles = options_.max_reports,
                                     .tells_free_memory = is_reported},
                         .memory = {options_.executor.reserve_bytes, options_.saved_bytes}},
      *log_);
  dispatcher_->ask_others_first(sharing_.get());
  dispatcher_->places().choose_by([this](std::uint64_t kind) { return steps_.chance(kind); },
                                  [this] { return steps_.chance_of_unknown(); });
  bool const on_gpu = executor_->kind() == executor_kind::cuda && mode_ != runtime_mode::off;
  if (on_gpu && (is_reported || options_.max_slowdown != 0)) watch_.emplace(executor_->place().pci_bus_id);
  thread_ = std::thread{[this] { serve(); }};
  let_observers_ask(true);
}

runtime_state::~runtime_state() {
  let_observers_ask(false);
  give_up_ = std::chrono::steady_clock::now() + max_worker_wait;
  ending_ = true;
  mode_ = runtime_mode::off;  // only now: an earlier `off` means an error
  dispatcher_->cancel_all();
  wake_->notify();
  thread_.join();
  if (sharing_) sharing_->end();
  std::optional<device_guard> here;
  try {
    here.emplace(*executor_);
  } catch (std::exception const&) {  // the machine is gone
  }
  log_->close();
  bool const over = all_over();
  if (!over) log_->add("edges or workers are still enqueued: the runtime does not free its memory on the machine");
  tell_trainer(over);
  report_bubbles(over);
  launcher_.reset();  // the launcher refers to the gates
  if (over) dispatcher_->forget_jobs();
  keep_orphans({!over, executor_, std::move(gates_), std::move(captured_), std::move(dispatcher_)});
}

job runtime_state::submit(job_description description) {
  if (in_child())
    throw usage_error{"this process was forked from the one that made the runtime: make another after the fork"};
  if (mode_ != runtime_mode::on) {
    device_guard const here{*executor_};
    auto never_runs = std::make_shared<job_core>(executor_, std::move(description), 1);
    never_runs->move_to(job_state::off);
    return handle_of(std::move(never_runs));
  }
  if (description.draws_power) tell_of_power(description.name);
  range_scope const shown{description.name.c_str()};
  worker_kernel const kernel = kernel_of(description.type);
  device_guard const here{*executor_};
  job_memory::scope const not_the_jobs{{}};  // all jobs share it, and its cursor
  worker_grid const in_graphs = executor_->load(kernel, 0);
  worker_grid const grid = executor_->load(kernel, description.blocks_per_processor);
  captured_->enable(kernel, in_graphs);
  std::uint64_t const alive = std::max(grid.blocks, in_graphs.blocks) * places * 2;
  auto made = std::make_shared<job_core>(executor_, std::move(description), 4 * alive);
  made->grid = grid;
  dispatcher_->add(made);
  wake_->notify();
  return handle_of(std::move(made));
}

/// Once, where training is worth more than side work and no bound keeps it from harm.
void runtime_state::tell_of_power(std::string const& job) {
  if (options_.tuning.training_worth.value_or(0) == 0 || steps_.report().max_slowdown != 0) return;
  if (has_told_of_power_.exchange(true)) return;
  log_->add("job '" + job +
            "' draws so much power that a GPU may lower its clocks, and training beside it then takes some per cent "
            "longer: with max_slowdown it runs in fewer steps, or with half of its blocks");
}

open_result runtime_state::open(stream_handle stream, site where) noexcept {
  if (in_child()) return {};
  if (mode_ == runtime_mode::off || follower_ != nullptr) return pass_over(counted::off);
  open_result opened;
  guarded([&] {
    device_guard const here{*executor_};
    stream_found const found = executor_->look_at(stream, here.from());
    switch (found.is) {
      case stream_found::foreign:
        opened = pass_over(counted::foreign_stream);
        break;
      case stream_found::captured:
        opened = open_captured(found.capture, stream, where);
        break;
      case stream_found::plain:
        opened = open_on(gate_for(found.id), found.id, stream, where);
        break;
    }
  });
  return opened;
}

void runtime_state::close(bubble_id id, stream_handle stream) noexcept {
  if (id.bubble == 0 || in_child()) return;
  if (follower_ != nullptr) {  // its gates are another's
    pass_over(counted::unmatched);
    return;
  }
  guarded([&] {
    device_guard const here{*executor_};
    if (id.gate >= gates_.size()) {
      captured_->close(id, stream);
      return;
    }
    gate& gate = *gates_[id.gate];
    gate.close(id, stream, executor_->look_at(stream, here.from()), options_.tuning.close);
    offer(gate);
  });
}

void runtime_state::step(stream_handle stream, std::optional<std::uint64_t> number, double work) noexcept {
  if (in_child() || mode_ == runtime_mode::off) return;
  guarded([&] {
    device_guard const here{*executor_};
    if (executor_->look_at(stream, here.from()).is != stream_found::plain || steps_.joins(number, work)) return;
    steps_.next(stream, number, work);
    bool const withholds = !steps_.may_harvest();
    if (graphs_withhold_.exchange(withholds) != withholds)
      executor_->write_word(stream, captured_->withheld(), withholds ? 1 : 0);
  });
}

bool runtime_state::ready(stream_handle stream) {
  if (in_child() || follower_ != nullptr) return false;
  device_guard const here{*executor_};
  stream_found const found = executor_->look_at(stream, here.from());
  gate const* const gate = found.is != stream_found::foreign ? find_gate(found.id) : nullptr;
  return gate != nullptr && gate->ready();
}

runtime_counts runtime_state::counts() const {
  if (in_child()) return {};
  runtime_counts sum = captured_->counts();
  for (auto const& gate : gates_) sum += gate->counts();
  for (std::size_t i = 0; i < counted_kinds; ++i) sum[static_cast<counted>(i)] += passed_over_[i];
  sum[counted::groups_added] += dispatcher_->bubbles().groups_added();
  return sum;
}

/// Returns whether no worker comes. A launch counts itself before it reads what is placed, so with empty places none
/// starts after this.
bool runtime_state::no_worker_comes() const {
  bool const any = std::any_of(gates_.begin(), gates_.end(), [](auto const& gate) { return gate->is_launching(); });
  return !any && executor_->workers_done();
}

bool runtime_state::pause_all(std::chrono::nanoseconds at_most) {
  if (in_child()) return false;
  device_guard const here{*executor_};
  ++pauses_;
  dispatcher_->places().be_quiet();
  wake_->notify();
  try {
    if (until(at_most, [this] { return dispatcher_->places().places_empty() && no_worker_comes(); })) return true;
  } catch (...) {
    resume_all();
    throw;
  }
  resume_all();
  return false;
}

/// One too many resumes nothing: Lull itself may keep the places empty.
void runtime_state::resume_all() noexcept {
  if (in_child()) return;
  int before = pauses_.load();
  while (before > 0 && !pauses_.compare_exchange_weak(before, before - 1)) {
  }
  if (before == 0) return;
  dispatcher_->places().release();
  wake_->notify();
}

std::uint64_t runtime_state::keep_reserve(std::chrono::nanoseconds at_most) {
  std::uint64_t const reserve = options_.executor.reserve_bytes;
  if (in_child() || reserve == 0) return 0;
  std::uint64_t const free = executor_->device_free_bytes();
  return free < reserve ? dispatcher_->give_back(reserve - free, at_most) : 0;
}

gate* runtime_state::find_gate(std::uint64_t stream_id) const noexcept {
  for (std::uint64_t const wanted : {stream_id, std::uint64_t{0}}) {
    auto const found =
        std::find_if(gates_.begin(), gates_.end(), [&](auto const& gate) { return gate->stream_id() == wanted; });
    if (found != gates_.end()) return found->get();
  }
  return nullptr;
}

gate* runtime_state::gate_for(std::uint64_t stream_id) {
  gate* found = find_gate(stream_id);
  if (found != nullptr && found->stream_id() == 0) {
    std::lock_guard const lock{taking_};
    found = find_gate(stream_id);
    if (found != nullptr && found->stream_id() == 0) found->take(stream_id);
  }
  if (found == nullptr && !gates_used_up_.exchange(true))
    log_->add("the trainer uses more streams at a time than there are gates: the others are not harvested");
  return found;
}

open_result runtime_state::open_captured(std::uint64_t capture, stream_handle stream, site where) {
  if (capture == 0) return pass_over(counted::not_captured);
  job_memory::scope const no_jobs{{}};
  open_result const opened = captured_->open(capture, stream, where, mode_);
  if (opened.bubble != 0)  // it may be replayed from now on
    wake_->notify_before(std::chrono::steady_clock::now() + dispatcher::later);
  return opened;
}

open_result runtime_state::open_on(gate* gate, std::uint64_t stream_id, stream_handle stream, site where) {
  if (gate == nullptr) return pass_over(counted::no_gate);
  side_work const may_run = steps_.may_run(stream, stream_id, where.name);
  if (may_run == side_work::none) return pass_over(counted::withheld);
  open_result const opened =
      gate->open(stream, stream_id, where, mode_, options_.tuning.launch, may_run == side_work::half);
  // whatever this throws, the edge is enqueued, and the caller needs its id to close it
  guarded([&] {
    if (opened.bubble != 0 && gate->host_stays()) {
      wake_->notify();
    } else {
      offer(*gate);
    }
    if (opened.bubble != 0) gate->note_entered(opened.bubble);
  });
  return opened;
}

void runtime_state::turn_off(std::exception const& problem) noexcept {
  try {
    {
      std::lock_guard const lock{turning_off_};
      if (mode_.exchange(runtime_mode::off) == runtime_mode::off) return;
      why_off_ = problem.what();
    }
    log_->add(std::string{"harvesting is off: "} + problem.what());
    wake_->notify();
  } catch (...) {  // no memory for the line
  }
}

bool runtime_state::all_over() const noexcept {
  try {
    return until(give_up_ - std::chrono::steady_clock::now(), [this] {
      dispatcher_->collect();  // copies the gates' lines
      return dispatcher_->empty() && !dispatcher_->moves_memory() && executor_->workers_done() &&
             std::all_of(gates_.begin(), gates_.end(), [](auto const& gate) { return gate->passed(); });
    });
  } catch (std::exception const&) {  // the machine is gone, and all that was enqueued
    return false;
  }
}

void runtime_state::collect_last(bool over) const {
  auto const give_up = std::chrono::steady_clock::now() + std::chrono::milliseconds{over ? 100 : 0};
  std::uint64_t const looks = captured_->looks();
  for (int rounds = 1;; ++rounds) {
    dispatcher_->collect();
    bool const graphs_too = !captured_->any() || (captured_->looks() >= looks + 3 && captured_->all_collected());
    if (graphs_too && dispatcher_->bubbles().collected() >= counts()[counted::opened]) return;
    if (rounds > 1 && std::chrono::steady_clock::now() >= give_up) return;
    std::this_thread::sleep_for(std::chrono::microseconds{100});
  }
}

void runtime_state::report_bubbles(bool over) const noexcept {
  if (asked_ == runtime_mode::off || (options_.report.empty() && asked_ != runtime_mode::observe)) return;
  try {
    collect_last(over);
  } catch (std::exception const&) {  // the machine is gone: report what was collected before
  }
  try {
    hand_over(summary(), options_.report, options_.log);
  } catch (std::exception const&) {  // no memory for the copy: nothing to report
  }
}

void runtime_state::serve() {
  using namespace std::chrono_literals;
  constexpr auto after_an_error = 10ms;
  for (bool arrived = false;;) {
    auto next = std::chrono::steady_clock::now() + after_an_error;
    bool const ends = ending_;  // read before mode_
    try {
      if (!arrived) {
        executor_->adopt_thread();
        // Its sleeps are short, and by default each may last 50 µs longer.
        prctl(PR_SET_TIMERSLACK, 1'000UL);
      }
      arrived = true;
      if (ends || mode_ != asked_) launcher_->stop();
      if (mode_ != asked_ && !ending_) dispatcher_->give_up();
      next = dispatcher_->tick();
      next = std::min(next, with_other_processes());
      next = std::min(next, launcher_->tick());
    } catch (std::exception const& problem) {
      turn_off(problem);
      if (executor_->is_lost()) dispatcher_->fail_all();
    }
    if (ends) {
      bool const moves = dispatcher_->moves_memory() && !executor_->is_lost();
      auto const give_up = give_up_ + (moves ? max_moving : 0s);
      if ((dispatcher_->empty() && !moves) || std::chrono::steady_clock::now() >= give_up) return;
    }
    wake_->sleep_until(ends ? std::min(next, std::chrono::steady_clock::now() + 200us) : next);
  }
}

}  // namespace lull::detail
