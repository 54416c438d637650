// SPDX-License-Identifier: Apache-2.0
#include <lull/host/runtime.hpp>

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <cstdlib>
#include <mutex>
#include <thread>

#include <pthread.h>

#include <lull/host/captured.hpp>
#include <lull/host/error.hpp>
#include <lull/host/gate.hpp>
#include <lull/host/keeper.hpp>
#include <lull/host/ranges.hpp>
#include <lull/host/remains.hpp>
#include <lull/host/startup.hpp>
#include <lull/host/report/at_end.hpp>
#include <lull/host/submitted.hpp>

namespace lull {

namespace {

constexpr std::size_t most_gates = 4;  // trainer streams of one device that are harvested

/// A lease and a second: then the end of the runtime no longer waits for a worker.
constexpr std::chrono::nanoseconds longest_goodbye = lease_at_close({}) + std::chrono::seconds{1};

/// Forks of this process so far: a child has none of our threads, and CUDA does not work in it.
std::atomic<std::uint64_t> forks{0};

std::uint64_t forks_now() {
  static bool const counted = pthread_atfork(nullptr, nullptr, [] { ++forks; }) == 0;
  return counted ? forks.load() : 0;
}

}  // namespace

class runtime::state {
 public:
  state(std::shared_ptr<executor> machine, runtime_options options)
      : options_(detail::as_far_as_it_goes(std::move(options), machine->kind())),
        machine_(std::move(machine)),
        mode_(options_.mode),
        asked_(options_.mode),
        forks_(forks_now()) {
    visiting const here{*machine_};
    if (asked_ != runtime_mode::off) options_.report = report_path(options_.report, options_.machine.device);
    for (task_type const& type : options_.tasks) machine_->load(kernel_of(type), 0);
    for (std::uint32_t g = 0; g < most_gates; ++g) gates_.push_back(std::make_unique<detail::gate>(*machine_, g, 0));
    captured_ = std::make_unique<detail::captured_gates>(*machine_, static_cast<std::uint32_t>(most_gates), options_.log);
    for (task_type const& type : options_.tasks) captured_->enable(kernel_of(type));
    keeper_ = std::make_unique<detail::keeper>(machine_, gates_, *captured_, options_.log);
    thread_ = std::thread{[this] { serve(); }};
  }

  ~state() {
    mode_ = runtime_mode::off;
    keeper_->cancel_all();
    {
      std::lock_guard const lock{mutex_};
      ending_ = true;
      woken_ = true;
    }
    wake_.notify_all();
    thread_.join();
    std::optional<visiting> here;
    try {
      here.emplace(*machine_);
    } catch (std::exception const&) {  // the machine is gone
    }
    bool const over = all_over();
    if (!over) log("edges or workers are still on their way: the runtime's memory on the machine is left alone");
    report_bubbles(over);
    detail::leave_behind({!over, machine_, std::move(gates_), std::move(captured_), std::move(keeper_)});
  }

  worker_kernel const& kernel_of(task_type const& type) const {
    return machine_->kind() == executor_kind::cuda ? type.cuda : type.threads;
  }

  job submit(job_description description) {
    if (in_child()) throw usage_error{"this process was forked from the one that made the runtime: make another after the fork"};
    detail::range_scope const shown{description.name.c_str()};
    worker_kernel const kernel = kernel_of(description.type);
    visiting const here{*machine_};
    machine_->load(kernel, description.blocks_per_processor);
    captured_->enable(kernel);
    std::uint64_t const alive = machine_->blocks_of(kernel) * detail::places * 2;
    auto made = std::make_shared<detail::submitted>(machine_, std::move(description), 4 * alive);
    keeper_->add(made);
    wake();
    return job{std::move(made)};
  }

  bubble_id open(stream_handle stream, site where) noexcept {
    if (mode_ == runtime_mode::off || in_child()) return {};
    return guarded([&]() -> bubble_id {
      visiting const here{*machine_};
      stream_found const found = machine_->look_at(stream, here.from());
      if (found.is == stream_found::foreign) {
        ++foreign_;
        return {};
      }
      if (found.is == stream_found::captured) {
        if (found.capture != 0) return captured_->open(found.capture, stream, where, mode_);
        ++unaskable_;
        return {};
      }
      detail::gate* const gate = gate_for(stream);
      return gate == nullptr ? bubble_id{} : gate->open(stream, where, mode_, options_.launch);
    });
  }

