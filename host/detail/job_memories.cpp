// SPDX-License-Identifier: Apache-2.0
#include <lull/host/detail/job_memories.hpp>

#include <algorithm>
#include <string>
#include <thread>
#include <utility>

#include <lull/host/error.hpp>

namespace lull::detail {

job_memories::job_memories(executor& machine, limits const& allowed)
    : machine_(machine),
      allowed_(allowed),
      pages_(std::in_place, machine, allowed.saved_bytes),
      lane_(machine.make_copy_lane()) {}

job_memories::~job_memories() { lane_.reset(); }  // waits for the copies

void job_memories::require_its_own(job_span jobs, job_record const& job) {
  std::shared_ptr<job_memory> const& its = job.description().memory;
  if (its == nullptr) return;
  std::string const name = "job '" + job.description().name + "': ";
  if (its->is_lost()) throw usage_error{name + "what was in its memory is lost: allocate it again"};
  bool const is_anothers = std::any_of(jobs.begin(), jobs.end(), [&](auto const& other) {
    return other->description().memory == its && !is_final(other->state());
  });
  if (is_anothers) throw usage_error{name + "its memory is that of a job that is not over: give each its own"};
}

bool job_memories::any_moves() const { return std::any_of(tenants_.begin(), tenants_.end(), is_moving); }

void job_memories::end_requests() noexcept {
  for (memory_request* each : requests_) each->is_over = true;
}

void job_memories::forget_all() {
  tenants_.clear();
  pages_.reset();
}

void job_memories::tick(job_span jobs, time_point now) {
  now_ = now;
  follow(jobs);
  if (tenants_.empty()) return answer();
  if (now_ >= next_look_) {
    next_look_ = now_ + look_every;
    if (allowed_.reserve_bytes != 0) free_ = machine_.device_free_bytes();
  }
  for (tenant& each : tenants_) move(each);
  std::uint64_t const asked = missing();
  if (asked > leaving()) take_from(jobs, asked - leaving());
  answer();
  if (asked != 0) return;
  if (now_ >= not_back_before_) let_return(jobs);
  save_what_is_due();
}

job_memories::time_point job_memories::next() const {
  if (tenants_.empty()) return time_point::max();
  return any_moves() ? now_ + soon : next_look_;
}

/// Jobs come and go.
void job_memories::follow(job_span jobs) {
  for (std::shared_ptr<job_record> const& job : jobs) {
    if (job->description().memory != nullptr && find(*job) == nullptr) tenants_.emplace_back(job);
  }
  for (tenant& each : tenants_) {
    each.has_run |= each.job->state() == job_state::placed;
    if (!is_final(each.job->state())) continue;
    auto const give_up = std::chrono::steady_clock::now() + max_last_copy;
    while (each.moves && !lane_->done() && std::chrono::steady_clock::now() < give_up)
      std::this_thread::sleep_for(soon);
    if (each.now == movement::is_away) each.memory().lose();
  }
  tenants_.remove_if([](tenant const& each) { return is_final(each.job->state()); });
}

job_memories::tenant* job_memories::find(job_record const& job) {
  auto const found =
      std::find_if(tenants_.begin(), tenants_.end(), [&](tenant const& each) { return each.job.get() == &job; });
  return found == tenants_.end() ? nullptr : &*found;
}

/// What shall go back to the driver by now.
std::uint64_t job_memories::missing() const {
  std::uint64_t asked = 0;
  for (memory_request const* each : requests_) {
    if (!each->is_over) asked += each->bytes - std::min(each->bytes, each->given);
  }
  return std::max(asked, allowed_.reserve_bytes - std::min(allowed_.reserve_bytes, free_));
}

/// What is on its way there.
std::uint64_t job_memories::leaving() const {
  std::uint64_t sum = 0;
  for (tenant const& each : tenants_) {
    bool const moves = each.now == movement::leaves_place || each.now == movement::saves;
    if (moves && each.why != purpose::saving) sum += each.memory().bytes();
  }
  return sum;
}

/// Of the lowest first.
void job_memories::take_from(job_span jobs, std::uint64_t bytes) {
  for (auto job = jobs.rbegin(); job != jobs.rend() && bytes != 0; ++job) {
    tenant* const from = find(**job);
    if (from == nullptr || from->memory().bytes() == 0) continue;
    bool const is_being_saved =
        (from->now == movement::leaves_place || from->now == movement::saves) && from->why == purpose::saving;
    if (from->now != movement::none && !is_being_saved) continue;
    if (is_being_saved) {
      from->why = purpose::eviction;
    } else {
      std::optional<purpose> const way = way_of(*from);
      if (!way || !(*job)->ask_to_leave()) continue;
      from->now = movement::leaves_place;
      from->why = *way;
    }
    bytes -= std::min(bytes, from->memory().bytes());
  }
}

/// How a job can give its memory: none, where it could not come back.
std::optional<job_memories::purpose> job_memories::way_of(tenant const& of) const {
  bool is_whole = !of.at.empty() && of.touches == of.job->touches();
  if (is_whole) {
    job_memory::move const still{of.memory()};
    is_whole = of.copied == still.pieces();
  }
  bool const can_drop = is_whole && of.job->description().may_go_back;
  std::chrono::duration<double> const takes{static_cast<double>(of.memory().bytes()) / bytes_a_second_};
  bool const saves = can_save(of);
  if (saves && (takes <= time_left() || !can_drop)) return purpose::eviction;
  if (can_drop) return purpose::dropping;
  return std::nullopt;
}

/// Copies of jobs that are on the machine may be given up for it.
bool job_memories::can_save(tenant const& of) const {
  std::size_t pages = pages_->unused();
  for (tenant const& each : tenants_) {
    if (&each == &of || each.now == movement::none) pages += each.pages.size();
  }
  return pages >= pages_needed(of);
}

/// Of all its pieces, for a job that goes back needs those that stay, too.
std::size_t job_memories::pages_needed(tenant const& of) {
  std::size_t bytes = 0;
  job_memory::move const still{of.memory()};
  for (auto const& [at, piece] : still.pieces()) bytes += piece.bytes;
  return saved_pages::count_for(bytes);
}

/// `copy(on_host, piece, offset, bytes)` for each part of what is copied that lies in one page.
template <class Copy>
void job_memories::each_part(tenant const& of, Copy copy) {
  constexpr std::size_t size = saved_pages::page_bytes;
  std::size_t saved = 0;
  for (auto const& [at, piece] : of.copied) {
    for (std::size_t done = 0; done < piece.bytes;) {
      std::size_t const part = std::min(piece.bytes - done, size - saved % size);
      copy(of.pages[saved / size].get() + saved % size, static_cast<std::byte*>(at), done, part);
      done += part;
      saved += part;
    }
  }
}

/// Until the trainer has to have what is missing. Where half the reserve is left there is time.
std::chrono::duration<double> job_memories::time_left() const {
  std::chrono::duration<double> left = free_ >= allowed_.reserve_bytes / 2 ? std::chrono::duration<double>::max()
                                                                           : std::chrono::duration<double>::zero();
  for (memory_request const* each : requests_)
    if (!each->is_over) left = std::min<std::chrono::duration<double>>(left, each->deadline - now_);
  return left;
}

void job_memories::move(tenant& of) {
  job_record& job = *of.job;
  switch (of.now) {
    case movement::none:
      return;
    case movement::leaves_place:
      if (job.state() != job_state::evicted) return;  // a block may be inside
      if (job.wanted() != job_record::wish::run) return stay(of);
      return leave(of);
    case movement::saves:
      if (!lane_->done()) return;
      end_copy(of);
      if (of.why == purpose::saving || job.wanted() == job_record::wish::cancel) return stay(of);
      return withdraw(of);
    case movement::is_away:
      // A job that is over lets its owner read what it wrote. Without room for it that is lost.
      if (job.wanted() == job_record::wish::cancel && !begin_to_return(of)) lose(of);
      return;
    case movement::returns:
      if (!lane_->done()) return;
      end_copy(of);
      last_return_ = now_;
      return stay(of);
  }
}

/// No block is inside.
void job_memories::leave(tenant& of) {
  if (of.why == purpose::dropping) {
    of.job->restore(of.at);
    return withdraw(of);
  }
  of.has_run = false;
  while (of.pages.size() < pages_needed(of)) {
    std::shared_ptr<std::byte> page = pages_->take();
    if (page != nullptr) {
      of.pages.push_back(std::move(page));
    } else if (!take_page_of_another(of)) {
      return stay(of);
    }
  }
  of.moves.emplace(of.memory());
  of.copied = of.moves->pieces();
  of.began = now_;
  of.now = movement::saves;
  each_part(of, [this](std::byte* to, std::byte* piece, std::size_t at, std::size_t bytes) {
    lane_->copy_out(to, piece + at, bytes);
  });
}

/// Whose copy is not whole then.
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
  } catch (limit_error const&) {  // it has handed back more than can be noted: it cannot go back to here
  }
}

