// SPDX-License-Identifier: Apache-2.0
#include <lull/host/detail/job/job_memories.hpp>

#include <algorithm>

#include <lull/host/error.hpp>

namespace lull::detail {

job_memories::job_memories(executor& executor, limits const& allowed)
    : executor_(executor),
      allowed_(allowed),
      pages_(std::in_place, executor, allowed.saved_bytes),
      lane_(executor.make_copy_lane()) {}

job_memories::~job_memories() { lane_.reset(); }  // waits for the copies

void job_memories::add(job_pointer job) {
  auto const goes_later = [&](tenant const& other) { return goes_before(*job, *other.job); };
  auto const where = std::find_if(tenants_.begin(), tenants_.end(), goes_later);
  tenants_.emplace(where, std::move(job));
}

void job_memories::forget_all() {
  tenants_.clear();
  pages_.reset();
}

void job_memories::tick(time_point now) {
  now_ = now;
  if (others_ != nullptr) note_free(others_->freed());
  if (tenants_.empty() && others_ == nullptr) {
    requests_.see();
    return requests_.answer(now_, true);
  }
  if (now_ >= next_look_) {
    next_look_ = now_ + look_every;
    if (allowed_.reserve_bytes != 0) free_ = executor_.device_free_bytes();
  }
  if (any_moves_ || any_away_ || now_ >= next_follow_) follow();
  std::uint64_t const asked = missing();
  if (std::uint64_t const comes = leaving() + comes_from_others(asked); asked > comes) take_from_lowest(asked - comes);
  if (asked == 0 && now_ >= not_back_before_) let_return();
  any_moves_ = std::any_of(tenants_.begin(), tenants_.end(), is_moving);
  any_away_ =
      std::any_of(tenants_.begin(), tenants_.end(), [](auto const& each) { return each.now == movement::is_away; });
  requests_.answer(now_, !any_moves_ && !others_give_);
}

job_memories::time_point job_memories::next() const {
  if (any_moves_) return now_ + soon;
  bool const watches_reserve = others_ != nullptr && allowed_.reserve_bytes != 0;
  return tenants_.empty() && !watches_reserve ? time_point::max() : next_look_;
}

/// Notes jobs and copies that have ended, and starts moves that are due.
void job_memories::follow() {
  for (tenant& each : tenants_) {
    if (each.now == movement::none && !is_final(each.job->state())) continue;
    if (!is_final(each.job->state())) {
      move(each);
    } else {
      if (each.now == movement::is_away) each.memory().lose();
      each.now = movement::ends;
    }
  }
  tenants_.remove_if(
      [this](tenant const& each) { return each.now == movement::ends && (!each.moves || lane_->done()); });
  if (now_ < next_follow_) return;
  next_follow_ = now_ + follow_every;
  if (missing() == 0) save_what_is_due();
}

/// Returns how much must go back to the driver by now.
std::uint64_t job_memories::missing() {
  return std::max(requests_.see(), allowed_.reserve_bytes - std::min(allowed_.reserve_bytes, free_));
}

/// Asks other processes for what is missing, and returns how much of it they are about to free.
std::uint64_t job_memories::comes_from_others(std::uint64_t asked) {
  if (others_ == nullptr) return 0;
  time_point const until = requests_.first_deadline().value_or(now_ + reserve_within);
  auto const within = std::max(until - now_, time_point::duration{0});
  std::uint64_t const comes = asked != 0 ? others_->take(asked, within) : 0;
  others_give_ = comes != 0;
  return comes;
}

/// Returns how much is being moved out.
std::uint64_t job_memories::leaving() const {
  std::uint64_t sum = 0;
  for (tenant const& each : tenants_) {
    bool const moves = each.now == movement::leaves_place || each.now == movement::saves;
    if (moves && each.why != purpose::saving) sum += each.memory().bytes();
  }
  return sum;
}

void job_memories::take_from_lowest(std::uint64_t bytes) {
  for (auto from = tenants_.rbegin(); from != tenants_.rend() && bytes != 0; ++from) {
    if (!can_go(*from) || from->memory().bytes() == 0) continue;
    bool const is_being_saved =
        (from->now == movement::leaves_place || from->now == movement::saves) && from->why == purpose::saving;
    if (from->now != movement::none && !is_being_saved) continue;
    if (is_being_saved) {
      from->why = purpose::eviction;
    } else {
      std::optional<purpose> const way = way_of(*from);
      if (!way || !from->job->ask_to_leave()) continue;
      from->now = movement::leaves_place;
      from->why = *way;
    }
    bytes -= std::min(bytes, from->memory().bytes());
  }
}

/// Returns how a job can give its memory: none if it could not come back.
std::optional<job_memories::purpose> job_memories::way_of(tenant const& of) const {
  bool const is_whole = !of.at.empty() && of.touches == of.job->touches() && of.copied == of.memory().pieces();
  bool const can_drop = is_whole && of.job->description().may_go_back;
  std::chrono::duration<double> const takes{static_cast<double>(of.memory().bytes()) / bytes_a_second_};
  bool const saves = can_save(of);
  if (saves && (takes <= time_left() || !can_drop)) return purpose::eviction;
  if (can_drop) return purpose::dropping;
  return std::nullopt;
}

/// Returns whether pages suffice; copies of jobs that are on the machine may be dropped for it.
bool job_memories::can_save(tenant const& of) const {
  std::size_t pages = pages_->unused();
  for (tenant const& each : tenants_) {
    if (&each == &of || each.now == movement::none) pages += each.pages.size();
  }
  return pages >= pages_needed(of);
}

/// Counts all pieces of a job, because moving back needs the ones that stay, too.
std::size_t job_memories::pages_needed(tenant const& of) { return pages_for(of.memory().pieces()); }

std::size_t job_memories::pages_for(job_memory::piece_map const& pieces) {
  std::size_t bytes = 0;
  for (auto const& [at, piece] : pieces) bytes += piece.bytes;
  return saved_pages::count_for(bytes);
}

/// Calls `copy(on_host, piece, offset, bytes)` for each part of the copied data that lies in one page. Returns the
/// number of parts.
template <class Copy>
std::size_t job_memories::each_part(tenant const& of, Copy copy) {
  constexpr std::size_t size = saved_pages::page_bytes;
  std::size_t saved = 0;
  std::size_t parts = 0;
  for (auto const& [at, piece] : of.copied) {
    for (std::size_t done = 0; done < piece.bytes; ++parts) {
      std::size_t const part = std::min(piece.bytes - done, size - saved % size);
      copy(of.pages[saved / size].get() + saved % size, static_cast<std::byte*>(at), done, part);
      done += part;
      saved += part;
    }
  }
  return parts;
}

/// Returns the time until the trainer needs what is missing. While half the reserve is left there is time.
std::chrono::duration<double> job_memories::time_left() const {
  std::chrono::duration<double> const left = free_ >= allowed_.reserve_bytes / 2
                                                 ? std::chrono::duration<double>::max()
                                                 : std::chrono::duration<double>::zero();
  auto const until = requests_.first_deadline();
  return until ? std::min<std::chrono::duration<double>>(left, *until - now_) : left;
}

void job_memories::move(tenant& of) {
  job_core& job = *of.job;
  switch (of.now) {
    case movement::none:
    case movement::ends:
      return;
    case movement::leaves_place:
      if (job.state() != job_state::evicted) return;  // a block may be inside
      if (job.wanted() != job_core::wish::run) return keep(of);
      return leave(of);
    case movement::saves:
      if (!lane_->done() || copy_more(of)) return;
      end_copy(of);
      if (of.why == purpose::saving || job.wanted() == job_core::wish::cancel) return keep(of);
      return withdraw(of);
    case movement::is_away:
      // A cancelled job lets its owner read what it wrote. Without room for its memory that is lost.
      if (job.wanted() != job_core::wish::cancel || begin_to_return(of)) return;
      of.memory().lose();
      return keep(of);
    case movement::returns:
      if (!lane_->done() || copy_more(of)) return;
      end_copy(of);
      last_return_ = now_;
      return keep(of);
  }
}

/// Moves the memory out; no block is inside.
void job_memories::leave(tenant& of) {
  if (of.why == purpose::dropping) {
    of.job->restore(of.at);
    return withdraw(of);
  }
  of.placings = of.job->placings();
  // a piece that comes now stays out of the copy
  job_memory::piece_map const& pieces = of.moves.emplace(of.memory()).pieces();
  while (of.pages.size() < pages_for(pieces)) {
    std::shared_ptr<std::byte> page = pages_->take();
    if (page != nullptr) {
      of.pages.push_back(std::move(page));
    } else if (!take_page_of_another(of)) {
      of.moves.reset();
      return keep(of);
    }
  }
  of.copied = pieces;
  of.began = now_;
  of.now = movement::saves;
  of.parts_left = each_part(of, [](auto&&...) {});
  copy_more(of);
}

/// Enqueues some more parts of the current copy. Returns false if all were enqueued.
bool job_memories::copy_more(tenant& of) {
  if (of.parts_left == 0) return false;
  std::size_t const all = each_part(of, [](auto&&...) {});
  std::size_t const from = all - of.parts_left;
  std::size_t const past = std::min(all, from + max_parts);
  std::size_t at_part = 0;
  each_part(of, [&](std::byte* on_host, std::byte* piece, std::size_t at, std::size_t bytes) {
    std::size_t const part = at_part++;
    if (part < from || part >= past) return;
    if (of.now == movement::saves) return lane_->copy_out(on_host, piece + at, bytes);
    auto const there = of.moves->pieces().find(piece);
    bool const is_it = there != of.moves->pieces().end() && there->second == of.copied.at(piece);
    if (is_it) lane_->copy_in(piece + at, on_host, bytes);  // otherwise it was released while it was away
  });
  of.parts_left = all - past;
  return true;
}

/// Takes a page from another job's copy, which is then incomplete.
bool job_memories::take_page_of_another(tenant& into) {
  for (tenant& each : tenants_) {
    if (&each == &into || each.now != movement::none || each.pages.empty()) continue;
    each.at.clear();
    into.pages.push_back(std::move(each.pages.back()));
    each.pages.pop_back();
    return true;
  }
  return false;
}

void job_memories::end_copy(tenant& of) {
  of.moves.reset();
  std::chrono::duration<double> const took = now_ - of.began;
  bytes_a_second_ = static_cast<double>(of.memory().bytes()) / std::max(took.count(), 1e-6);
  auto const pause = std::chrono::duration_cast<std::chrono::nanoseconds>(took * saves_pause);
  of.next_save = now_ + std::max<std::chrono::nanoseconds>(pause, min_saves_pause);
  if (of.now != movement::saves) return;
  of.at.clear();
  try {
    of.touches = of.job->touches();
    of.at = of.job->save();
  } catch (limit_error const&) {  // more chunks were handed back than can be noted: this copy cannot be restored
  }
}

/// Releases only what is in the copy: a piece that came since stays.
void job_memories::withdraw(tenant& of) {
  std::uint64_t went = 0;
  of.now = movement::is_away;  // also if the driver throws half-way
  {
    job_memory::move const still{of.memory()};
    for (auto const& [at, piece] : still.pieces()) {
      auto const saved = of.copied.find(at);
      if (!piece.can_go || saved == of.copied.end() || saved->second != piece) continue;
      executor_.withdraw(at);
      went += piece.takes;
    }
  }
  note_free(went);
  away_for_ = now_ - last_return_ < away_for_ * 10 ? std::min(away_for_ * 2, max_away) : min_away;
  not_back_before_ = now_ + away_for_;
}

void job_memories::note_free(std::uint64_t went) {
  if (went == 0) return;
  if (free_ <= ~went) free_ += went;
  requests_.hand_out(went);
}

/// Returns false if there is no room.
bool job_memories::begin_to_return(tenant& of) {
  job_memory::piece_map const& pieces = of.moves.emplace(of.memory()).pieces();
  std::vector<void*> back;
  try {
    for (auto const& [at, piece] : pieces) {
      if (!piece.can_go) continue;
      if (executor_.restore(at)) back.push_back(at);
    }
  } catch (limit_error const&) {
    for (void* const at : back) executor_.withdraw(at);
    of.moves.reset();
    not_back_before_ = now_ + away_for_;
    return false;
  }
  of.began = now_;
  of.now = movement::returns;
  next_look_ = now_;
  of.parts_left = each_part(of, [](auto&&...) {});
  copy_more(of);
  return true;
}

/// Marks the memory as on the machine.
void job_memories::keep(tenant& of) {
  of.now = movement::none;
  of.job->is_back();
}

/// Moves back one job at a time; the highest priority of those that fit.
void job_memories::let_return() {
  for (tenant& each : tenants_) {
    if (each.now != movement::is_away) continue;
    // a margin, so that it need not leave at once
    std::uint64_t const room = allowed_.reserve_bytes + allowed_.reserve_bytes / 8;
    std::uint64_t const bytes = each.memory().bytes();
    if (executor_.device_free_bytes() < room + bytes || executor_.free_bytes().bytes < bytes) continue;
    if (begin_to_return(each)) return;
  }
}

/// Saves jobs so that they can be dropped, where unused pages are left.
void job_memories::save_what_is_due() {
  for (tenant& each : tenants_) {
    bool const is_due = each.now == movement::none && each.job->description().may_go_back && now_ >= each.next_save &&
                        (each.placings != each.job->placings() || each.at.empty());
    if (!is_due) continue;
    bool const has_room = pages_needed(each) <= each.pages.size() + pages_->unused();
    if (each.memory().bytes() == 0 || !has_room || !each.job->ask_to_leave()) continue;
    each.why = purpose::saving;
    each.now = movement::leaves_place;
  }
}

}  // namespace lull::detail
