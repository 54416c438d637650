// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstring>
#include <iterator>
#include <utility>

#include <lull/apps/c/held.hpp>
#include <lull/apps/registry/registry.hpp>
#include <lull/host/cuda/pool_memory.hpp>
#include <lull/host/solo/checkpoints.hpp>

namespace {

using namespace lull;
using namespace lull::c;

constexpr std::size_t max_name = 255;
constexpr std::chrono::nanoseconds between_saves = std::chrono::seconds{60};  // where none are asked for

/// What the calling thread has entered, and not left.
std::vector<std::unique_ptr<job_memory::scope>>& scopes() {
  job_memory::of_this_thread();  // made before them, so it goes after them
  thread_local std::vector<std::unique_ptr<job_memory::scope>> entered;
  return entered;
}

/// The asked name, or the one that a job has where none is asked for.
std::string named(std::string own, char const* asked) {
  if (asked == nullptr) return own;
  std::size_t const length = std::strlen(asked);
  if (length == 0 || length > max_name) throw refusal{LULL_ERROR_ARGUMENT, "options->name must have 1 to 255 bytes"};
  return asked;
}

graph_task graph_asked(void* graph, lull_graph_options const& asked) {
  graph_task work{.graph = static_cast<CUgraph_st*>(graph),
                  .steps = asked.steps,
                  .priority = asked.priority,
                  .is_fed = asked.is_fed != 0};
  require_zero(asked.reserved, "options->reserved");
  if (asked.segment_ns != 0) work.segment = nanoseconds_of(asked.segment_ns);
  work.node_limit =
      asked.node_limit_ns != 0 ? nanoseconds_of(asked.node_limit_ns) : std::max(work.node_limit, work.segment);
  if (asked.no_hint != 0) work.hint = length_hint::off;
  if (asked.memory != nullptr) work.memory = *alive(asked.memory);
  work.may_go_back = asked.may_go_back != 0;
  work.name = named(work.name, asked.name);
  return work;
}

/// Until the job is over.
lull_status waited(job_table::pin const& job, std::uint64_t at_most_ns) {
  return wait_in_pieces(job, at_most_ns, [&](auto piece) { return job->hosted->wait(piece); });
}

/// By job_state.
constexpr lull_job_state states_in_c[] = {LULL_JOB_QUEUED,   LULL_JOB_PLACED, LULL_JOB_EVICTED,   LULL_JOB_PAUSED,
                                          LULL_JOB_FINISHED, LULL_JOB_FAILED, LULL_JOB_CANCELLED, LULL_JOB_OFF};
static_assert(std::size(states_in_c) == static_cast<std::size_t>(job_state::off) + 1);

void require_finished(held_job const& job) {
  job_state const state = job.hosted->progress().state;
  if (state != job_state::finished || !job.hosted->over())
    throw refusal{LULL_ERROR_STATE, std::string{"the job is "} + name_of(state) + ": wait until it has finished"};
}

bool never_runs(held_job const& job) { return job.hosted->progress().state == job_state::off; }

/// Those that were destroyed are forgotten from time to time.
void make_room(std::vector<lull_job*>& known) {
  if (known.size() == known.capacity()) std::erase_if(known, [](lull_job* job) { return !job_table::find(job); });
  known.reserve(known.size() + 1);
}

/// A job's checkpoints, and the name that they have: another's only when no other job can write the file.
struct named_checkpoints {
  std::shared_ptr<checkpoint_name const> name;
  checkpoints saves;
};

/// Of a task that is prepared. Null: it is not to be saved.
std::shared_ptr<job_saver> saver_of(held_job& job, task_request const& request, task_owner& owner,
                                    std::string const& name, lull_job_options const& asked) {
  if (asked.checkpoint == nullptr) return nullptr;
  std::chrono::nanoseconds every = between_saves;
  if (asked.checkpoint_every_ns == -1) every = std::chrono::nanoseconds::max();  // at its end alone
  if (asked.checkpoint_every_ns > 0) every = std::chrono::nanoseconds{asked.checkpoint_every_ns};
  bool const is_given = asked.name != nullptr;
  auto const as =
      std::make_shared<checkpoint_name const>(asked.checkpoint, name, is_given ? if_taken::refuse : if_taken::number);
  if (!is_given) job.saved_as = as;
  auto const made = std::make_shared<named_checkpoints>(
      as, checkpoints{as->folder(), every, true, as->name(), request, owner, *job.executor});
  return {made, &made->saves};
}

/// What a task is made of: read, checked and on the machine.
hosted_task prepared(held_job& job, task_request const& request, lull_job_options const& asked) {
  hosted_task made;
  made.owner = entry_of(request).make(request.values);
  made.owner->check_outputs();
  job_need const need{request.name, made.owner->needs(job.executor->kind())};
  check_memory({&need, 1}, *job.executor);
  auto const memory = std::make_shared<job_memory>();
  {
    job_memory::scope const its{memory};
    made.owner->prepare(*job.executor);
  }
  made.job = made.owner->describe();
  made.job.name = named(made.job.name, asked.name);
  made.job.priority = asked.priority;
  made.job.blocks_per_processor = asked.blocks_per_processor;
  if (made.job.may_go_back = made.owner->may_give_way(); made.job.may_go_back) made.job.memory = memory;
  made.saves = saver_of(job, request, *made.owner, made.job.name, asked);
  made.another = [request] { return entry_of(request).make(request.values); };
  return made;
}

/// A job that never runs.
hosted_task unrun(std::string name, int priority) {
  return {.job = {.type = {}, .functor = {}, .name = std::move(name), .priority = priority}};
}

/// The body of a submission: `make(job, runs)` makes what is submitted, for a job that never runs where the mode is not
/// on. Where it fails nothing is left.
template <class Make>
lull_status submitted(char const* call, lull_runtime* runtime, lull_job** handle, Make make) noexcept {
  return guarded(call, [&] {
    lull_job*& made = cleared(handle, "job");
    auto const side = alive(runtime);
    executor& on = executor_of(*side->side);
    bool const runs = side->side->mode() == runtime_mode::on;
    std::optional<device_guard> here;
    if (runs) here.emplace(on);
    auto job = std::make_unique<held_job>(held_job{.side = runtime, .executor = &on});
    hosted_task what = make(*job, runs);
    std::lock_guard const lock{side->mutex};
    make_room(side->jobs);
    job->hosted = std::make_unique<hosted_job>(on, std::move(what), side->log);
    job->hosted->submit([&](job_description described) { return side->side->submit(std::move(described)); });
    job->hosted->save_by_thread();
    side->jobs.push_back(made = job_table::insert(std::move(job)));
  });
}

}  // namespace