void job_memories::withdraw(tenant& of) {
  std::uint64_t went = 0;
  {
    job_memory::move const still{of.memory()};
    for (auto const& [at, piece] : still.pieces()) {
      if (!piece.can_go) continue;
      machine_.withdraw(at);
      went += piece.bytes;
    }
  }
  of.now = movement::is_away;
  if (free_ <= ~went) free_ += went;
  for (memory_request* each : requests_) {
    if (went == 0) break;
    std::uint64_t const takes =
        each == requests_.back() ? went : std::min(went, each->bytes - std::min(each->bytes, each->given));
    each->given += takes;
    went -= takes;
  }
  away_for_ = now_ - last_return_ < away_for_ * 10 ? std::min(away_for_ * 2, max_away) : min_away;
  not_back_before_ = now_ + away_for_;
}

/// False: there is no room.
bool job_memories::begin_to_return(tenant& of) {
  job_memory::piece_map const& pieces = of.moves.emplace(of.memory()).pieces();
  std::vector<void*> back;
  try {
    for (auto const& [at, piece] : pieces) {
      if (!piece.can_go) continue;
      if (machine_.restore(at)) back.push_back(at);
    }
  } catch (limit_error const&) {
    for (void* const at : back) machine_.withdraw(at);
    of.moves.reset();
    not_back_before_ = now_ + away_for_;
    return false;
  }
  of.began = now_;
  of.now = movement::returns;
  next_look_ = now_;
  each_part(of, [&](std::byte* from, std::byte* piece, std::size_t at, std::size_t bytes) {
    auto const there = pieces.find(piece);
    bool const is_it = there != pieces.end() && there->second == of.copied.at(piece);
    if (is_it) lane_->copy_in(piece + at, from, bytes);  // else it was released meanwhile
  });
  return true;
}

