// SPDX-License-Identifier: Apache-2.0
#include <lull/host/threads/executor.hpp>

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <cstring>
#include <limits>
#include <new>
#include <thread>
#include <utility>
#include <vector>

#include <lull/device/threads_world.hpp>
#include <lull/host/error.hpp>
#include <lull/host/threads/worker.hpp>

namespace lull {

namespace {

constexpr std::align_val_t line{128};
constexpr std::uint64_t max_wait_ns = 50'000;  // how long a closing edge waits for blocks to begin to leave

using w = threads_world;

/// The moments of an observed bubble, and how many workers of a bubble have not left.
class threads_mark final : public bubble_mark {
 public:
  void opening() {
    std::lock_guard const lock{mutex_};
    opened_ns_ = closed_ns_ = 0;
  }
  void opened() {
    std::lock_guard const lock{mutex_};
    opened_ns_ = w::now_ns();
  }
  void closed() {
    std::lock_guard const lock{mutex_};
    closed_ns_ = w::now_ns();
  }
  void worker_comes() {
    std::lock_guard const lock{mutex_};
    ++workers_;
  }
  void worker_left() {
    std::lock_guard const lock{mutex_};
    --workers_;
  }
  bool workers_left() const {
    std::lock_guard const lock{mutex_};
    return workers_ == 0;
  }
  std::optional<std::chrono::nanoseconds> length() const {
    std::lock_guard const lock{mutex_};
    if (closed_ns_ == 0) return std::nullopt;
    return std::chrono::nanoseconds{closed_ns_ - opened_ns_};
  }

 private:
  mutable std::mutex mutex_;
  std::uint64_t opened_ns_ = 0;
  std::uint64_t closed_ns_ = 0;
  int workers_ = 0;
};

/// Shared, because the stream may reach it after the executor has ended.
class threads_moment final : public stream_moment {
 public:
  std::shared_ptr<std::atomic<std::uint64_t>> ns() const { return ns_; }

 private:
  std::shared_ptr<std::atomic<std::uint64_t>> const ns_ =
      std::make_shared<std::atomic<std::uint64_t>>(0);  // 0: not yet
};

/// Waits like a stream for a word: until the opening edge or the host has let the workers of this bubble start.
void wait_for_opening(worker_params const& params) {
  while (!has_reached(opening_numbers::of(w::load<order::acquire, scope::system>(params.gate.opening->numbers)).go,
                      static_cast<std::uint32_t>(params.bubble))) {
    std::this_thread::sleep_for(std::chrono::microseconds{10});
  }
}

bool is_aligned(void const* at, std::size_t to) { return reinterpret_cast<std::uintptr_t>(at) % to == 0; }

/// Writes to the machine's memory, word by word, because blocks may read the same words.
void store_words(void* to, void const* from, std::size_t bytes) {
  if (!is_aligned(to, bytes == sizeof(std::uint32_t) ? sizeof(std::uint32_t)
                                                     : sizeof(std::uint64_t))) {  // not a word of the protocol
    std::memcpy(to, from, bytes);
    return;
  }
  auto* out = static_cast<unsigned char*>(to);
  auto const* in = static_cast<unsigned char const*>(from);
  for (; bytes >= sizeof(std::uint64_t); bytes -= sizeof(std::uint64_t)) {
    std::uint64_t word;
    std::memcpy(&word, in, sizeof word);
    w::store<order::relaxed, scope::system>(*reinterpret_cast<std::uint64_t*>(out), word);
    in += sizeof word;
    out += sizeof word;
  }
  if (bytes == sizeof(std::uint32_t)) {
    std::uint32_t word;
    std::memcpy(&word, in, sizeof word);
    w::store<order::relaxed, scope::system>(*reinterpret_cast<std::uint32_t*>(out), word);
  } else if (bytes != 0) {
    std::memcpy(out, in, bytes);
  }
}

/// Reads the machine's memory, likewise.
void load_words(void* to, void const* from, std::size_t bytes) {
  if (!is_aligned(from, sizeof(std::uint64_t))) {
    std::memcpy(to, from, bytes);
    return;
  }
  auto* out = static_cast<unsigned char*>(to);
  auto* in = static_cast<unsigned char*>(const_cast<void*>(from));
  for (; bytes >= sizeof(std::uint64_t); bytes -= sizeof(std::uint64_t)) {
    std::uint64_t const word = w::load<order::relaxed, scope::system>(*reinterpret_cast<std::uint64_t*>(in));
    std::memcpy(out, &word, sizeof word);
    in += sizeof word;
    out += sizeof word;
  }
  if (bytes != 0) std::memcpy(out, in, bytes);
}

/// Copies on a stream's thread, so that a missing wait shows here, too.
class threads_copy_lane final : public copy_lane {
 public:
  threads_copy_lane() : own_(std::make_unique<threads_stream>()), stream_(*own_) {}
  explicit threads_copy_lane(threads_stream& stream) : stream_(stream) {}
  ~threads_copy_lane() override { stream_.synchronize(); }
  void copy_in(void* to, void const* from, std::size_t bytes) override {
    stream_.enqueue([to, from, bytes] { store(to, from, bytes); });
  }
  void copy_out(void* to, void const* from, std::size_t bytes) override {
    stream_.enqueue([to, from, bytes] { load_words(to, from, bytes); });
  }
  bool done() override { return stream_.idle(); }

