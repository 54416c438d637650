// SPDX-License-Identifier: Apache-2.0
#include <lull/host/detail/runtime/follower.hpp>

#include <algorithm>
#include <thread>
#include <utility>

#include <unistd.h>

#include <lull/host/attach/expendable.hpp>
#include <lull/host/error.hpp>

namespace lull::detail {

namespace {

using namespace std::chrono_literals;

}  // namespace

follower::follower(std::string const& address, executor& machine, attach::attachment::worker who,
                   std::function<void(std::string)> log)
    : machine_(machine),
      path_(attach::socket_path(address, "runtime_options::attach")),
      who_(std::move(who)),
      log_(std::move(log)) {
  attach::become_expendable();
  std::shared_ptr<attach::attachment> trainer;
  for (auto const give_up = std::chrono::steady_clock::now() + attaches_within;;) {
    std::string why_not =
        "no trainer shares its bubbles at " + path_ + ": start it with share=unix:" + path_ + ", as the same user";
    try {
      trainer = attach::attachment::to(path_, who_);
    } catch (limit_error const& why) {  // which may pass
      why_not = why.what();
    }
    if (trainer != nullptr) break;
    if (std::chrono::steady_clock::now() >= give_up) throw limit_error{why_not};
    std::this_thread::sleep_for(20ms);
  }
  if (trainer->trainer() == ::getpid())
    throw usage_error{"this process shares the bubbles at " + path_ + " itself: submit jobs to the runtime that does"};
  use(std::move(trainer));
  log_("works in the bubbles of process " + std::to_string(trainer_->trainer()) + ", which shares them at " + path_);
}

void follower::use(std::shared_ptr<attach::attachment> trainer) {
  memory_handle const& lines = trainer->page().lines;
  std::shared_ptr<void> opened = lines != memory_handle{} ? machine_.open_exported(lines) : nullptr;
  machine_.keep_free(trainer->reserve_bytes());
  trainer_ = std::move(trainer);
  lines_ = static_cast<gate_line*>(opened.get());
  words_ = std::make_shared<std::pair<std::shared_ptr<attach::attachment>, std::shared_ptr<void>>>(trainer_, opened);
}

gate_words follower::words(std::uint32_t gate) const noexcept {
  // Workers and this host only read there. No worker waits for an opening, so the device need not reach its word.
  auto& at = const_cast<attach::shared_gate&>(trainer_->page().gates[gate]);
  return {lines_ != nullptr ? lines_ + gate : &at.line, &at.opening, nullptr, nullptr, words_};
}

follower::time_point follower::tick(std::vector<std::unique_ptr<gate>>& gates, dispatcher& jobs,
                                    std::function<bool()> const& no_worker_comes, time_point now) {
  if (!is_lost_ && trainer_->is_over()) lose(gates, jobs, now);
  if (is_lost_) {
    bool const left = jobs.places().places_empty() && !jobs.bubbles().copies() && no_worker_comes();
    if (!left || now < lost_at_ + collects_for) return now + look;
    if (now < next_try_ || !attach_again(gates, jobs, now)) return next_try_;
  }
  for (std::uint32_t g = 0; g < gates.size(); ++g) {
    if (follow(g, *gates[g])) last_told_ = now;
  }
  pay(jobs, now);
  report(jobs, now);
  if (!jobs.places().any_stands()) return now + look_when_quiet;
  return now + (now - last_told_ < 50ms ? std::chrono::nanoseconds{look} : std::chrono::nanoseconds{1ms});
}

/// The jobs leave their places, and with them their blocks the machine, even if the last gate stays open for ever.
void follower::lose(std::vector<std::unique_ptr<gate>>& gates, dispatcher& jobs, time_point now) {
  is_lost_ = true;
  lost_at_ = now;
  jobs.places().be_quiet();
  for (std::uint32_t g = 0; g < gates.size(); ++g) gates[g]->follow_close(next_[g] - 1, now);  // it is collected, too
  log_("the trainer at " + path_ + " has ended: jobs go on with the next one there");
}

bool follower::attach_again(std::vector<std::unique_ptr<gate>>& gates, dispatcher& jobs, time_point now) {
  next_try_ = now + try_every;
  std::shared_ptr<attach::attachment> next;
  try {
    next = attach::attachment::to(path_, who_);
  } catch (limit_error const& why) {  // it is busy, or has no room: that may pass
    if (!std::exchange(has_said_why_not_, true)) log_(why.what());
    next_try_ = now + try_again_every;
  }
  if (next == nullptr) return false;
  has_said_why_not_ = false;
  use(std::move(next));
  for (std::uint32_t g = 0; g < gates.size(); ++g) gates[g]->follow_another(words(g));
  next_ = {};
  if (asked_ != nullptr) jobs.asked_back().forget(std::exchange(asked_, nullptr));
  answers_ = freed_ = 0;
  is_lost_ = false;
  jobs.places().release();
  log_("works in the bubbles of process " + std::to_string(trainer_->trainer()) + ", which shares them at " + path_);
  return true;
}

/// Returns whether a bubble or a close was new.
bool follower::follow(std::uint32_t index, gate& at) {
  attach::shared_page const& page = trainer_->page();
  attach::shared_gate const& from = page.gates[index];
  // acquire: what was told of it
  std::uint64_t const latest = from.opened.load(std::memory_order_acquire);
  if (latest == 0) return false;
  std::uint64_t& next = next_[index];
  if (next == 0 || next + attach::kept_bubbles <= latest) next = latest;
  if (at.stream_id() == 0) at.take(index + 1);
  bool any = false;
  for (; next <= latest; ++next) {
    auto const told = attach::read(from, next);
    if (!told) continue;
    if (auto const before = attach::read(from, next - 1); before && before->left)
      at.follow_close(next - 1, *before->left);
    if (!at.follow(*told, attach::site_name(page, told->site), told->worker == trainer_->number())) break;
    any = true;
  }
  auto const last = attach::read(from, next - 1);
  if (last && last->left) any = at.follow_close(next - 1, *last->left) || any;
  return any;
}

/// Has jobs free the memory that the trainer needs.
void follower::pay(dispatcher& jobs, time_point now) {
  if (asked_ == nullptr) {
    auto const wanted = trainer_->take_wanted();
    if (!wanted) return;
    constexpr std::chrono::nanoseconds most = std::chrono::hours{24};
    auto const within = std::min<std::uint64_t>(wanted->within_ns, static_cast<std::uint64_t>(most.count()));
    asked_number_ = wanted->number;
    asked_ = std::make_shared<memory_request>(memory_request{
        .bytes = wanted->bytes, .deadline = now + std::chrono::nanoseconds{static_cast<std::int64_t>(within)}});
    jobs.asked_back().ask(asked_);
  }
  auto const given = jobs.asked_back().answer_to(*asked_);
  if (!given) return;
  jobs.asked_back().forget(std::exchange(asked_, nullptr));
  answers_ = asked_number_;
  freed_ = *given;
}

void follower::report(dispatcher& jobs, time_point now) {
  placer const& places = jobs.places();
  attach::report said;
  std::vector<std::string> const names = places.names_in_places();
  said.jobs = static_cast<std::uint32_t>(names.size());
  for (std::size_t i = 0; i < std::min(names.size(), said.names.size()); ++i)
    said.names[i] = attach::short_text<64>{names[i]};
  said.priority = places.best_priority().value_or(0);
  said.may_halve = places.may_halve() ? 1 : 0;
  side_totals const so_far = jobs.bubbles().worked();
  said.bubbles = so_far.bubbles;
  said.worked_ns = static_cast<std::uint64_t>(so_far.time.count());
  said.items = so_far.items;
  said.held_bytes = jobs.held_bytes();
  said.answers = answers_;
  said.freed_bytes = freed_;
  trainer_->say(said, now);
}

}  // namespace lull::detail