/// On the machine.
void job_memories::stay(tenant& of) {
  of.now = movement::none;
  of.job->is_back();
}

/// It cannot come back, and its owner does not go on.
void job_memories::lose(tenant& of) {
  of.memory().lose();
  stay(of);
}

/// One at a time; the highest of those that fit.
void job_memories::let_return(job_span jobs) {
  for (std::shared_ptr<job_record> const& job : jobs) {
    tenant* const of = find(*job);
    if (of == nullptr || of->now != movement::is_away) continue;
    std::uint64_t const room = allowed_.reserve_bytes + allowed_.reserve_bytes / 8;  // so that it need not go at once
    std::uint64_t const bytes = of->memory().bytes();
    if (machine_.device_free_bytes() < room + bytes || machine_.free_bytes().bytes < bytes) continue;
    if (!begin_to_return(*of)) continue;
    return;
  }
}

/// So that they can be dropped; where there are pages that nobody uses.
void job_memories::save_what_is_due() {
  for (tenant& each : tenants_) {
    bool const is_due = each.now == movement::none && each.job->description().may_go_back && now_ >= each.next_save &&
                        (each.has_run || each.at.empty());
    if (!is_due) continue;
    bool const has_room = pages_needed(each) <= each.pages.size() + pages_->unused();
    if (each.memory().bytes() == 0 || !has_room || !each.job->ask_to_leave()) continue;
    each.why = purpose::saving;
    each.now = movement::leaves_place;
  }
}

/// A request is over when all has gone that will.
void job_memories::answer() {
  bool const moves = any_moves();
  for (memory_request* each : requests_) each->is_over = each->given >= each->bytes || now_ >= each->deadline || !moves;
}

}  // namespace lull::detail
