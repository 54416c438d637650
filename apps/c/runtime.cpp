// SPDX-License-Identifier: Apache-2.0
#include <cstring>
#include <optional>
#include <sstream>

#include <lull/apps/c/held.hpp>
#include <lull/apps/c/options.hpp>
#include <lull/apps/registry/registry.hpp>
#include <lull/host/profile/machine_profiles.hpp>
#include <lull/host/report/bubble_writers.hpp>

namespace {

using namespace lull;
using namespace lull::c;

constexpr int gate_bits = 24;  // of a lull_bubble; the rest is the bubble's number on that gate
constexpr std::uint64_t max_gates = std::uint64_t{1} << gate_bits;  // of streams and of graphs
constexpr std::uint64_t max_bubbles = std::uint64_t{1} << (64 - gate_bits);
constexpr std::size_t max_site = 255;

bool fits(bubble_id id) { return id.bubble == 0 || (id.gate < max_gates && id.bubble < max_bubbles); }

lull_bubble packed(bubble_id id) { return id.bubble == 0 ? 0 : id.bubble << gate_bits | id.gate; }

bubble_id unpacked(lull_bubble bubble) {
  return {.gate = static_cast<std::uint32_t>(bubble & (max_gates - 1)), .bubble = bubble >> gate_bits};
}

/// As lull.h calls it. Without a default: the compiler names a mode that is missing here.
lull_mode in_c(runtime_mode mode) {
  switch (mode) {
    case runtime_mode::off:
      return LULL_MODE_OFF;
    case runtime_mode::observe:
      return LULL_MODE_OBSERVE;
    case runtime_mode::on:
      break;
  }
  return LULL_MODE_ON;
}

/// Those that were not destroyed before. Throws a refusal where a call of another thread is inside one, and all go on
/// then.
std::vector<job_table::exclusive> all_jobs(std::vector<std::uint64_t> const& handles,
                                           std::chrono::steady_clock::time_point deadline) {
  std::vector<job_table::exclusive> found;
  for (std::uint64_t const handle : handles) {
    try {
      found.push_back(ending<job_table>(handle_of<lull_job>(handle), deadline));
    } catch (refusal const& why) {
      if (why.status() != LULL_ERROR_HANDLE) throw;
    }
  }
  return found;
}

/// The executor's stream for the program's.
class trainer_stream {
 public:
  trainer_stream(held_runtime const& side, void* stream) : stream_(stream) {
    if (executor_of(*side.side).kind() != executor_kind::threads) return;
    pin_.emplace(alive<stream_table>(static_cast<lull_threads_stream*>(stream)));
    stream_ = &**pin_;
  }
  operator stream_handle() const noexcept { return stream_; }

 private:
  std::optional<stream_table::pin> pin_;
  stream_handle stream_;
};

}  // namespace

