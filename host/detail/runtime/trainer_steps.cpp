// SPDX-License-Identifier: Apache-2.0
#include <lull/host/detail/runtime/trainer_steps.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <string>
#include <utility>

#include <lull/host/error.hpp>

namespace lull::detail {

namespace {

constexpr std::uint64_t many_steps = 50'000;  // to know a slowdown, at best
// Under a cap: a mark takes some microseconds of host and stream, so it comes at most once in the shorter of these, and
// at least once in the longer one, as far as that takes no more steps together than the governor groups.
constexpr auto mark_at_most_each = std::chrono::milliseconds{1}, mark_at_least_each = std::chrono::milliseconds{8};
constexpr std::uint64_t max_together = governor_options{}.steps_a_spell;

}  // namespace

trainer_steps::trainer_steps(executor& executor, options const& asked, log_function const& log)
    : executor_(executor), asked_(asked), log_(log) {
  keep(asked.max_slowdown);
}

void trainer_steps::assume_slowdown(std::string_view name, double slowdown) {
  if (!(slowdown >= 0 && std::isfinite(slowdown))) {
    throw usage_error{"side work of the name '" + std::string{name} + "' is supposed to make a step longer by " +
                      std::to_string(slowdown) +
                      ": it must be 0 or more, as a share of a step: 0.005 is half a per cent"};
  }
  std::uint64_t const kind = kind_of(name);
  std::lock_guard const lock{mutex_};
  if (assumed_.size() == max_assumed && !assumed_.contains(kind))
    throw limit_error{"more than " + std::to_string(max_assumed) +
                      " names of side work are supposed to cost something"};
  assumed_[kind] = slowdown;
  if (governor_) governor_->assume_slowdown(kind, {slowdown});
}

void trainer_steps::bound(double max_slowdown) {
  {
    std::lock_guard const lock{mutex_};
    if (max_slowdown == report_.max_slowdown) return;
  }
  keep(max_slowdown);
}

void trainer_steps::keep(double max_slowdown) {
  bool const is_bound = max_slowdown != 0;
  double const cap = is_bound ? 0 : asked_.cap;
  std::optional<governor> made;
  if (is_bound || cap != 0) {
    made.emplace(governor_options{
        .max_slowdown = is_bound ? max_slowdown : cap, .draw_seed = asked_.draw_seed, .is_cap = !is_bound});
  }
  std::lock_guard const lock{mutex_};
  if (!asked_.harvests) return;
  if (report_.max_slowdown != 0) {
    bounded_ = now();
    bounded_->chance = 1;
  }
  governor_ = std::move(made);
  if (governor_) {
    for (auto const& [kind, slowdown] : assumed_) governor_->assume_slowdown(kind, {slowdown});
  }
  report_ = {.max_slowdown = max_slowdown, .slowdown_cap = cap};
  has_advised_ = false;
  ++series_;
  together_for_ = 1;
  marks_next_ = true;
  may_run_ = is_bound ? side_work::none : side_work::all;
  looks_for_steps_ = is_bound && marked_ == found_;
}

void trainer_steps::next(stream_handle stream, std::optional<std::uint64_t> number, double work) {
  std::lock_guard const marks{marks_};
  std::unique_lock lock{mutex_};
  if (looks_for_steps_.exchange(false) && found_ != 0) {  // now count as other ranks do
    number_ = 0;
    ++series_;
  }
  if (number && *number < number_) ++series_;  // the trainer went back to a checkpoint
  begin(stream, number.value_or(number_), work, lock);
}

bool trainer_steps::joins(std::optional<std::uint64_t> number, double work) {
  std::lock_guard const lock{mutex_};
  if (marks_next_ || number_ % together_for_ == 0 || number.value_or(number_) != number_) return false;
  ++number_;
  ++report_.begun;
  report_.withheld += may_run_ == side_work::none ? 1 : 0;
  report_.halved += may_run_ == side_work::half ? 1 : 0;
  if (beginning* const last = last_marked()) {
    ++last->steps;
    last->work = last->work > 0 && work > 0 ? last->work + work : 0;
  }
  return true;
}

side_work trainer_steps::may_run(stream_handle stream, std::uint64_t stream_id, std::string_view site) {
  if (!looks_for_steps_) return may_run_;
  bool is_first = false;
  {
    std::lock_guard const marks{marks_};
    std::unique_lock lock{mutex_};
    if (looks_for_steps_ && finder_.begins(stream_id, site)) {
      is_first = found_++ == 0;
      begin(stream, number_, 0, lock);
    }
  }
  if (is_first && log_) {
    log_("max_slowdown is set, and the program marks no steps: from now on each opening at '" + std::string{site} +
         "' begins one; mark them to keep the bound better");
  }
  return may_run_;
}

/// Call under both locks. The moment is enqueued without the second, and counted only then, because the host may wait
/// long at a full queue.
void trainer_steps::begin(stream_handle stream, std::uint64_t number, double work, std::unique_lock<std::mutex>& lock) {
  std::uint64_t const at = marked_++;
  ++report_.begun;
  number_ = number + 1;
  marks_next_ = false;
  if (governor_) {
    side_work const runs = governor_->decide(number, kind_, may_halve_);
    may_run_ = runs;
    report_.withheld += runs == side_work::none ? 1 : 0;
    report_.halved += runs == side_work::half ? 1 : 0;
  }
  if (count_ - read_ == kept) return;  // its length stays unknown
  beginning& now = noted_[count_ % kept];
  now.at = at;
  now.series = series_;
  now.number = number;
  now.steps = 1;
  now.work = work;
  now.is_skipped = false;
  if (!now.when) now.when = executor_.make_moment();  // waits for nothing
  lock.unlock();
  executor_.note(stream, *now.when);
  lock.lock();
  ++count_;
}

void trainer_steps::skip() {
  std::lock_guard const lock{mutex_};
  may_run_ = report_.max_slowdown != 0 ? side_work::none : side_work::all;
  marks_next_ = true;
  if (beginning* const last = last_marked()) last->is_skipped = true;
}

/// Returns the beginning of the last marked step: its moment may still be on its way to the stream, or noted. Null: no
/// place was left for it. Call under the lock.
trainer_steps::beginning* trainer_steps::last_marked() noexcept {
  for (std::uint64_t const at : {count_, count_ + kept - 1}) {
    beginning& last = noted_[at % kept];
    if (last.when != nullptr && last.at + 1 == marked_) return &last;
  }
  return nullptr;
}

void trainer_steps::collect(placed_kinds placed, bool may_halve) {
  {
    std::lock_guard const lock{mutex_};
    kind_ = kind_of(placed);
    if (kind_ != 0) last_kind_ = kind_;
    may_halve_ = may_halve;
    if (governor_) assume_together(placed);
  }
  while (read_next()) {
  }
  std::string const said = advice();
  if (!said.empty() && log_) log_(said);
}

/// Returns what is worth saying, once, as soon as it is known.
std::string trainer_steps::advice() {
  std::lock_guard const lock{mutex_};
  if (!governor_ || has_advised_ || !governor_->noise() || last_kind_ == 0) return {};
  std::string said = report_.slowdown_cap != 0 ? told_cap() : advice_where_unknown();
  has_advised_ = report_.slowdown_cap == 0 || !said.empty();
  return said;
}

/// Returns that side work is held at the cap, once it is. Call under the lock.
std::string trainer_steps::told_cap() const {
  bool const half = is_halved(last_kind_);
  auto const known = governor_->interval(last_kind_, half);
  if (!known || known->low <= report_.slowdown_cap) return {};
  std::array<char, 384> text{};
  std::snprintf(
      text.data(), text.size(),
      "side work makes a step %.2f %% longer (%.2f to %.2f), more than %.0f %%: from now on it runs in %.0f %% "
      "of the steps%s; max_slowdown sets another bound, and a training_worth of 0 sets none",
      100 * known->estimate, 100 * known->low, 100 * known->high, 100 * report_.slowdown_cap,
      100 * governor_->chance(last_kind_, half), half ? ", with half of its blocks" : "");
  return text.data();
}

/// Returns what to do where the cost of side work will not be known for long. Call under the lock.
std::string trainer_steps::advice_where_unknown() const {
  std::uint64_t const needed = governor_->steps_to_know_at_best();
  if (needed <= many_steps) return {};
  std::array<char, 512> text{};
  std::snprintf(
      text.data(), text.size(),
      "the length of a step varies by %.1f %%, so it takes %.2g steps or more to know to half of max_slowdown "
      "what side work costs, and until then it runs in few of them; if lengths follow the batch, mark steps "
      "with their work; else a larger bound is known sooner, and without a bound a training_worth of 100 and "
      "half of the SMs make it cost less",
      100 * *governor_->noise(), static_cast<double>(needed));
  return text.data();
}

/// Assumes the larger slowdown of two names that run together. If nothing is assumed of one of them, that is a lower
/// bound. Under a cap what was measured of a name counts, too: two unknown together are not the way out of it. Call
/// under the lock.
void trainer_steps::assume_together(placed_kinds of) {
  if (of[0] == 0 || of[1] == 0 || of[0] == of[1]) return;
  if (std::uint64_t const before = std::exchange(together_, kind_); before != kind_) governor_->assume_nothing(before);
  governor::assumed_slowdown both;
  for (std::uint64_t const kind : of) {
    auto const its = assumed_.find(kind);
    auto const measured = report_.slowdown_cap != 0 ? governor_->interval(kind) : std::nullopt;
    both.is_at_least = both.is_at_least || (its == assumed_.end() && !measured);
    if (measured) {
      both.slowdown = std::max(both.slowdown, measured->estimate);
    } else if (its != assumed_.end()) {
      both.slowdown = std::max(both.slowdown, its->second);
    }
  }
  if (both.slowdown > 0 || !both.is_at_least) governor_->assume_slowdown(kind_, both);
}

/// Asks the machine without the lock: what was noted stays until it is read.
bool trainer_steps::read_next() {
  std::unique_lock lock{mutex_};
  if (read_ + 1 >= count_) return false;
  beginning const& from = noted_[read_ % kept];
  beginning const& to = noted_[(read_ + 1) % kept];
  lock.unlock();
  auto const took = executor_.between(*from.when, *to.when);
  if (!took) return false;
  lock.lock();
  ++read_;
  // A step that ended by another bound or an earlier number says nothing.
  if (from.is_skipped || to.at != from.at + 1 || from.series != series_) return true;
  report_.timed += from.steps;
  report_.total += *took;
  auto const steps = static_cast<double>(from.steps);
  if (governor_) governor_->took(from.number, static_cast<double>(took->count()) / steps, from.work / steps);
  if (report_.slowdown_cap != 0) choose_how_many(*took / static_cast<std::int64_t>(from.steps));
  return true;
}

/// Chooses a power of two: marks of ranks come together. One reading doubles it at most: a single one may be odd.
void trainer_steps::choose_how_many(std::chrono::nanoseconds step) noexcept {
  auto const all = [&] { return step * static_cast<std::int64_t>(together_for_); };
  if (together_for_ < max_together && all() < mark_at_most_each) together_for_ *= 2;
  if (together_for_ > 1 && all() > mark_at_least_each) together_for_ /= 2;
}

step_report trainer_steps::report() const {
  std::lock_guard const lock{mutex_};
  return bounded_ && report_.max_slowdown == 0 && report_.begun == 0 ? *bounded_ : now();
}

/// Call under the lock.
step_report trainer_steps::now() const {
  step_report found = report_;
  if (governor_) {
    bool const half = is_halved(last_kind_);
    found.chance = governor_->chance(last_kind_, half);
    found.slowdown = governor_->interval(last_kind_, half);
    found.noise = governor_->noise();
    found.steps_to_know = governor_->steps_to_know(last_kind_, half);
  }
  return found;
}

}  // namespace lull::detail
