// SPDX-License-Identifier: Apache-2.0
#include <lull/apps/lull/side_treatment.hpp>

#include <chrono>
#include <optional>
#include <thread>
#include <utility>

#include <lull/apps/lull/job_spec.hpp>
#include <lull/host/error.hpp>
#include <lull/host/measure/account.hpp>
#include <lull/host/measure/always_on.hpp>
#include <lull/host/measure/solo_measure.hpp>
#include <lull/host/report/bubble_summary.hpp>

namespace lull {
namespace {

using namespace std::chrono_literals;

constexpr auto solo_for = 1s;              // measuring the task's stand-alone speed
constexpr std::uint64_t min_marked = 300;  // iterations in which the cap holds
constexpr auto max_ready = 10s;            // from submit until a job stands ready

class no_treatment final : public side_treatment {
 public:
  explicit no_treatment(std::string name) : name_(std::move(name)) {}
  treatment how() override { return {.name = name_}; }

 private:
  std::string const name_;
};

/// In few iterations nothing would be learnt of what side work costs, and a share of them had none.
bool marks_steps(harvest_setting const& in) {
  bool const are_many = std::uint64_t{in.asked.pairs} * in.asked.iterations >= min_marked;
  return in.plan.max_slowdown != 0 || (are_many && in.side.steps().report().may_withhold());
}

bool is_on(harvest_setting const& in) { return in.side.mode() == runtime_mode::on; }

void say_if_off(harvest_setting const& in) {
  if (!is_on(in)) say("the environment variable LULL keeps harvesting off; see lull doctor");
}

/// Jobs of other processes.
class shared_treatment final : public side_treatment {
 public:
  explicit shared_treatment(harvest_setting const& in) : in_(in) {}

  void start(stage_trainer& on) override {
    say("waits for a worker: lull work --attach " + *in_.asked.share + " --task …");
    while (!in_.side.ready(on.stream()) && is_on(in_) && !in_.stopped()) std::this_thread::sleep_for(1ms);
    say_if_off(in_);
  }
  treatment how() override { return {.name = "with side work", .side = &in_.side, .marks_steps = marks_steps(in_)}; }
  outcome finish(stage_trainer&, std::vector<replayed_bubble> const&) override {
    outcome found;
    bubble_summary const sum = in_.side.summary();
    for (worker_summary const& each : sum.workers())
      found.lines.push_back("process " + std::to_string(each.process) + " (" + each.name + ") worked in " +
                            std::to_string(each.bubbles) + " bubbles: " + std::to_string(each.items) + " items");
    return found;
  }

 private:
  harvest_setting const& in_;
};

/// Jobs in the bubbles of a runtime.
class bubble_treatment final : public side_treatment {
 public:
  explicit bubble_treatment(harvest_setting const& in) : in_(in) {
    tasks_ = side_tasks_of(in_.asked.checkpoint, in_.plan.tasks, executor_of(in_.side));
    if (in_.plan.kind == executor_kind::cuda) clocks_.emplace(executor_of(in_.side).place().pci_bus_id);
    for (side_task_asked& each : tasks_) measure_speed(*each.owners.front());
  }

  void start(stage_trainer& on) override {
    // One task alone; what is saved is one job.
    if (ends_often_ && tasks_.size() == 1 && !in_.asked.checkpoint.folder) {
      try {
        tasks_.front().owners.push_back(std::move(prepared_owners(in_.plan.tasks, executor_of(in_.side)).front()));
      } catch (limit_error const&) {  // no memory for a successor: there is a gap between two jobs then
      }
    }
    jobs_.emplace(in_.side, std::move(tasks_), in_.kept(), say);
    auto const give_up = std::chrono::steady_clock::now() + max_ready;
    while (!in_.side.ready(on.stream()) && !jobs_->idle() && is_on(in_) && !in_.stopped()) {
      if (std::chrono::steady_clock::now() >= give_up) throw limit_error{"no job was ready within 10 s"};
      std::this_thread::sleep_for(100us);
    }
    say_if_off(in_);
  }

  treatment how() override { return {.name = "with side work", .side = &in_.side, .marks_steps = marks_steps(in_)}; }
  std::vector<side_jobs::reached> progress() const override { return jobs_->progress(); }

  outcome finish(stage_trainer& on, std::vector<replayed_bubble> const& of) override {
    speed_ = speed_of_what_was_done();
    jobs_->finish(on, [this] { return in_.unfinished == unfinished_jobs::are_cancelled || in_.stopped(); });
    jobs_->share_chunks(chunks_of(of), chunks_of_job_);
    outcome found = lull::finish(jobs_->ended_tasks(), in_.judged());
    found.good = found.good && !jobs_->failed();
    lease_blocks_ = account_of(of, speed_).lease_blocks;
    if (lease_blocks_ != 0)
      found.lines.push_back(std::to_string(lease_blocks_) + " blocks left by lease inside a bubble");
    return found;
  }