extern "C" {

std::uint32_t lull_abi(void) { return LULL_ABI; }

char const* lull_version(void) { return LULL_VERSION; }

lull_status lull_tasks(char* text, std::size_t size, std::size_t* needed) {
  return guarded("lull_tasks", [&] {
    std::ostringstream all;
    print_tasks(all, known_tasks());
    give(all.str(), text, size, needed);
  });
}

lull_status lull_create(lull_options const* options, lull_runtime** runtime) {
  return guarded("lull_create", [&] {
    require(runtime, "runtime");
    *runtime = nullptr;
    require(options, "options");
    std::uint32_t abi = 0;
    if (options->size >= sizeof options->size + sizeof abi) abi = options->abi;
    if (abi != LULL_ABI) {
      throw refusal{LULL_ERROR_ABI, "the program was compiled for ABI " + std::to_string(abi) + ", this library (" +
                                        std::string{LULL_VERSION} + ") has ABI " + std::to_string(LULL_ABI) +
                                        ": compile it with this library's lull.h"};
    }
    lull_options const asked = taken(options, "options");
    auto made = std::make_unique<held_runtime>();
    on_own_thread([&] {
      runtime_options const read = read_options(asked);
      std::optional<machine_profiles> known;
      if (asked.profile != nullptr && read.mode == runtime_mode::on) known = read_profiles(asked.profile);
      made->side = std::make_unique<lull::runtime>(read);
      made->log = read.log;
      std::string const why = known ? assume_slowdown(*made->side, *known) : "";
      if (!why.empty() && read.log) read.log("options->profile is not used: " + why);
    });
    *runtime = handle_of<lull_runtime>(runtime_table::insert(std::move(made)));
  });
}

lull_status lull_destroy(lull_runtime* runtime) {
  return guarded("lull_destroy", [&] {
    auto const deadline = deadline_after(max_leaving);  // one for all calls inside, of the runtime and of its jobs
    auto side = ending<runtime_table>(runtime, deadline);
    std::vector<job_table::exclusive> found = all_jobs(side->jobs, deadline);
    on_own_thread([&] {
      std::vector<std::unique_ptr<held_job>> ended;
      ended.reserve(found.size());
      executor_of(*side->side).adopt_thread();
      for (auto& each : found) ended.push_back(each.take());
      for (auto const& job : ended) job->hosted->cancel();
      side.take().reset();  // waits for its jobs, all together
      for (auto const& job : ended) job->hosted->end(std::chrono::steady_clock::now());
    });
  });
}

lull_status lull_get_mode(lull_runtime* runtime, lull_mode* mode) {
  return guarded("lull_get_mode", [&] {
    auto const side = alive<runtime_table>(runtime);
    require(mode, "mode");
    *mode = in_c(side->side->mode());
  });
}

lull_status lull_why_off(lull_runtime* runtime, char* text, std::size_t size, std::size_t* needed) {
  return guarded("lull_why_off", [&] {
    auto const side = alive<runtime_table>(runtime);
    give(side->side->why_off(), text, size, needed);
  });
}

lull_status lull_pause_all(lull_runtime* runtime, std::uint64_t at_most_ns) {
  return guarded("lull_pause_all", [&] {
    auto const side = alive<runtime_table>(runtime);
    if (!side->side->pause_all(nanoseconds_of(at_most_ns))) return LULL_TIMED_OUT;
    ++side->pauses;
    return LULL_OK;
  });
}

lull_status lull_resume_all(lull_runtime* runtime) {
  return guarded("lull_resume_all", [&] {
    auto const side = alive<runtime_table>(runtime);
    std::uint64_t pauses = side->pauses;
    do {
      if (pauses == 0)
        throw refusal{LULL_ERROR_STATE,
                      "nothing is paused: each lull_resume_all ends one lull_pause_all that returned LULL_OK"};
    } while (!side->pauses.compare_exchange_weak(pauses, pauses - 1));
    side->side->resume_all();
  });
}

lull_status lull_give_back(lull_runtime* runtime, std::uint64_t bytes, std::uint64_t at_most_ns, std::uint64_t* given) {
  return guarded("lull_give_back", [&] {
    auto const side = alive<runtime_table>(runtime);
    require(given, "given");
    *given = side->side->memory().give_back(bytes, nanoseconds_of(at_most_ns));
  });
}

lull_status lull_keep_reserve(lull_runtime* runtime, std::uint64_t at_most_ns, std::uint64_t* given) {
  return guarded("lull_keep_reserve", [&] {
    auto const side = alive<runtime_table>(runtime);
    require(given, "given");
    *given = side->side->memory().keep_reserve(nanoseconds_of(at_most_ns));
  });
}

lull_status lull_wait_all(lull_runtime* runtime, std::uint64_t at_most_ns) {
  return guarded("lull_wait_all", [&] {
    auto const side = alive<runtime_table>(runtime);
    return wait_in_pieces(side, at_most_ns,
                          [&](std::chrono::nanoseconds piece) { return side->side->wait_all(piece); });
  });
}

lull_status lull_get_counts(lull_runtime* runtime, lull_counts* counts) {
  return guarded("lull_get_counts", [&] {
    auto const side = alive<runtime_table>(runtime);
    runtime_counts const now = side->side->counts();
    fill(counts,
         lull_counts{.size = 0,
                     .reserved = 0,
                     .opened = now[counted::opened],
                     .launches = now[counted::launches],
                     .no_job = now[counted::no_job],
                     .too_short = now[counted::too_short],
                     .all_handed_back = now[counted::all_handed_back],
                     .nested = now[counted::nested],
                     .unmatched = now[counted::unmatched],
                     .abandoned = now[counted::abandoned],
                     .foreign_stream = now[counted::foreign_stream],
                     .captured = now[counted::captured],
                     .replayed = now[counted::replayed],
                     .not_captured = now[counted::not_captured],
                     .dropped = now[counted::dropped],
                     .records_unread = now[counted::records_unread],
                     .held_up = now[counted::held_up],
                     .groups_added = now[counted::groups_added],
                     .armed = now[counted::armed],
                     .released = now[counted::released],
                     .no_gate = now[counted::no_gate],
                     .off = now[counted::off],
                     .withheld = now[counted::withheld]},
         "counts");
  });
}

lull_status lull_report(lull_runtime* runtime, int format, char* text, std::size_t size, std::size_t* needed) {
  return guarded("lull_report", [&] {
    auto const side = alive<runtime_table>(runtime);
    if (format == 3) {
      throw refusal{
          LULL_ERROR_ARGUMENT,
          "format 3 was an SVG timeline, which Lull draws no longer: take LULL_FORMAT_TRACE, and open the text as "
          "a file at https://ui.perfetto.dev"};
    }
    auto const which = one_of<lull_format>(format, 3, "format");
    bubble_summary const sum = side->side->summary();
    auto const written = which == LULL_FORMAT_TEXT   ? bubble_text
                         : which == LULL_FORMAT_JSON ? bubble_json
                                                     : bubble_trace;
    give(written(sum), text, size, needed);
  });
}

lull_status lull_open(lull_runtime* runtime, void* stream, char const* site, lull_bubble* bubble) {
  return guarded("lull_open", [&] {
    require(bubble, "bubble");
    *bubble = 0;
    auto const side = alive<runtime_table>(runtime);
    require(site, "site");
    std::size_t const length = strnlen(site, max_site + 1);
    if (length == 0 || length > max_site) throw refusal{LULL_ERROR_ARGUMENT, "site must have 1 to 255 bytes"};
    trainer_stream const on{*side, stream};
    bubble_id const opened = side->side->open(on, lull::site{{site, length}});
    if (!fits(opened)) {
      side->side->close(opened, on);
      throw refusal{LULL_ERROR_LIMIT, "this runtime has opened too many bubbles to number them: make a new one"};
    }
    *bubble = packed(opened);
  });
}

lull_status lull_close(lull_runtime* runtime, lull_bubble bubble, void* stream) {
  return guarded("lull_close", [&] {
    auto const side = alive<runtime_table>(runtime);
    if (bubble == 0) return;
    trainer_stream const on{*side, stream};
    side->side->close(unpacked(bubble), on);
  });
}

lull_status lull_ready(lull_runtime* runtime, void* stream, int* ready) {
  return guarded("lull_ready", [&] {
    auto const side = alive<runtime_table>(runtime);
    require(ready, "ready");
    trainer_stream const on{*side, stream};
    *ready = side->side->ready(on) ? 1 : 0;
  });
}

lull_status lull_step(lull_runtime* runtime, void* stream) {
  return guarded("lull_step", [&] {
    auto const side = alive<runtime_table>(runtime);
    trainer_stream const on{*side, stream};
    side->side->step(on);
  });
}

lull_status lull_step_number(lull_runtime* runtime, void* stream, uint64_t number) {
  return guarded("lull_step_number", [&] {
    auto const side = alive<runtime_table>(runtime);
    trainer_stream const on{*side, stream};
    side->side->step(on, number);
  });
}

lull_status lull_skip_step(lull_runtime* runtime) {
  return guarded("lull_skip_step", [&] { alive<runtime_table>(runtime)->side->skip_step(); });
}

lull_status lull_bound_slowdown(lull_runtime* runtime, double max_slowdown) {
  return guarded("lull_bound_slowdown",
                 [&] { alive<runtime_table>(runtime)->side->steps().bound_slowdown(max_slowdown); });
}

lull_status lull_assume_slowdown(lull_runtime* runtime, char const* name, double slowdown) {
  return guarded("lull_assume_slowdown", [&] {
    auto const side = alive<runtime_table>(runtime);
    require(name, "name");
    side->side->steps().assume_slowdown(name, slowdown);
  });
}

lull_status lull_get_slowdown(lull_runtime* runtime, char const* name, double interval[3]) {
  return guarded("lull_get_slowdown", [&] {
    auto const side = alive<runtime_table>(runtime);
    require(name, "name");
    require(interval, "interval");
    auto const known = side->side->steps().slowdown_of(name);
    if (!known) return LULL_TIMED_OUT;
    interval[0] = known->low;
    interval[1] = known->estimate;
    interval[2] = known->high;
    return LULL_OK;
  });
}

lull_status lull_get_steps(lull_runtime* runtime, lull_steps* steps) {
  return guarded("lull_get_steps", [&] {
    auto const side = alive<runtime_table>(runtime);
    step_report const now = side->side->steps().report();
    slowdown_interval const slowdown = now.slowdown.value_or(slowdown_interval{});
    fill(steps,
         lull_steps{.size = 0,
                    .is_known = now.slowdown ? 1 : 0,
                    .begun = now.begun,
                    .timed = now.timed,
                    .total_ns = static_cast<std::uint64_t>(now.total.count()),
                    .withheld = now.withheld,
                    .chance = now.chance,
                    .slowdown = slowdown.estimate,
                    .slowdown_low = slowdown.low,
                    .slowdown_high = slowdown.high,
                    .noise = now.noise.value_or(0),
                    .max_slowdown = now.max_slowdown,
                    .steps_to_know = now.steps_to_know,
                    .halved = now.halved},
         "steps");
  });
}

}  // extern "C"
