// SPDX-License-Identifier: Apache-2.0
// What users do to jobs.
#include <ostream>
#include <string>

#include <lull/apps/lull/queue/open_queue.hpp>
#include <lull/apps/lull/queue/settings.hpp>
#include <lull/host/error.hpp>
#include <lull/host/queue/attempt_files.hpp>
#include <lull/host/queue/store.hpp>

namespace lull {

namespace {

using queue::entry_state;
using queue::job_entry;

constexpr int max_tries = 100;  // while agents change the job, too

/// Returns what the job becomes. Throws usage_error where that makes no sense.
job_entry after(job_action what, job_entry const& now) {
  job_entry next = now;
  std::string const is = "job " + now.id + " is " + std::string{name_of(now.state)} + ": ";
  switch (what) {
    case job_action::cancel:
      if (is_over(now.state)) throw usage_error{is + "it cannot be cancelled"};
      next.state = entry_state::cancelled;
      return next;
    case job_action::hold:
      if (is_over(now.state) || now.state == entry_state::held) throw usage_error{is + "it cannot be held"};
      next.state = entry_state::held;
      return next;
    case job_action::release:
      if (now.state != entry_state::held) throw usage_error{is + "only one that is held can be released"};
      break;
    case job_action::retry:
      if (!is_over(now.state) || now.state == entry_state::done)
        throw usage_error{is + "only one that is failed, refused or cancelled can be tried again"};
      break;
  }
  next.state = now.attempt == 0 ? entry_state::queued : entry_state::saved;
  next.failures = next.deaths = 0;
  return next;
}

constexpr char const* reason_of(job_action what) {
  switch (what) {
    case job_action::cancel:
      return "cancelled by its user";
    case job_action::hold:
      return "held by its user";
    case job_action::release:
      return "released by its user";
    case job_action::retry:
      return "tried again by its user";
  }
  return "";
}

void act(queue::job_store& store, job_action what, std::string const& id) {
  for (int i = 0; i < max_tries; ++i) {
    job_entry const now = store.entry(id);
    if (store.change(now, after(what, now), {.reason = reason_of(what)}, queue::durability::durable)) return;
  }
  throw limit_error{"job " + id + " changes all the time: try again"};
}

}  // namespace

exit_code job_action_command(job_action what, job_settings const& asked, std::ostream& out) {
  auto const store = open_queue(asked.queue);
  for (std::string const& id : asked.ids) {
    if (asked.fresh && is_over(store->entry(id).state)) queue::forget_checkpoints(store->folder(id));
    act(*store, what, id);
    out << id << ": " << reason_of(what) << '\n';
  }
  return exit_code::done;
}

}  // namespace lull
