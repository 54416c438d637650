// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstring>
#include <sstream>

#include <lull/host/c/held.hpp>
#include <lull/host/catalogue/catalogue.hpp>
#include <lull/host/report/bubble_writers.hpp>

namespace {

using namespace lull;
using namespace lull::c;

constexpr int gate_bits = 24;  // of a lull_bubble; the rest is the bubble's number on that gate
constexpr std::uint64_t most_gates = std::uint64_t{1} << gate_bits;  // with those of all graphs ever captured
constexpr std::uint64_t most_bubbles = std::uint64_t{1} << (64 - gate_bits);
constexpr std::size_t longest_site = 255;
constexpr std::chrono::seconds jobs_leave_within{3};  // a lease and a second

bool fits(bubble_id id) { return id.bubble == 0 || (id.gate < most_gates && id.bubble < most_bubbles); }

lull_bubble packed(bubble_id id) { return id.bubble == 0 ? 0 : id.bubble << gate_bits | id.gate; }

bubble_id unpacked(lull_bubble bubble) {
  return {.gate = static_cast<std::uint32_t>(bubble & (most_gates - 1)), .bubble = bubble >> gate_bits};
}

template <class Enum>
Enum one_of(std::int32_t value, std::int32_t count, char const* name) {
  if (value < 0 || value >= count) {
    throw refusal{LULL_ERROR_ARGUMENT, std::string{name} + " is " + std::to_string(value) + ": 0 to " + std::to_string(count - 1)};
  }
  return static_cast<Enum>(value);
}

int at_least(int value, int least, char const* name) {
  if (value < least) {
    throw refusal{LULL_ERROR_ARGUMENT, std::string{name} + " is " + std::to_string(value) + ": at least " + std::to_string(least)};
  }
  return value;
}

/// Of the tasks named, with a comma between two; null: of all.
std::vector<task_type> types_of(char const* names) {
  std::vector<task_type> types;
  if (names == nullptr) {
    for (task_entry const& each : catalogue()) types.push_back(each.type(option_values{each.options}));
    return types;
  }
  std::istringstream each{names};
  for (std::string name; std::getline(each, name, ',');) {
    task_request const request = parse_task(name, known_tasks());
    types.push_back(entry_of(request).type(request.values));
  }
  return types;
}

runtime_options read(lull_options const& asked) {
  runtime_options made;
  switch (one_of<lull_executor>(asked.executor, 3, "options->executor")) {
    case LULL_EXECUTOR_ANY: break;
    case LULL_EXECUTOR_THREADS: made.machine.kind = executor_kind::threads; break;
    case LULL_EXECUTOR_CUDA: made.machine.kind = executor_kind::cuda; break;
  }
  made.machine.device = at_least(asked.device, 0, "options->device");
  int const rooms = at_least(asked.rooms, -1, "options->rooms");
  if (rooms != 0) made.machine.rooms = std::max(rooms, 0);
  made.machine.processors = at_least(asked.processors, 0, "options->processors");
  if (at_least(asked.team_width, 0, "options->team_width") != 0) made.machine.team_width = asked.team_width;
  made.machine.memory_limit_bytes = asked.memory_limit_bytes;
  switch (one_of<lull_mode>(asked.mode, 4, "options->mode")) {
    case LULL_MODE_OFF: made.mode = runtime_mode::off; break;
    case LULL_MODE_OBSERVE: made.mode = runtime_mode::observe; break;
    case LULL_MODE_DEFAULT:
    case LULL_MODE_ON: made.mode = runtime_mode::on; break;
  }
  bool const at_open = one_of<lull_launch>(asked.launch, 2, "options->launch") == LULL_LAUNCH_AT_OPEN;
  made.launch = at_open ? launch_time::at_open : launch_time::at_close;
  made.tasks = types_of(asked.tasks);
  if (asked.report != nullptr) made.report = asked.report;
  if (asked.log != nullptr) {
    made.log = [log = asked.log, context = asked.log_context](std::string_view line) { log(context, std::string{line}.c_str()); };
  }
  return made;
}

/// The executor's stream for the program's.
class trainer_stream {
 public:
  trainer_stream(held_runtime const& side, void* stream) : stream_(stream) {
    if (side.kind != executor_kind::threads) return;
    pin_.emplace(alive(streams(), static_cast<lull_threads_stream*>(stream)));
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
                                        std::string{LULL_VERSION} + ") has ABI " + std::to_string(LULL_ABI)};
    }
    lull_options const asked = taken(options, "options");
    auto made = std::make_unique<held_runtime>();
    on_own_thread([&] {
      made->side = std::make_unique<lull::runtime>(read(asked));
      made->kind = made->side->machine().kind();
    });
    *runtime = handle_of<lull_runtime>(runtimes().insert(std::move(made)));
  });
}

