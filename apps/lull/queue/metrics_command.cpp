// SPDX-License-Identifier: Apache-2.0
// The figures of a queue for Prometheus, once or again and again.
#include <algorithm>
#include <chrono>
#include <ctime>
#include <optional>
#include <ostream>
#include <string>
#include <thread>
#include <utility>

#include <lull/apps/lull/job_spec.hpp>
#include <lull/apps/lull/queue/metrics_text.hpp>
#include <lull/apps/lull/queue/open_queue.hpp>
#include <lull/apps/lull/queue/settings.hpp>
#include <lull/apps/lull/stop_request.hpp>
#include <lull/host/error.hpp>
#include <lull/host/io/atomic_file.hpp>
#include <lull/host/io/units.hpp>
#include <lull/host/queue/open_store.hpp>

namespace lull {

namespace {

using clock = std::chrono::steady_clock;
constexpr std::chrono::seconds min_every{1};
constexpr std::chrono::milliseconds looks_at_stop{20};

void put(std::string const& text, std::optional<std::string> const& file, std::ostream& out) {
  if (file) {
    write_file(*file, text);
  } else {
    out << text << std::flush;
  }
}

}  // namespace

exit_code queue_metrics_command(metrics_settings const& asked, stop_request const& stop, std::ostream& out) {
  std::optional<std::chrono::nanoseconds> every;
  if (asked.every) every = parse_duration(*asked.every);
  if (every && *every < min_every) throw usage_error{"--every " + *asked.every + ": it is 1s at least"};
  if (asked.out) check_writable("--out ", *asked.out);
  std::string const address = queue_address(asked.queue);
  auto const store = queue::open_store(address);
  queue::queue_survey survey{*store};
  auto const agents_every = store->lease() / 8;
  clock::time_point next_agents{};
  clock::time_point next{};
  bool is_first = true;
  bool is_in_trouble = false;
  while (!stop.requested() && out) {
    auto const now = clock::now();
    try {
      if (now >= next_agents) {
        survey.look_at_agents(now);
        next_agents = now + agents_every;
      }
      if (now >= next && survey.knows_agents(now)) {
        auto const time_s = static_cast<std::int64_t>(std::time(nullptr));
        put(metrics_text(survey.look(now, time_s), queue::shown_address(address), time_s), asked.out, out);
        if (!every) return exit_code::done;
        next = now + *every;
        is_first = false;
        if (std::exchange(is_in_trouble, false)) say("the queue's figures are written again");
      }
    } catch (error const& problem) {  // such as a server that is away, or a full disk
      if (is_first) throw;
      if (!std::exchange(is_in_trouble, true))
        say(std::string{"the queue's figures cannot be written now, and are tried again: "} + problem.what());
      next = next_agents = now + *every;
    }
    std::this_thread::sleep_for(looks_at_stop);
  }
  return stop.requested() ? exit_code::interrupted : exit_code::done;
}

}  // namespace lull
