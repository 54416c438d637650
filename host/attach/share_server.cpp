// SPDX-License-Identifier: Apache-2.0
#include <lull/host/attach/share_server.hpp>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <iterator>
#include <tuple>
#include <utility>

#include <poll.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <unistd.h>

#include <lull/host/attach/system_error.hpp>

namespace lull::attach {

namespace {

constexpr std::chrono::milliseconds introduces_within{1'000};
constexpr std::chrono::milliseconds rests_for{100};
constexpr int max_lines = 20;
constexpr int max_messages = 64;  // of one worker at a time

/// In milliseconds, rounded up; negative: for ever.
int poll_timeout(share_server::time_point until, share_server::time_point now) {
  if (until == share_server::time_point::max()) return -1;
  auto const left = std::chrono::ceil<std::chrono::milliseconds>(std::max(until - now, std::chrono::nanoseconds{0}));
  return static_cast<int>(std::min<std::chrono::milliseconds>(left, std::chrono::hours{1}).count());
}

/// Returns a file without a name that holds the text.
process_descriptor file_with(std::string const& text) {
  auto made = process_descriptor::opened_by([] { return ::memfd_create("lull", MFD_CLOEXEC); });
  for (std::size_t done = 0; made && done < text.size();) {
    ssize_t const more = ::write(made.get(), text.data() + done, text.size() - done);
    if (more <= 0) return {};
    done += static_cast<std::size_t>(more);
  }
  return made;
}

}  // namespace

std::vector<std::string> attached_worker::jobs() const {
  std::vector<std::string> names;
  for (std::size_t i = 0; i < std::min<std::size_t>(last.jobs, report::max_jobs); ++i)
    names.push_back(last.names[i].text());
  return names;
}

share_server::share_server(std::string const& address, machine where, std::shared_ptr<shared_bubbles> bubbles,
                           calls of_trainer)
    : where_(std::move(where)),
      trainer_(std::move(of_trainer)),
      bubbles_(std::move(bubbles)),
      socket_(socket_path(address, "runtime_options::share")),
      wakes_(process_descriptor::opened_by([] { return ::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK); })) {
  if (!wakes_) throw system_error("eventfd");
  trainer_.log("shares its bubbles at " + address +
               (where_.together ? "" : ", but no worker can attach: MPS does not serve this process"));
  thread_ = std::thread{[this] { serve(); }};
}

share_server::~share_server() {
  ends_ = true;
  wake();
  thread_.join();
}

void share_server::wake() const noexcept {
  std::uint64_t const one = 1;
  while (::write(wakes_.get(), &one, sizeof one) < 0 && errno == EINTR) {
  }
}

bool share_server::is_ready(attached_worker const& worker, time_point now) {
  return worker.number != 0 && worker.last.jobs != 0 && now - worker.heard < silent_for;
}

std::optional<int> share_server::best_priority(time_point now) const {
  std::lock_guard const lock{mutex_};
  std::optional<int> best;
  for (client const& each : clients_) {
    if (is_ready(each.is, now)) best = std::max(best.value_or(each.is.last.priority), each.is.last.priority);
  }
  return best;
}

void share_server::give_turn(bool to_a_worker, time_point now) {
  std::lock_guard const lock{mutex_};
  std::uint32_t const before = bubbles_->on_turn();
  bool const goes_on = now - turn_since_ < turn;
  /// Higher priority first, then the one whose turn is not over, then the one that has waited longest.
  auto const comes_first = [&](attached_worker const& one, attached_worker const& other) {
    auto const key = [&](attached_worker const& of) {
      return std::tuple{of.last.priority, goes_on && of.number == before, -of.had_turn.time_since_epoch().count()};
    };
    return key(one) > key(other);
  };
  attached_worker* next = nullptr;
  for (client& each : clients_) {
    if (!to_a_worker || !is_ready(each.is, now)) continue;
    if (each.is.number == before) each.is.had_turn = now;
    if (next == nullptr || comes_first(each.is, *next)) next = &each.is;
  }
  std::uint32_t const chosen = next != nullptr ? next->number : 0;
  if (chosen != before || !goes_on) turn_since_ = now;
  bubbles_->give_turn(chosen);
}

std::optional<attached_worker> share_server::on_turn() const {
  std::lock_guard const lock{mutex_};
  std::uint32_t const number = bubbles_->on_turn();
  if (number == 0) return std::nullopt;
  for (client const& each : clients_) {
    if (each.is.number == number) return each.is;
  }
  return std::nullopt;
}

std::vector<attached_worker> share_server::workers() const {
  std::lock_guard const lock{mutex_};
  std::vector<attached_worker> found{gone_.begin(), gone_.end()};
  for (client const& each : clients_) {
    if (each.is.number != 0) found.push_back(each.is);
  }
  return found;
}

void share_server::kill_workers() noexcept {
  std::lock_guard const lock{mutex_};
  for (client const& each : clients_) {
    if (each.is.number != 0) each.at.signal(SIGKILL);
  }
  try {
    trainer_.log("a worker has overwritten a gate: all workers are killed, and bubbles are no longer shared");
  } catch (std::exception const&) {  // no memory for the line
  }
}

void share_server::serve() {
  for (bool goes_on = true; goes_on;) {
    try {
      goes_on = serve_once();
    } catch (std::exception const&) {  // no memory: what came is lost, and the next may be served
      std::this_thread::sleep_for(rests_for);
    }
  }
}

/// Returns false when the server ends.
bool share_server::serve_once() {
  auto const begin = std::chrono::steady_clock::now();
  bool const listens = begin >= listens_from_;
  std::vector<pollfd> waits{{wakes_.get(), POLLIN, 0}, {listens ? socket_.get() : -1, POLLIN, 0}};
  bool any_new = !listens;
  for (client const& each : clients_) {
    waits.push_back({each.at.get(), POLLIN, 0});
    waits.push_back({each.at.end_of_process(), POLLIN, 0});  // negative: poll passes over it
    any_new = any_new || (each.is.number == 0 && !each.observes);
  }
  auto const until = std::min(next_debt_is_due(), any_new ? begin + rests_for : time_point::max());
  if (::poll(waits.data(), waits.size(), poll_timeout(until, begin)) < 0) return true;
  std::uint64_t times = 0;
  if (waits[0].revents != 0 && ::read(wakes_.get(), &times, sizeof times) < 0) return true;
  if (ends_) return false;
  auto const now = std::chrono::steady_clock::now();
  bool changed = false;
  for (std::size_t i = 0; i < clients_.size(); ++i) {
    client& each = clients_[i];
    bool const has_ended = waits[2 * i + 3].revents != 0;
    if (waits[2 * i + 2].revents != 0) each.leaves = !hear(each, now, changed);
    bool const is_late = each.is.number == 0 && !each.observes && now - each.came >= introduces_within;
    changed = settle_debt(each, now) || changed;
    each.leaves = each.leaves || has_ended || is_late;
    if (!each.leaves || each.is.number == 0) continue;
    say_gone(each);
    changed = true;
  }
  std::vector<client> left;  // closed without the lock
  {
    std::lock_guard const lock{mutex_};
    auto const gone =
        std::stable_partition(clients_.begin(), clients_.end(), [](client const& c) { return !c.leaves; });
    left.assign(std::make_move_iterator(gone), std::make_move_iterator(clients_.end()));
    clients_.erase(gone, clients_.end());
  }
  left.clear();
  if (waits[1].revents != 0) take_new(now);
  answer_observers();
  if (changed) trainer_.changed();
  return true;
}

void share_server::take_new(time_point now) {
  std::optional<uid_t> refused;
  auto made = socket_.accept(refused);
  if (refused) say("refused to share bubbles with user " + std::to_string(*refused), now);
  if (!made) {
    listens_from_ = now + rests_for;  // the connection may still wait: this process has no descriptor left
    return;
  }
  if (clients_.size() >= 2 * max_workers) return;  // a closed connection tells the other end
  std::lock_guard const lock{mutex_};
  clients_.push_back({.at = std::move(*made), .is = {}, .came = now});
}

/// Hears without the lock: a message may hold descriptors, and the system may take long to close them. Returns false if
/// the other end cannot stay.
bool share_server::hear(client& from, time_point now, bool& changed) {
  for (int i = 0; i < max_messages; ++i) {
    auto const got = from.observes         ? hear_observer(from)
                     : from.is.number == 0 ? introduce(from, now, changed)
                                           : hear_worker(from, now, changed);
    if (got != connection::outcome::received) return got == connection::outcome::nothing;
  }
  return true;
}

connection::outcome share_server::hear_worker(client& from, time_point now, bool& changed) {
  report said;
  auto const got = from.at.receive(said);
  if (got != connection::outcome::received) return got;
  std::lock_guard const lock{mutex_};
  changed = changed || !said.wants_the_same(from.is.last);
  from.is.last = said;
  from.is.heard = now;
  return got;
}

connection::outcome share_server::hear_observer(client& from) {
  question asked;
  auto const got = from.at.receive(asked);
  if (got == connection::outcome::received) from.asked = asked.number;
  return got;
}

/// Returns `gone` for a process that is refused, too.
connection::outcome share_server::introduce(client& from, time_point now, bool& changed) {
  introduction said;
  auto const got = from.at.receive_greeted(said);
  if (got != connection::outcome::received) return got;
  bool const observes = said.as == introduction::observer;
  auto const known = static_cast<std::size_t>(std::count_if(clients_.begin(), clients_.end(), [&](client const& each) {
    return observes ? each.observes : each.is.number != 0;
  }));
  answer reply;
  reply.from.version = short_text<52>{LULL_VERSION};
  reply.executor = static_cast<std::uint32_t>(where_.kind);
  reply.most = observes ? max_observers : max_workers;
  reply.together = where_.together ? 1 : 0;
  reply.reserve_bytes = where_.reserve_bytes;
  reply.device = short_text<64>{where_.device};
  if (said.from.magic != reply.from.magic || said.from.number != protocol) {
    reply.what = answer::other_version;
  } else if (!observes && (said.executor != reply.executor || said.device.text() != reply.device.text())) {
    reply.what = answer::other_device;
  } else if (!observes && (!where_.together || said.together == 0)) {
    reply.what = answer::apart;
  } else if (known >= reply.most) {
    reply.what = answer::full;
  } else if (!observes) {
    reply.worker = next_number_++;
  }
  bool const welcome = reply.what == answer::welcome;
  bool const sent = from.at.send(reply, welcome && !observes ? bubbles_->descriptor_of() : -1);
  if (reply.what == answer::other_version)
    say("refused a worker of Lull " + said.from.version.text() + ": this is " LULL_VERSION, now);
  if (!welcome || !sent) return connection::outcome::gone;
  std::lock_guard const lock{mutex_};
  from.observes = observes;
  if (observes) return got;
  from.is = {.number = reply.worker, .process = from.at.other_end().process, .name = said.name.text(), .heard = now};
  say("worker " + from.is.name + " (process " + std::to_string(from.is.process) + ") shares the bubbles", now);
  changed = true;
  return got;
}

/// At most `max_lines` a second: a worker may come and go as often as it likes.
void share_server::say(std::string const& line, time_point now) {
  if (now - lines_since_ >= std::chrono::seconds{1}) {
    if (lines_ > max_lines)
      trainer_.log("dropped " + std::to_string(lines_ - max_lines) + " lines about workers that came and went");
    lines_since_ = now;
    lines_ = 0;
  }
  if (++lines_ <= max_lines) trainer_.log(line);
}

/// Without the lock, because the state has the workers in it.
void share_server::answer_observers() {
  std::string state;
  for (client& each : clients_) {
    auto const asked = std::exchange(each.asked, std::nullopt);
    if (!asked) continue;
    if (state.empty()) state = trainer_.state();
    if (auto const file = file_with(state)) each.at.send(state_told{*asked, state.size()}, file.get());
  }
}

void share_server::say_gone(client const& whom) {
  say("worker " + whom.is.name + " (process " + std::to_string(whom.is.process) + ") has gone",
      std::chrono::steady_clock::now());
  std::lock_guard const lock{mutex_};
  if (bubbles_->on_turn() == whom.is.number) bubbles_->give_turn(0);
  if (whom.owes) freed_ += whom.owes->what.bytes;  // the driver has it again
  if (gone_.size() == max_remembered) gone_.pop_front();
  gone_.push_back(whom.is);
  gone_.back().is_attached = false;
}

}  // namespace lull::attach