  void close(bubble_id id, stream_handle stream) noexcept {
    if (id.bubble == 0 || in_child()) return;
    guarded([&] {
      visiting const here{*machine_};
      if (id.gate < gates_.size()) {
        gates_[id.gate]->close(id, stream, options_.lands);
      } else {
        captured_->close(id, stream);
      }
      return id;
    });
  }

  bool ready(stream_handle stream) {
    detail::gate* const gate = gate_for(stream);
    return gate != nullptr && gate->ready();
  }

  runtime_counts counts() const {
    runtime_counts sum = captured_->counts();
    for (auto const& gate : gates_) sum += gate->counts();
    sum.foreign += foreign_;
    sum.ungraphed += unaskable_;
    sum.dropped += keeper_->dropped();
    return sum;
  }

  bool quiet(std::chrono::nanoseconds at_most) {
    visiting const here{*machine_};
    keeper_->be_quiet();
    wake();
    try {
      if (until(at_most, [this] { return keeper_->places_empty() && machine_->workers_done(); })) return true;
    } catch (...) {
      release();
      throw;
    }
    release();
    return false;
  }
  void release() noexcept {
    keeper_->release();
    wake();
  }
  bool drain(std::chrono::nanoseconds at_most) {
    return until(at_most, [this] { return keeper_->empty(); });
  }

  /// In a process that was forked from the one that made the runtime.
  bool in_child() const noexcept { return forks.load(std::memory_order_relaxed) != forks_; }

  executor& machine() noexcept { return *machine_; }
  runtime_mode mode() const noexcept { return mode_; }
  bubble_summary summary() const { return keeper_->summary(); }
  std::vector<bubble_report> take_bubbles() { return keeper_->take_bubbles(); }

 private:
  detail::gate* gate_for(stream_handle stream) noexcept {
    for (auto const& gate : gates_) {
      if (gate->serves(stream)) return gate.get();
    }
    if (!gates_used_up_.exchange(true)) log("more trainer streams than gates: the others are not harvested");
    return nullptr;
  }

  /// An error of the machine must not reach the trainer: it turns harvesting off.
  template <class F>
  bubble_id guarded(F&& call) noexcept {
    try {
      return call();
    } catch (std::exception const& problem) {
      mode_ = runtime_mode::off;
      log(std::string{"harvesting is off: "} + problem.what());
      return {};
    }
  }

  /// Looks from time to time, without a call that blocks.
  template <class F>
  static bool until(std::chrono::nanoseconds at_most, F&& so) {
    // a day is for ever, and cannot overflow
    auto const give_up = std::chrono::steady_clock::now() + std::min<std::chrono::nanoseconds>(at_most, std::chrono::hours{24});
    for (;;) {
      if (so()) return true;
      if (std::chrono::steady_clock::now() >= give_up) return false;
      std::this_thread::sleep_for(std::chrono::microseconds{100});
    }
  }

  /// Waits, bounded, until nothing that was enqueued can touch our memory any more.
  bool all_over() const noexcept {
    try {
      return until(longest_goodbye, [this] {
        bool const passed = std::all_of(gates_.begin(), gates_.end(), [](auto const& gate) { return gate->passed(); });
        return passed && machine_->workers_done() && keeper_->empty();
      });
    } catch (std::exception const&) {  // the machine is gone, and what was enqueued with it
      return false;
    }
  }

  /// Where all has passed, the last lengths may still be a moment away.
  void collect_last(bool over) const {
    auto const give_up = std::chrono::steady_clock::now() + std::chrono::milliseconds{over ? 100 : 0};
    for (int rounds = 1;; ++rounds) {
      keeper_->collect();
      // a graph's last bubble is taken by the second look at it
      if (rounds > 1 && (keeper_->collected() >= counts().opened || std::chrono::steady_clock::now() >= give_up)) return;
      std::this_thread::sleep_for(std::chrono::microseconds{100});
    }
  }

  void report_bubbles(bool over) const noexcept {
    if (asked_ == runtime_mode::off || (options_.report.empty() && asked_ != runtime_mode::observe)) return;
    try {
      collect_last(over);
    } catch (std::exception const&) {  // the machine is gone: what was collected until then is what there is
    }
    try {
      hand_over(keeper_->summary(), options_.report, options_.log);
    } catch (std::exception const&) {  // no memory for the copy: nothing to report with
    }
  }

