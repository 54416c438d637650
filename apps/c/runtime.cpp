// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <cstring>
#include <optional>
#include <sstream>
#include <string>

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

// lull.h calls them so, after LULL_MODE_DEFAULT.
static_assert(static_cast<int>(runtime_mode::off) + 1 == LULL_MODE_OFF &&
              static_cast<int>(runtime_mode::observe) + 1 == LULL_MODE_OBSERVE &&
              static_cast<int>(runtime_mode::on) + 1 == LULL_MODE_ON);

/// The executor's stream for the program's.
class trainer_stream {
 public:
  trainer_stream(held_runtime const& side, void* stream) : stream_(stream) {
    if (executor_of(*side.side).kind() != executor_kind::threads) return;
    pin_.emplace(alive(static_cast<lull_threads_stream*>(stream)));
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
  return guarded(__func__, [&] {
    std::ostringstream all;
    print_tasks(all, known_tasks());
    give(all.str(), text, size, needed);
  });
}

lull_status lull_create(lull_options const* options, lull_runtime** runtime) {
  return guarded(__func__, [&] {
    lull_runtime*& handle = cleared(runtime, "runtime");
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
    handle = runtime_table::insert(std::move(made));
  });
}

lull_status lull_destroy(lull_runtime* runtime) {
  return guarded(__func__, [&] {
    auto const deadline = deadline_after(max_leaving);  // one for all calls inside, of the runtime and of its jobs
    auto side = or_refused(runtime_table::end(runtime, deadline), runtime);
    std::vector<job_table::exclusive> found;
    for (lull_job const* const each : side->jobs) {
      if (auto job = job_table::end(each, deadline)) found.push_back(std::move(job));
    }
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

lull_status lull_get_mode(lull_runtime* runtime, lull_mode* mode, char* text, std::size_t size, std::size_t* needed) {
  return guarded(__func__, runtime, [&](auto& side) {
    require(mode, "mode");
    *mode = static_cast<lull_mode>(1 + static_cast<int>(side->side->mode()));
    if (text != nullptr || needed != nullptr) give(side->side->why_off(), text, size, needed);
  });
}

lull_status lull_pause_all(lull_runtime* runtime, std::uint64_t at_most_ns) {
  return guarded(__func__, runtime, [&](auto& side) {
    if (!side->side->pause_all(nanoseconds_of(at_most_ns))) return LULL_TIMED_OUT;
    ++side->pauses;
    return LULL_OK;
  });
}

lull_status lull_resume_all(lull_runtime* runtime) {
  return guarded(__func__, runtime, [&](auto& side) {
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
  return guarded(__func__, runtime, [&](auto& side) {
    require(given, "given");
    auto const at_most = nanoseconds_of(at_most_ns);
    runtime_memory memory = side->side->memory();
    *given = bytes == 0 ? memory.keep_reserve(at_most) : memory.give_back(bytes, at_most);
  });
}

lull_status lull_wait_all(lull_runtime* runtime, std::uint64_t at_most_ns) {
  return guarded(__func__, runtime, [&](auto& side) {
    return wait_in_pieces(side, at_most_ns,
                          [&](std::chrono::nanoseconds piece) { return side->side->wait_all(piece); });
  });
}

lull_status lull_get_counts(lull_runtime* runtime, lull_counts* counts) {
  return guarded(__func__, runtime, [&](auto& side) {
    runtime_counts const now = side->side->counts();
    using enum counted;  // in the order of lull.h
    fill(counts,
         lull_counts{0,
                     0,
                     now[opened],
                     now[launches],
                     now[no_job],
                     now[too_short],
                     now[all_handed_back],
                     now[nested],
                     now[unmatched],
                     now[abandoned],
                     now[foreign_stream],
                     now[captured],
                     now[replayed],
                     now[not_captured],
                     now[dropped],
                     now[records_unread],
                     now[held_up],
                     now[groups_added],
                     now[armed],
                     now[released],
                     now[no_gate],
                     now[off],
                     now[withheld]},
         "counts");
    static_assert(sizeof(lull_counts) == sizeof(std::uint64_t) * (1 + counted_kinds));
  });
}

lull_status lull_report(lull_runtime* runtime, int format, char* text, std::size_t size, std::size_t* needed) {
  return guarded(__func__, runtime, [&](auto& side) {
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
  return guarded(__func__, [&] {
    lull_bubble& made = cleared(bubble, "bubble");
    auto const side = alive(runtime);
    require(site, "site");
    std::size_t const length = strnlen(site, max_site + 1);
    if (length == 0 || length > max_site) throw refusal{LULL_ERROR_ARGUMENT, "site must have 1 to 255 bytes"};
    trainer_stream const on{*side, stream};
    bubble_id const opened = side->side->open(on, lull::site{{site, length}});
    if (!fits(opened)) {
      side->side->close(opened, on);
      throw refusal{LULL_ERROR_LIMIT, "this runtime has opened too many bubbles to number them: make a new one"};
    }
    made = packed(opened);
  });
}

lull_status lull_close(lull_runtime* runtime, lull_bubble bubble, void* stream) {
  return guarded(__func__, runtime, [&](auto& side) {
    if (bubble == 0) return;
    trainer_stream const on{*side, stream};
    side->side->close(unpacked(bubble), on);
  });
}

lull_status lull_ready(lull_runtime* runtime, void* stream, int* ready) {
  return guarded(__func__, runtime, [&](auto& side) {
    require(ready, "ready");
    trainer_stream const on{*side, stream};
    *ready = side->side->ready(on) ? 1 : 0;
  });
}

lull_status lull_step(lull_runtime* runtime, void* stream, std::uint64_t number, double work) {
  return guarded(__func__, runtime, [&](auto& side) {
    if (!(work >= 0 && std::isfinite(work)))
      throw usage_error{"work is " + std::to_string(work) +
                        ": it must be 0 or more, in tokens or another unit of a step"};
    if (number == LULL_SKIP_STEP) return side->side->skip_step();
    trainer_stream const on{*side, stream};
    side->side->step(on, number == LULL_NEXT_STEP ? std::nullopt : std::optional{number}, work);
  });
}

lull_status lull_bound_slowdown(lull_runtime* runtime, double max_slowdown) {
  return guarded(__func__, runtime, [&](auto& side) { side->side->steps().bound_slowdown(max_slowdown); });
}

lull_status lull_assume_slowdown(lull_runtime* runtime, char const* name, double slowdown) {
  return guarded(__func__, runtime, [&](auto& side) {
    require(name, "name");
    side->side->steps().assume_slowdown(name, slowdown);
  });
}

lull_status lull_get_steps(lull_runtime* runtime, char const* name, lull_steps* steps) {
  return guarded(__func__, runtime, [&](auto& side) {
    step_report const now = side->side->steps().report();
    auto const known = name == nullptr ? now.slowdown : side->side->steps().slowdown_of(name);
    slowdown_interval const slowdown = known.value_or(slowdown_interval{});
    fill(steps,
         lull_steps{.size = 0,
                    .is_known = known ? 1 : 0,
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
                    .halved = now.halved,
                    .slowdown_cap = now.slowdown_cap},
         "steps");
  });
}

}  // extern "C"