 private:
  static void store(void* to, void const* from, std::size_t bytes) {
    if (bytes != sizeof(std::uint64_t) || !is_aligned(to, bytes)) return store_words(to, from, bytes);
    std::uint64_t word = 0;
    std::memcpy(&word, from, sizeof word);
    // release: what was written before, to a block that finds the word; as executor::publish
    w::store<order::release, scope::system>(*static_cast<std::uint64_t*>(to), word);
  }

  std::unique_ptr<threads_stream> const own_;  // null: the stream is the executor's
  threads_stream& stream_;
};

threads_stream& stream_of(stream_handle stream) { return *static_cast<threads_stream*>(stream); }

int default_processors(int asked) {
  int const cores = static_cast<int>(std::max(1U, std::thread::hardware_concurrency()));
  return asked > 0 ? std::min(asked, 256) : cores;
}

}  // namespace

threads_executor::threads_executor(executor_options const& options)
    : reserve_bytes_(options.reserve_bytes),
      account_(options.memory_limit_bytes),
      pool_(default_processors(options.processors), options.team_width) {}

threads_executor::~threads_executor() = default;

placement threads_executor::place() const {
  return {.processors = pool_.blocks(), .owned_processors = pool_.blocks(), .how = "CPU threads"};
}

worker_grid threads_executor::load(worker_kernel const& kernel, int) {
  if (!kernel)
    throw usage_error{"this side task was built without code for the threads executor: name it in lull_side_task()"};
  auto const blocks = static_cast<std::uint64_t>(pool_.blocks());
  return {.blocks = blocks};
}

stream_found threads_executor::look_at(stream_handle stream, thread_state) {
  if (auto const capture = capture_of(stream)) return {stream_found::captured, *capture};
  return {.is = stream_found::plain, .id = stream_of(stream).id()};
}

mapped_memory threads_executor::map(std::size_t bytes) {
  void* const memory = allocate(bytes);
  return {memory, memory};
}

void threads_executor::unmap(mapped_memory memory, std::size_t) noexcept { release(memory.host); }

void threads_executor::write(void* to, void const* from, std::size_t bytes) { store_words(to, from, bytes); }

void threads_executor::publish(std::uint64_t* word, std::uint64_t value) {
  w::store<order::release, scope::system>(*word, value);
}

void threads_executor::read(void* to, void const* from, std::size_t bytes) { load_words(to, from, bytes); }

void threads_executor::fill_zero(void* to, std::size_t bytes) { std::memset(to, 0, bytes); }

void* threads_executor::pin(std::size_t bytes) {
  void* const memory = ::operator new(std::max<std::size_t>(bytes, 1), line, std::nothrow);
  if (memory == nullptr) throw limit_error{"out of memory: " + std::to_string(bytes) + " bytes"};
  return memory;
}

void threads_executor::unpin(void* memory) noexcept { ::operator delete(memory, line); }

std::unique_ptr<copy_lane> threads_executor::make_copy_lane() { return std::make_unique<threads_copy_lane>(); }

std::unique_ptr<copy_lane> threads_executor::make_control_lane() {
  return std::make_unique<threads_copy_lane>(control_);
}

std::unique_ptr<bubble_mark> threads_executor::make_mark() { return std::make_unique<threads_mark>(); }

template <class F>
void threads_executor::enqueue(stream_handle stream, F operation) {
  on_their_way_.fetch_add(1, std::memory_order_relaxed);
  stream_of(stream).enqueue([this, operation] {
    operation();
    // release: the last access to gates and marks, to the thread that finds that nothing is under way
    on_their_way_.fetch_sub(1, std::memory_order_release);
  });
}

void threads_executor::open_edge(stream_handle stream, gate_ref gate, std::uint32_t value, std::uint64_t bubble,
                                 bubble_mark& mark, bool) {
  auto& both = static_cast<threads_mark&>(mark);
  both.opening();
  enqueue(stream, [gate, value, bubble, &both] {
    both.opened();  // before the host can see the opening: after that the bubble may be over, and its mark in use again
    open_gate<w>(gate, value, bubble);
  });
}

std::unique_ptr<stream_moment> threads_executor::make_moment() { return std::make_unique<threads_moment>(); }

void threads_executor::note(stream_handle stream, stream_moment& when) {
  auto const ns = static_cast<threads_moment&>(when).ns();
  *ns = 0;
  stream_of(stream).enqueue([ns] { *ns = w::now_ns(); });  // this may run after the executor's end
}

std::optional<std::chrono::nanoseconds> threads_executor::between(stream_moment& from, stream_moment& to) {
  std::uint64_t const from_ns = *static_cast<threads_moment&>(from).ns();
  std::uint64_t const to_ns = *static_cast<threads_moment&>(to).ns();
  if (from_ns == 0 || to_ns == 0) return std::nullopt;
  return std::chrono::nanoseconds{to_ns - from_ns};
}

void threads_executor::close_edge(stream_handle stream, gate_ref gate, std::uint32_t value, bubble_mark& mark, bool,
                                  closing how) {
  enqueue(stream, [gate, value, how, &both = static_cast<threads_mark&>(mark)] {
    w::store<order::relaxed, scope::system>(gate.line->value, value);
    if (how.waits) await_leaving<w>(*gate.awaited, max_wait_ns);
    both.closed();
  });
}

void threads_executor::write_word(stream_handle stream, std::uint32_t* word, std::uint32_t value) {
  enqueue(stream, [word, value] { w::store<order::relaxed, scope::device>(*word, value); });
}

void threads_executor::launch(worker_kernel const& kernel, worker_grid const& grid, worker_params const& params,
                              bubble_mark* mark, start_when when) {
  if (grid.blocks == 0) throw usage_error{"a worker has no blocks: launch it with the grid that load() gave"};
  auto* const both = static_cast<threads_mark*>(mark);
  if (both != nullptr) both->worker_comes();
  workers_.enqueue([this, kernel, blocks = static_cast<int>(grid.blocks), params, both, when] {
    if (when == start_when::opened) wait_for_opening(params);
    auto const resident = reinterpret_cast<detail::resident_function>(const_cast<void*>(kernel.resident));
    pool_.run(blocks, kernel.shape.shared_bytes, [&](thread_block const& block, int) { resident(params, block); });
    if (both != nullptr) both->worker_left();
  });
}

std::optional<std::uint64_t> threads_executor::capture_of(stream_handle stream) {
  std::uint64_t const capture = stream_of(stream).capture();
  return capture != 0 ? std::optional{capture} : std::nullopt;
}

captured_opening threads_executor::capture_open(stream_handle stream, gate_ref gate, std::uint32_t value,
                                                std::span<captured_worker const> workers) {
  stream_of(stream).enqueue([this, gate, value, all = std::vector(workers.begin(), workers.end())] {
    open_captured_gate<w>(gate, value);
    for (captured_worker const& each : all)
      threads_executor::launch(each.kernel, each.grid, each.params, nullptr, start_when::at_once);
  });
  return nullptr;
}

void threads_executor::capture_close(stream_handle stream, gate_ref gate, std::uint32_t value, std::uint32_t site,
                                     captured_opening) {
  stream_of(stream).enqueue([gate, value, site] { close_captured_gate<w>(gate, value, site, 0); });
}

void threads_executor::capture_keep(stream_handle stream, std::shared_ptr<void const> what) {
  stream_of(stream).keep(std::move(what));
}

std::optional<std::chrono::nanoseconds> threads_executor::length(bubble_mark& mark) {
  return static_cast<threads_mark&>(mark).length();
}

bool threads_executor::workers_left(bubble_mark& mark) { return static_cast<threads_mark&>(mark).workers_left(); }

void threads_executor::exchange(slot_line* slot, slot_content const& content, std::uint64_t limit_ns,
                                std::uint64_t* done, std::uint64_t id) {
  control_.enqueue([slot, content, limit_ns, done, id] {
    bool const moved = lull::exchange<w>(*slot, content, limit_ns);
    w::store<order::release, scope::system>(*done, 2 * id + (moved ? 1 : 0));
  });
}

std::uint64_t threads_executor::load_mapped(void const* host_word) const noexcept {
  return w::load<order::acquire, scope::system>(*static_cast<std::uint64_t*>(const_cast<void*>(host_word)));
}

}  // namespace lull
