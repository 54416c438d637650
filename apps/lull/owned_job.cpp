// SPDX-License-Identifier: Apache-2.0
#include <lull/apps/lull/owned_job.hpp>

#include <exception>
#include <utility>
#include <vector>

#include <lull/host/detail/job_record.hpp>

namespace lull {
namespace {

using namespace std::chrono_literals;

constexpr auto max_goodbye = 10s;
/// So long a job without input keeps its place from others. The host is not further ahead of the stream, so in that
/// time it has had bubbles, or there were none.
constexpr auto patience = 400ms;

/// Never freed, and reachable, so that a leak checker knows it for what it is.
void leave_behind(std::unique_ptr<task_owner> owner, std::unique_ptr<feeder_thread> served) {
  using left = std::pair<std::unique_ptr<task_owner>, std::unique_ptr<feeder_thread>>;
  static std::mutex guard;
  static auto* const all = new std::vector<left>;
  if (served) served->leave_alone();
  std::lock_guard const lock{guard};
  all->emplace_back(std::move(owner), std::move(served));
}

}  // namespace

owned_job::owned_job(runtime& side, std::unique_ptr<task_owner> owner, std::string name, int priority,
                     checkpoints* saves)
    : side_(side), owner_(std::move(owner)), name_(std::move(name)), priority_(priority), saves_(saves) {}

owned_job::~owned_job() {
  if (!handle_) return;
  handle_.cancel();
  if (!handle_.wait(max_goodbye)) leave_behind(std::move(owner_), std::move(served_));  // a block may be inside
}

job owned_job::now() const {
  std::lock_guard const lock{mutex_};
  return handle_;
}

void owned_job::submit(from begin) {
  job_description what = owner_->describe();
  what.name = name_;
  what.priority = priority_;
  bool const restores = begin == from::where_saved && saves_ != nullptr;
  what.is_paused = restores;
  job made = side_.submit(std::move(what));
  std::uint64_t brought = 0;
  {
    std::lock_guard const lock{mutex_};
    if (handle_) before_ += handle_.progress().items - brought_;
    handle_ = made;
    brought_ = 0;
  }
  turn_ = job_turn::in_turn;
  since_ = std::chrono::steady_clock::now();
  phases_ = 0;
  if (restores) {
    detail::job_record& state = detail::state_of(made);
    saves_->begin(state);
    state.read_totals();
    brought = made.progress().items;
    {
      std::lock_guard const lock{mutex_};
      brought_ = brought;
    }
    made.resume();
  }
  served_ = std::make_unique<feeder_thread>(*owner_, side_.machine(), std::move(made));
}

void owned_job::look_after(bool another_waits) {
  job handle = now();
  job_progress const reached = handle.progress();
  bool const starves_long = starves(reached);
  switch (turn_) {
    case job_turn::in_turn:
      // Paused still: it was resumed and the runtime has not seen that yet. Only behind that does the word mean the
      // next pause.
      if (reached.state == job_state::paused) return;
      if (saves_ != nullptr && saves_->wants_save()) {
        handle.pause();
        turn_ = job_turn::is_saved;
      } else if (another_waits && starves_long) {
        handle.pause();
        turn_ = job_turn::makes_way;
        since_ = std::chrono::steady_clock::now();
      }
      return;
    case job_turn::is_saved:
      if (reached.state != job_state::paused) return;
      save();
      break;
    case job_turn::makes_way:
      if (reached.state != job_state::paused || std::chrono::steady_clock::now() - since_ < patience) return;
      break;
  }
  turn_ = job_turn::in_turn;
  since_ = std::chrono::steady_clock::now();
  handle.resume();
}

bool owned_job::starves(job_progress const& reached) {
  if (turn_ != job_turn::in_turn) return false;
  bool const no_input = detail::state_of(handle_).reached() == phase_state::starved;
  if (reached.state != job_state::placed || !no_input || reached.phases != phases_) {
    since_ = std::chrono::steady_clock::now();
    phases_ = reached.phases;
    return false;
  }
  return std::chrono::steady_clock::now() - since_ >= patience;
}

void owned_job::finish_serving() { served_->finish(); }

void owned_job::save() {
  if (saves_ == nullptr) return;
  try {
    saves_->save(detail::state_of(now()));
  } catch (std::exception const& problem) {
    save_problem_ = problem.what();
    saves_ = nullptr;
  }
}

std::uint64_t owned_job::items() const {
  std::lock_guard const lock{mutex_};
  return before_ + (handle_ ? handle_.progress().items - brought_ : 0);
}

}  // namespace lull