extern "C" {

lull_status lull_submit(lull_runtime* runtime, char const* task, lull_job_options const* options, lull_job** job) {
  return submitted(__func__, runtime, job, [&](held_job& made, bool runs) {
    require(task, "task");
    lull_job_options const asked = options == nullptr ? lull_job_options{} : taken(options, "options");
    require_zero(asked.reserved, "options->reserved");
    checked(asked.checkpoint_every_ns, asked.checkpoint_every_ns >= -1, "options->checkpoint_every_ns",
            "it must be -1 or more");
    at_least(asked.blocks_per_processor, 0, "options->blocks_per_processor");
    task_request const request = parse_task(task, known_tasks(), library_task);
    made.is_task = true;
    return runs ? prepared(made, request, asked) : unrun(named(request.name, asked.name), asked.priority);
  });
}

lull_status lull_submit_graph(lull_runtime* runtime, void* graph, lull_graph_options const* options, lull_job** job) {
  return submitted(__func__, runtime, job, [&](held_job& made, bool runs) {
    require(graph, "graph");
    require(options, "options");
    graph_task const work = graph_asked(graph, taken(options, "options"));
    made.is_fed = work.is_fed;
    if (!runs) return unrun(work.name, work.priority);
    return hosted_task{.job = describe(*made.executor, work, &made.cut.emplace())};
  });
}

lull_status lull_graph_stream(lull_runtime* runtime, void** stream) {
  return guarded(__func__, [&] {
    void*& made = cleared(stream, "stream");
    made = graph_stream(*alive(runtime)->side);
  });
}

void* lull_pool_allocate(std::ptrdiff_t bytes, std::int32_t device, void*) {
  return bytes > 0 ? allocate_for_pool(device, static_cast<std::size_t>(bytes)) : nullptr;
}

void lull_pool_free(void* memory, std::size_t, std::int32_t device, void*) { release_from_pool(memory, device); }

lull_status lull_memory_create(lull_memory** memory) {
  return guarded_make(__func__, memory, "memory",
                      [] { return std::make_unique<held_memory>(std::make_shared<job_memory>()); });
}

lull_status lull_memory_enter(lull_memory* memory) {
  return guarded(__func__, [&] {
    if (memory != nullptr) {
      scopes().push_back(std::make_unique<job_memory::scope>(*alive(memory)));
    } else if (scopes().empty()) {
      throw refusal{LULL_ERROR_STATE, "this thread has entered no memory that it has not left"};
    } else {
      scopes().pop_back();
    }
  });
}

lull_status lull_memory_destroy(lull_memory* memory) { return guarded_end(__func__, memory); }

lull_status lull_job_hold(lull_job* job, std::uint64_t at_most_ns) {
  return guarded(__func__, job, [&](auto& one) {
    return wait_in_pieces(one, at_most_ns, [&](auto piece) { return one->hosted->current_job().hold(piece); });
  });
}

lull_status lull_job_let_go(lull_job* job) {
  return guarded(__func__, job, [](auto& one) { one->hosted->current_job().let_go(); });
}

lull_status lull_job_feed(lull_job* job, std::uint64_t fed) {
  return guarded(__func__, job, [&](auto& one) {
    if (one->is_task) throw refusal{LULL_ERROR_STATE, "the job is a task, which feeds itself"};
    if (!one->is_fed) throw refusal{LULL_ERROR_STATE, "the graph is not fed: set options->is_fed when it is submitted"};
    if (never_runs(*one)) return;
    device_guard const here{*one->executor};
    patient_copies const however_late;  // a late copy is no error of a step that is fed
    one->hosted->current_job().feed(fed);
  });
}

lull_status lull_job_get_status(lull_job* job, lull_job_status* status) {
  return guarded(__func__, job, [&](auto& one) {
    job_progress const now = one->hosted->progress();
    fill(status,
         lull_job_status{.size = 0,
                         .state = states_in_c[static_cast<std::size_t>(now.state)],
                         .phases = now.phases,
                         .round = now.at.round,
                         .step = now.at.step,
                         .failure = static_cast<std::int32_t>(now.why),
                         .items = now.items},
         "status");
  });
}

lull_status lull_job_pause(lull_job* job) {
  return guarded(__func__, job, [](auto& one) { one->hosted->pause(); });
}

lull_status lull_job_resume(lull_job* job) {
  return guarded(__func__, job, [](auto& one) { one->hosted->resume(); });
}

lull_status lull_job_cancel(lull_job* job) {
  return guarded(__func__, job, [](auto& one) { one->hosted->cancel(); });
}

lull_status lull_job_wait(lull_job* job, std::uint64_t at_most_ns) {
  return guarded(__func__, job, [&](auto& one) { return waited(one, at_most_ns); });
}

lull_status lull_job_result(lull_job* job, char* text, std::size_t size, std::size_t* needed) {
  return guarded(__func__, job, [&](auto& one) {
    if (one->cut) {
      device_guard const here{*one->executor};
      give(text_of(*one->cut) + '\n' + text_of(closed_pieces(*one->cut)) + '\n', text, size, needed);
    } else if (never_runs(*one)) {
      give("", text, size, needed);
    } else {
      require_finished(*one);
      give(one->hosted->result(), text, size, needed);
    }
  });
}

lull_status lull_job_verify(lull_job* job, int* ok, char* text, std::size_t size, std::size_t* needed) {
  return guarded(__func__, job, [&](auto& one) {
    require(ok, "ok");
    if (!one->is_task) throw refusal{LULL_ERROR_STATE, "the job is a graph: nothing here knows its result"};
    verification found{false, "the job is off: it never ran"};
    if (!never_runs(*one)) {
      require_finished(*one);
      verification const* const judged = one->hosted->verify();
      if (judged == nullptr) {
        throw refusal{LULL_ERROR_STATE,
                      "what the task wrote is no longer there, and was more than is kept for this: verify the job "
                      "before you ask for its result"};
      }
      found = *judged;
    }
    *ok = found.ok ? 1 : 0;
    give(found.message, text, size, needed);
  });
}

lull_status lull_job_destroy(lull_job* job, std::uint64_t at_most_ns) {
  return guarded(__func__, [&] {
    auto one = alive(job);
    auto const side = alive(one->side);  // arrays go before their machine
    one->hosted->cancel();
    if (waited(one, at_most_ns) == LULL_TIMED_OUT) return LULL_TIMED_OUT;
    one.let_go();
    device_guard const here{executor_of(*side->side)};
    ending(job).take().reset();
    return LULL_OK;
  });
}

}  // extern "C"