  void tell(report& to, std::vector<replayed_bubble> const& of) const override {
    harvest_account const sum = account_of(of, speed_);
    to.bubbles = sum.bubbles;
    to.drain_us = sum.drain_us;
    to.start_us = sum.start_us;
    to.harvest = sum.gain;
    if (speed_.items_per_s > 0) to.harvest.solo_items_per_s = speed_.items_per_s;
    if (solo_.size() == 1) to.harvest.solo_jobs_per_s = solo_jobs_per_s_;
    if (clocks_) to.harvest.solo_sm_mhz = clocks_->summary().sm_mhz;
    to.jobs = jobs_->results();
  }

 private:
  void measure_speed(task_owner& owner) {
    auto const stop = [this](std::span<solo_run const>) {
      if (clocks_) clocks_->take();
      return in_.stopped();
    };
    placement const where = executor_of(in_.side).place();
    solo_measure const beside_reserved = measure_solo(executor_of(in_.side), owner, solo_for, stop);
    solo_measure on_all = beside_reserved;
    if (where.owned_processors != where.processors && !in_.stopped()) {
      auto const all =
          make_executor({.kind = in_.plan.kind, .device = in_.asked.device, .reserved_groups = 0, .solo = true});
      on_all = measure_solo(*all, owner, solo_for, stop);
    }
    solo_.push_back({on_all.all.items_per_s(), beside_reserved.all.items_per_s(), beside_reserved.all.wait_share()});
    solo_jobs_per_s_ = jobs_per_s(on_all, owner);
    chunks_of_job_.push_back(beside_reserved.chunks_of_job);
    ends_often_ = beside_reserved.jobs > 0;
  }

  /// What each task did is counted when no job has a place.
  solo_speed speed_of_what_was_done() {
    bool const still = solo_.size() > 1 && in_.side.pause_all(max_ready);
    std::vector<task_part> parts;
    for (std::size_t t = 0; t < solo_.size(); ++t) parts.push_back({solo_[t], jobs_->items()[t]});
    if (still) in_.side.resume_all();
    return mixed(parts);
  }

  harvest_setting const& in_;
  std::vector<side_task_asked> tasks_;                       // until the jobs have them
  std::optional<gpu_samples> clocks_;                        // while tasks are alone
  std::vector<solo_speed> solo_;                             // (tasks,)
  std::optional<double> solo_jobs_per_s_;                    // of the last one
  std::vector<std::optional<std::uint64_t>> chunks_of_job_;  // (tasks,)
  bool ends_often_ = false;  // a job ended while its speed was measured: such a task gets a successor that stands ready
  solo_speed speed_;         // of all tasks, in the shares in which they were done
  std::uint64_t lease_blocks_ = 0;
  std::optional<side_jobs> jobs_;
};

/// Ordinary code on a stream of the lowest priority.
class naive_treatment final : public side_treatment {
 public:
  explicit naive_treatment(harvest_setting const& in)
      : in_(in), owner_(std::move(prepared_owners(in.plan.tasks, executor_of(in.side)).front())) {}

  void start(stage_trainer&) override { work_.emplace(executor_of(in_.side), *owner_, in_.kept()); }
  treatment how() override {
    return {.name = "side work always on", .begin = [this] { work_->resume(); }, .end = [this] { work_->pause(); }};
  }
  outcome finish(stage_trainer&, std::vector<replayed_bubble> const&) override {
    bool const finished = work_->finish([this](auto const&) { return in_.stopped(); });
    std::string const& name = in_.plan.tasks.front().name;
    outcome found =
        lull::finish({{name, finished ? owner_.get() : nullptr, [this] { return work_->verify(); }}}, in_.judged());
    solo_run const& done = work_->done();
    job_ = {name, finished ? "finished" : "cancelled", done.phases, done.chunks, done.items, found.verified.front()};
    if (finished) job_.failures = owner_->failures();
    if (finished) job_.figures = owner_->figures();
    job_.notes = owner_->notes();
    return found;
  }
  void tell(report& to, std::vector<replayed_bubble> const& of) const override {
    side_treatment::tell(to, of);
    to.jobs.push_back(job_);
  }

 private:
  harvest_setting const& in_;
  std::unique_ptr<task_owner> const owner_;
  std::optional<always_on> work_;
  job_result job_;
};

}  // namespace

void side_treatment::tell(report& to, std::vector<replayed_bubble> const& of) const {
  double total_ms = 0;
  for (replayed_bubble const& one : of)
    total_ms += static_cast<double>(one.moments.end_ns - one.moments.begin_ns) / 1e6;
  to.bubbles = {of.size(), std::nullopt, std::nullopt, total_ms};
}

std::unique_ptr<side_treatment> make_no_treatment(std::string name) {
  return std::make_unique<no_treatment>(std::move(name));
}

std::unique_ptr<side_treatment> make_side_treatment(harvest_setting const& in) {
  switch (in.plan.mode) {
    case side_mode::lull:
      if (in.asked.share) return std::make_unique<shared_treatment>(in);
      return std::make_unique<bubble_treatment>(in);
    case side_mode::naive:
      return std::make_unique<naive_treatment>(in);
    case side_mode::none:
      break;
  }
  return make_no_treatment("again alone");
}

}  // namespace lull
