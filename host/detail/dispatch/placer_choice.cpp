// SPDX-License-Identifier: Apache-2.0
// Which jobs are in the two places.
#include <lull/host/detail/dispatch/placer.hpp>

#include <chrono>
#include <limits>
#include <optional>

#include <lull/host/govern/governor.hpp>

namespace lull::detail {

/// Returns the best waiting job; one that cannot run comes last.
placer::job_pointer placer::best_waiting() const {
  auto const now = std::chrono::steady_clock::now();
  auto const may_run = [&](job_pointer const& job) { return job->rests_until <= now; };
  constexpr auto any = std::numeric_limits<std::size_t>::max();
  job_pointer const functor = queue_.first(job_queue::kind::functor, may_run, any);
  job_pointer const graph = queue_.first(job_queue::kind::graph, may_run, any);
  if (functor == nullptr && graph == nullptr) return nullptr;
  bool const graphs_run = graph != nullptr && can_run(*graph);
  job_pointer found = functor == nullptr || (graphs_run && goes_before(*graph, *functor)) ? graph : functor;
  if (!chance_ || !can_run(*found)) return found;
  int const priority = found->description().priority;
  auto const compare = [&](job_pointer const& job) {
    if (may_run(job) && is_far_tamer(*job, *found)) found = job;
    return job->description().priority < priority;
  };
  queue_.first(job_queue::kind::functor, compare, max_compared);
  if (graphs_run) queue_.first(job_queue::kind::graph, compare, max_compared);
  return found;
}

/// Returns whether one job costs training far less than another of its priority, so that it goes first. Only far: the
/// chances change a little all the time, and jobs must not swap places for that.
bool placer::is_far_tamer(job_core const& one, job_core const& than) const {
  if (!chance_ || one.description().priority != than.description().priority || kind_of(one) == kind_of(than))
    return false;
  std::optional<double> its = chance_(kind_of(one));
  std::optional<double> others = chance_(kind_of(than));
  std::optional<double> const of_both = chance_(kind_of(placed_kinds{kind_of(one), kind_of(than)}));
  if (!its && others && !of_both) its = chance_of_unknown_();  // a new job need not begin together with a costly one
  if (!others) others = of_both;                               // known only together with it
  return its && others && *its > 2 * *others;
}

/// Returns whether the job could run in recent bubbles.
bool placer::can_run(job_core const& job) const { return !job.kernel().conducts || !only_in_graphs(); }

/// Returns whether the job in a place makes way. A job of higher priority takes the place of the lowest. The first
/// place is for the highest priority, because captured graphs have only that place. A job that cannot run makes way for
/// any that can.
bool placer::gives_way(int index) const {
  job_pointer next = best_waiting();
  if (next != nullptr && !can_run(*next)) next = nullptr;
  place const& here = places_[static_cast<std::size_t>(index)];
  place const& other = places_[static_cast<std::size_t>(1 - index)];
  if (index == 0 && !can_run(*here.job))
    return next != nullptr || (other.at == place_state::filled && can_run(*other.job));
  // Two jobs that run together are measured as a third kind, so the costlier one waits.
  if (other.at == place_state::filled && can_run(*other.job) && is_far_tamer(*other.job, *here.job)) return true;
  if (next != nullptr && is_far_tamer(*next, *here.job)) return true;
  int const mine = here.job->description().priority;
  if (index == 0 && other.at == place_state::filled && can_run(*other.job) && other.job->description().priority > mine)
    return true;
  if (index == 1 && other.at == place_state::empty && can_run(*here.job) &&
      (next != nullptr ? mine > next->description().priority || is_far_tamer(*here.job, *next) : in_graphs()))
    return true;
  if (next == nullptr) return false;
  bool const last = other.job == nullptr || goes_before(*other.job, *here.job);
  return last && next->description().priority > mine;
}

std::vector<std::string> placer::names_in_places() const {
  std::vector<std::string> found;
  for (place const& each : places_) {
    if (each.at == place_state::filled && can_run(*each.job) && !rests_for_others(each))
      found.push_back(each.job->description().name);
  }
  return found;
}

/// Returns whether other processes go before this job, because it lacks input: half of the time, so that new input is
/// seen.
bool placer::rests_for_others(place const& here) const {
  if (!here.starves_since) return false;
  return (std::chrono::steady_clock::now() - *here.starves_since) / patience % 2 == 1;
}

std::optional<int> placer::best_priority() const {
  std::optional<int> best;
  auto const add = [&](job_core const& job) {
    best = std::max(best.value_or(job.description().priority), job.description().priority);
  };
  for (place const& each : places_) {
    if (each.job != nullptr && !rests_for_others(each)) add(*each.job);
  }
  if (job_pointer const next = best_waiting()) add(*next);
  return best;
}

void placer::choose_for(int index) {
  // Counted before reading `quiet_`: after a caller of be_quiet finds no place taken, none is taken later.
  struct counted_place {
    explicit counted_place(std::atomic<int>& count) : count_(count) { ++count_; }
    ~counted_place() {
      if (!is_taken) --count_;
    }
    counted_place(counted_place const&) = delete;
    counted_place& operator=(counted_place const&) = delete;
    bool is_taken = false;

   private:
    std::atomic<int>& count_;
  } chosen{taken_places_};
  if (quiet_ != 0 || given_up_) return;
  place& where = at(index);
  job_pointer const next = best_waiting();
  job_core const* const behind = index == 0 ? places_[1].job.get() : nullptr;
  if (next == nullptr) return;
  if (behind != nullptr && can_run(*behind) &&
      (behind->description().priority > next->description().priority || !can_run(*next)))
    return;
  place const& other = places_[static_cast<std::size_t>(1 - index)];
  if (other.job != nullptr && can_run(*other.job) && is_far_tamer(*other.job, *next)) return;
  std::shared_ptr<job_seat> seat = free_seat(next->ring_capacity());
  if (seat == nullptr) return;
  if (job_state const now = next->move_to(job_state::queued); now != job_state::queued) {
    queue_.put_back(next, now);  // its owner has paused or cancelled it a moment ago
    return;
  }
  put_in(where, next, std::move(seat));
  chosen.is_taken = true;
}

}  // namespace lull::detail