lull_status lull_destroy(lull_runtime* runtime) {
  return guarded("lull_destroy", [&] {
    auto side = ending(runtimes(), runtime);
    on_own_thread([&] {
      side->side->machine().arrive();
      std::vector<std::unique_ptr<held_job>> ended;
      for (std::uint64_t const number : side->jobs) {
        try {
          ended.push_back(ending(jobs(), handle_of<lull_job>(number)).take());
        } catch (refusal const& why) {
          if (why.status() != LULL_ERROR_HANDLE) {  // it was destroyed before
            end_jobs(std::move(ended), jobs_leave_within);
            throw;
          }
        }
      }
      end_jobs(std::move(ended), jobs_leave_within);
      side.take().reset();
    });
  });
}

lull_status lull_get_mode(lull_runtime* runtime, lull_mode* mode) {
  return guarded("lull_get_mode", [&] {
    auto const side = alive(runtimes(), runtime);
    require(mode, "mode");
    switch (side->side->mode()) {
      case runtime_mode::off: *mode = LULL_MODE_OFF; break;
      case runtime_mode::observe: *mode = LULL_MODE_OBSERVE; break;
      case runtime_mode::on: *mode = LULL_MODE_ON; break;
    }
  });
}

lull_status lull_quiet(lull_runtime* runtime, std::uint64_t at_most_ns) {
  return guarded("lull_quiet", [&] {
    auto const side = alive(runtimes(), runtime);
    if (!side->side->quiet(nanoseconds_of(at_most_ns))) return LULL_TIMED_OUT;
    std::lock_guard const lock{side->mutex};
    ++side->quiets;
    return LULL_OK;
  });
}

lull_status lull_release(lull_runtime* runtime) {
  return guarded("lull_release", [&] {
    auto const side = alive(runtimes(), runtime);
    {
      std::lock_guard const lock{side->mutex};
      if (side->quiets == 0) throw refusal{LULL_ERROR_STATE, "there is no quiet to end"};
      --side->quiets;
    }
    side->side->release();
  });
}

lull_status lull_drain(lull_runtime* runtime, std::uint64_t at_most_ns) {
  return guarded("lull_drain", [&] {
    auto const side = alive(runtimes(), runtime);
    return wait_in_pieces(side, at_most_ns, [&](std::chrono::nanoseconds piece) { return side->side->drain(piece); });
  });
}

lull_status lull_get_counts(lull_runtime* runtime, lull_counts* counts) {
  return guarded("lull_get_counts", [&] {
    auto const side = alive(runtimes(), runtime);
    runtime_counts const now = side->side->counts();
    fill(counts,
         lull_counts{.size = 0,
                     .reserved = 0,
                     .opened = now.opened,
                     .launches = now.launches,
                     .no_job = now.no_job,
                     .too_short = now.too_short,
                     .fruitless = now.fruitless,
                     .nested = now.nested,
                     .unmatched = now.unmatched,
                     .abandoned = now.abandoned,
                     .foreign_stream = now.foreign,
                     .captured = now.captured,
                     .replayed = now.replayed,
                     .ungraphed = now.ungraphed,
                     .dropped = now.dropped},
         "counts");
  });
}

lull_status lull_report(lull_runtime* runtime, int format, char* text, std::size_t size, std::size_t* needed) {
  return guarded("lull_report", [&] {
    auto const side = alive(runtimes(), runtime);
    int const which = one_of<int>(format, 4, "format");
    bubble_summary const sum = side->side->summary();
    switch (static_cast<lull_format>(which)) {
      case LULL_FORMAT_TEXT: return give(bubble_text(sum), text, size, needed);
      case LULL_FORMAT_JSON: return give(bubble_json(sum), text, size, needed);
      case LULL_FORMAT_TRACE: return give(bubble_trace(sum), text, size, needed);
      case LULL_FORMAT_SVG: return give(bubble_timeline(sum), text, size, needed);
    }
  });
}

lull_status lull_open(lull_runtime* runtime, void* stream, char const* site, lull_bubble* bubble) {
  return guarded("lull_open", [&] {
    require(bubble, "bubble");
    *bubble = 0;
    auto const side = alive(runtimes(), runtime);
    require(site, "site");
    std::size_t const length = strnlen(site, longest_site + 1);
    if (length == 0 || length > longest_site) throw refusal{LULL_ERROR_ARGUMENT, "site must have 1 to 255 bytes"};
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
    auto const side = alive(runtimes(), runtime);
    if (bubble == 0) return;
    trainer_stream const on{*side, stream};
    side->side->close(unpacked(bubble), on);
  });
}

lull_status lull_ready(lull_runtime* runtime, void* stream, int* ready) {
  return guarded("lull_ready", [&] {
    auto const side = alive(runtimes(), runtime);
    require(ready, "ready");
    trainer_stream const on{*side, stream};
    *ready = side->side->ready(on) ? 1 : 0;
  });
}

}  // extern "C"