  void log(std::string const& line) const noexcept {
    try {
      if (options_.log) options_.log(line);
    } catch (...) {  // a log callback that throws has nobody to tell
    }
  }

  void wake() {
    {
      std::lock_guard const lock{mutex_};
      woken_ = true;
    }
    wake_.notify_all();
  }

  /// Rounds come every 200 µs while jobs are about, every 2 ms to observe and for graphs, else when somebody submits. Nothing waits for them but control.
  void serve() {
    using namespace std::chrono_literals;
    machine_->arrive();
    std::unique_lock lock{mutex_};
    for (auto give_up = std::chrono::steady_clock::time_point::max();;) {
      if (ending_ && give_up == std::chrono::steady_clock::time_point::max()) {
        give_up = std::chrono::steady_clock::now() + longest_goodbye;
      }
      if (ending_ && keeper_->empty()) return;
      if (std::chrono::steady_clock::now() >= give_up) {
        return;
      }
      woken_ = false;
      lock.unlock();
      bool busy = false;
      try {
        busy = keeper_->round();
      } catch (std::exception const& problem) {
        mode_ = runtime_mode::off;
        log(std::string{"harvesting is off: "} + problem.what());
        keeper_->fail_all();
        lock.lock();
        wake_.wait(lock, [this] { return ending_; });
        return;
      }
      lock.lock();
      bool const reads = mode_ == runtime_mode::observe || !captured_->all().empty();
      auto const pause = busy || ending_ ? 200us : reads ? 2ms : 50ms;
      wake_.wait_for(lock, pause, [this] { return woken_; });
    }
  }

  runtime_options options_;
  std::shared_ptr<executor> machine_;
  std::atomic<runtime_mode> mode_;
  runtime_mode const asked_;  // what it was at the start; an error turns mode_ off
  std::uint64_t const forks_;
  std::atomic<bool> gates_used_up_{false};
  std::atomic<std::uint64_t> foreign_{0};
  std::atomic<std::uint64_t> unaskable_{0};  // captures
  std::vector<std::unique_ptr<detail::gate>> gates_;
  std::unique_ptr<detail::captured_gates> captured_;
  std::unique_ptr<detail::keeper> keeper_;
  std::mutex mutex_;
  std::condition_variable wake_;
  bool woken_ = false;
  bool ending_ = false;
  std::thread thread_;  // last: it uses all of the above
};

runtime_counts& runtime_counts::operator+=(runtime_counts const& other) noexcept {
  opened += other.opened;
  launches += other.launches;
  no_job += other.no_job;
  too_short += other.too_short;
  fruitless += other.fruitless;
  nested += other.nested;
  unmatched += other.unmatched;
  abandoned += other.abandoned;
  foreign += other.foreign;
  captured += other.captured;
  replayed += other.replayed;
  ungraphed += other.ungraphed;
  dropped += other.dropped;
  return *this;
}

runtime::runtime(runtime_options options) : runtime(make_executor(options.machine), options) {}

runtime::runtime(std::unique_ptr<executor> machine, runtime_options options)
    : state_(std::make_unique<state>(std::move(machine), std::move(options))) {}

runtime::~runtime() {
  // The child's copy of a state whose threads and locks are the parent's: it can only be left alone.
  if (state_->in_child()) static_cast<void>(state_.release());
}

job runtime::submit(job_description description) { return state_->submit(std::move(description)); }
bubble_id runtime::open(stream_handle stream, site where) noexcept { return state_->open(stream, where); }
void runtime::close(bubble_id id, stream_handle stream) noexcept { state_->close(id, stream); }
bool runtime::quiet(std::chrono::nanoseconds at_most) { return state_->quiet(at_most); }
void runtime::release() noexcept { state_->release(); }
bool runtime::drain(std::chrono::nanoseconds at_most) { return state_->drain(at_most); }
executor& runtime::machine() noexcept { return state_->machine(); }
runtime_mode runtime::mode() const noexcept { return state_->mode(); }
bool runtime::ready(stream_handle stream) { return state_->ready(stream); }
runtime_counts runtime::counts() const { return state_->counts(); }
bubble_summary runtime::summary() const { return state_->summary(); }
std::vector<bubble_report> runtime::take_bubbles() { return state_->take_bubbles(); }

}  // namespace lull
