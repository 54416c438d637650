// SPDX-License-Identifier: Apache-2.0
// Which jobs stand in the two places.
#include <lull/host/detail/dispatcher.hpp>

#include <algorithm>
#include <optional>

#include <lull/host/govern/governor.hpp>

namespace lull::detail {

/// One that cannot run comes last.
std::shared_ptr<job_record> dispatcher::best_waiting() const {
  auto const wants = [](auto const& job) {
    return job->wanted() == job_record::wish::run && !job->is_asked_to_leave();
  };
  auto const runs = [&](auto const& job) { return wants(job) && can_run(*job); };
  auto found = std::find_if(waiting_.begin(), waiting_.end(), runs);
  for (auto other = found; other != waiting_.end(); ++other) {
    if (runs(*other) && is_far_tamer(**other, **found)) found = other;
  }
  if (found == waiting_.end()) found = std::find_if(waiting_.begin(), waiting_.end(), wants);
  return found != waiting_.end() ? *found : nullptr;
}

/// Whether training feels one far less than another of its priority, so that it goes first. Far: the chances change a
/// little all the time, and jobs shall not change places for that.
bool dispatcher::is_far_tamer(job_record const& one, job_record const& than) const {
  if (!chance_ || one.description().priority != than.description().priority || kind_of(one) == kind_of(than))
    return false;
  std::optional<double> its = chance_(kind_of(one));
  std::optional<double> others = chance_(kind_of(than));
  std::optional<double> const of_both = chance_(kind_of(standing_kinds{kind_of(one), kind_of(than)}));
  if (!its && others && !of_both) its = governor::first_chance;  // one that is new need not begin beside a hungry one
  if (!others) others = of_both;                                 // known only beside it
  return its && others && *its > 2 * *others;
}

/// Whether it could in the bubbles that came lately.
bool dispatcher::can_run(job_record const& job) const { return !job.kernel().conducts || !only_in_graphs(); }

/// A job of higher priority takes a place from the last of those that have one, and the first place is for the highest:
/// it is the only one that captured graphs have. A job that cannot run leaves that to any that can.
bool dispatcher::gives_way(int index) const {
  std::shared_ptr<job_record> next = best_waiting();
  if (next != nullptr && !can_run(*next)) next = nullptr;
  place const& here = places_[static_cast<std::size_t>(index)];
  place const& other = places_[static_cast<std::size_t>(1 - index)];
  if (index == 0 && !can_run(*here.who))
    return next != nullptr || (other.at == place_state::standing && can_run(*other.who));
  // Beside a far tamer one it would take that one's bubbles away: the two would be a kind of their own.
  if (other.at == place_state::standing && can_run(*other.who) && is_far_tamer(*other.who, *here.who)) return true;
  if (next != nullptr && is_far_tamer(*next, *here.who)) return true;
  int const mine = here.who->description().priority;
  if (index == 0 && other.at == place_state::standing && can_run(*other.who) &&
      other.who->description().priority > mine)
    return true;
  if (index == 1 && other.at == place_state::empty && can_run(*here.who) &&
      (next != nullptr ? mine > next->description().priority || is_far_tamer(*here.who, *next) : in_graphs()))
    return true;
  if (next == nullptr) return false;
  bool const last = other.who == nullptr || goes_before(*other.who, *here.who);
  return last && next->description().priority > mine;
}

void dispatcher::choose_for(int index) {
  if (quiet_ != 0) return;
  place& where = places_[static_cast<std::size_t>(index)];
  std::shared_ptr<job_record> const next = best_waiting();
  job_record const* const behind = index == 0 ? places_[1].who.get() : nullptr;
  if (next == nullptr) return;
  if (behind != nullptr && can_run(*behind) &&
      (behind->description().priority > next->description().priority || !can_run(*next)))
    return;
  place const& other = places_[static_cast<std::size_t>(1 - index)];
  if (other.who != nullptr && can_run(*other.who) && is_far_tamer(*other.who, *next)) return;
  if (next->move_to(job_state::queued) != job_state::queued)
    return;  // its owner has paused or cancelled it a moment ago
  where.who = next;
  std::erase(waiting_, next);
  where.at = place_state::filling;
}

}  // namespace lull::detail
