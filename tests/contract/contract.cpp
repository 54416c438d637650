// SPDX-License-Identifier: Apache-2.0
#include <lull/tests/contract/contract.hpp>

#include <algorithm>
#include <bit>
#include <cstddef>
#include <random>
#include <thread>
#include <vector>

#include <lull/device/cursor.hpp>
#include <lull/device/gate.hpp>
#include <lull/device/slot.hpp>
#include <lull/device/threads_world.hpp>

namespace lull {

namespace {

/// Far longer than a bubble needs: a bubble that ends by it without a single chunk begun shows a task that waits for
/// ever.
constexpr std::uint64_t lease_ns = 10'000'000'000;

using bytes = std::vector<std::byte>;

/// How one run is disturbed.
struct disturbance {
  close_place where = close_place::nowhere;
  std::uint64_t k = 0;             // close at the k-th event of each bubble
  std::uint64_t random_up_to = 0;  // not 0: at a random one up to this instead
  std::uint32_t grain = 1;

  std::string text() const {
    static constexpr char const* places[] = {"uninterrupted", "closed at the start of a chunk", "closed at a poll",
                                             "closed at the end of a chunk"};
    std::string said = places[static_cast<int>(where)];
    if (where != close_place::nowhere) {
      said += random_up_to != 0 ? ", at random up to " + std::to_string(random_up_to) : ", k = " + std::to_string(k);
    }
    return said + ", grain " + std::to_string(grain);
  }
};

/// What the machine holds for one task: gate, slot, cursor, ring, and the preemption's line.
class stage {
 public:
  stage(contract_case const& which, executor& machine)
      : which_(which),
        machine_(machine),
        kernel_(machine.kind() == executor_kind::cuda ? which.type.cuda : which.type.threads) {
    machine_.load(kernel_, 0);
    blocks_ = machine_.blocks_of(kernel_);
    capacity_ = std::bit_ceil(4 * blocks_);
    gate_.line = make<gate_line>(1);
    gate_.records = make<bubble_record>(1);
    slot_ = make<slot_line>(1);
    cursor_ = make<cursor>(1);
    cells_ = make<ring_cell>(capacity_);
    with_ = make<preemption>(1);
    mark_ = machine_.make_mark();
  }
  ~stage() {
    for (void* memory : memory_) machine_.release(memory);
  }
  stage(stage const&) = delete;
  stage& operator=(stage const&) = delete;

  std::uint64_t blocks() const { return blocks_; }
  preemption const& counts() const { return counts_; }

  /// One run from the start; the first violation.
  std::string run(job_description const& task, disturbance const& how, std::uint64_t most_bubbles,
                  std::mt19937_64& random) {
    start(task, how.grain);
    std::uint64_t stalled = 0;  // bubbles in turn that finished nothing
    for (std::uint64_t bubble = 0; bubble < most_bubbles; ++bubble) {
      // Where all is handed back, the next bubble goes on a little longer: else there would be no end.
      std::uint64_t const k = how.random_up_to != 0 ? 1 + random() % how.random_up_to : how.k;
      std::uint64_t const finished_before = counts_.finished_items;
      run_bubble(how.where, how.where == close_place::nowhere ? 0 : k + stalled);
      stalled = counts_.finished_items == finished_before ? stalled + 1 : 0;
      cursor const now = read(cursor_);
      phase_state const state = tagged_state{now.state}.state();
      if (counts_.late_starts >= blocks_) {
        return std::to_string(counts_.late_starts) + " chunks began after the close on " + std::to_string(blocks_) +
               " blocks";
      }
      if (entry_word<threads_world>::inside(read(slot_).entry) != 0)
        return "the entry word says that somebody is still inside";
      if (state == phase_state::failed) return "the job failed";
      if (state == phase_state::finished) return settle(now);
      if (state == phase_state::starved) return "the task starves: a contract case must bring its input at the start";
      if (counts_.closed == 0 && counts_.starts == 0)
        return "a bubble ended by its lease with no chunk begun: a phase never completes";
    }
    return "no end in " + std::to_string(most_bubbles) + " bubbles";
  }

 private:
  template <class T>
  T* make(std::size_t count) {
    memory_.push_back(machine_.allocate(count * sizeof(T)));
    return static_cast<T*>(memory_.back());
  }
  template <class T>
  T read(T const* from) const {
    T value;
    machine_.read(&value, from, sizeof value);
    return value;
  }
  template <class T>
  void write(T* to, T const& value) const {
    machine_.write(to, &value, sizeof value);
  }

  void start(job_description const& task, std::uint32_t grain) {
    machine_.fill_zero(cells_, capacity_ * sizeof(ring_cell));
    cursor words{};
    words.grain = grain;
    words.cells = cells_;
    words.capacity = capacity_;
    write(cursor_, words);
    slot_line slot{};
    slot.at = tagged_cursor{0, cursor_}.word();
    slot.lease_ns = lease_ns;
    slot.functor = which_.wrap(task.functor, with_);
    write(slot_, slot);
    counts_ = {};
  }

  void run_bubble(close_place where, std::uint64_t close_at) {
    ++bubble_;
    counts_.gate = gate_.line;
    counts_.value = static_cast<std::uint32_t>(2 * bubble_);
    counts_.where = where;
    counts_.close_at = close_at;
    counts_.events = counts_.closed = counts_.starts = counts_.late_starts = counts_.polls = 0;
    write(with_, counts_);
    stream_handle const trainer = machine_.plain_stream();
    machine_.open_edge(trainer, gate_, counts_.value - 1, bubble_, *mark_, false);
    machine_.launch(kernel_, {slot_, gate_, machine_.rooms_of(kernel_)}, mark_.get());
    while (!machine_.workers_left(*mark_)) std::this_thread::yield();
    machine_.close_edge(trainer, gate_, counts_.value, *mark_, false, {});
    machine_.synchronize(trainer);
    counts_ = read(with_);
  }

  std::string settle(cursor const& last) const {
    if (last.items != counts_.extents || last.done != 0) {
      return std::to_string(last.items) + " items were committed, but the phases had " +
             std::to_string(counts_.extents);
    }
    if (counts_.finished_items != counts_.extents) {
      return "chunks of " + std::to_string(counts_.finished_items) + " items ran to their end, but the phases had " +
             std::to_string(counts_.extents);
    }
    return last.ends.pushed == last.ends.popped ? "" : "the task finished with chunks still in the ring";
  }

  contract_case const& which_;
  executor& machine_;
  worker_kernel const kernel_;
  std::uint64_t blocks_ = 1;
  std::uint64_t capacity_ = 4;
  std::vector<void*> memory_;
  gate_ref gate_;
  slot_line* slot_;
  cursor* cursor_;
  ring_cell* cells_;
  preemption* with_;
  preemption counts_{};
  std::uint64_t bubble_ = 0;
  std::unique_ptr<bubble_mark> mark_;
};

/// A task's arrays: read, compared, poisoned.
class arrays_of {
 public:
  arrays_of(task_owner& owner, executor& machine) : machine_(machine), arrays_(owner.arrays()) {}

  std::vector<bytes> read() const {
    std::vector<bytes> found;
    for (task_array const& each : arrays_) {
      found.emplace_back(each.bytes);
      machine_.read(found.back().data(), each.memory, each.bytes);
    }
    return found;
  }
  std::string difference(std::vector<bytes> const& expected) const {
    std::vector<bytes> const found = read();
    for (std::size_t i = 0; i < arrays_.size(); ++i) {
      auto const [at, other] = std::mismatch(found[i].begin(), found[i].end(), expected[i].begin());
      if (at != found[i].end()) {
        return "array '" + arrays_[i].name + "' differs from the uninterrupted run's at byte " +
               std::to_string(at - found[i].begin());
      }
    }
    return {};
  }
  /// Those that the task was seen to write.
  void poison(std::vector<bytes> const& before, std::vector<bytes> const& after, unsigned pattern) const {
    for (std::size_t i = 0; i < arrays_.size(); ++i) {
      if (before[i] == after[i]) continue;
      bytes const poisoned(arrays_[i].bytes, static_cast<std::byte>(pattern));
      machine_.write(arrays_[i].memory, poisoned.data(), poisoned.size());
    }
  }

 private:
  executor& machine_;
  std::vector<task_array> const arrays_;
};

}  // namespace

std::string contract_violation(contract_case const& which, executor& machine, contract_effort const& effort) {
  std::unique_ptr<task_owner> const owner = which.make_owner();
  owner->prepare(machine);
  job_description const task = owner->describe();
  stage scene{which, machine};
  arrays_of const arrays{*owner, machine};
  std::mt19937_64 random{effort.seed};

  disturbance how{.grain = task.grain};
  auto const at = [&](std::string const& violation) { return which.name + ", " + how.text() + ": " + violation; };

  std::vector<bytes> const before = arrays.read();
  if (auto const wrong = scene.run(task, how, effort.most_bubbles, random); !wrong.empty()) return at(wrong);
  if (verification const found = owner->verify(); !found.ok) return at(found.message);
  std::vector<bytes> const expected = arrays.read();
  bool const polls = scene.counts().polls != 0;

  std::vector<disturbance> runs{{.grain = task.grain}, {.grain = 2 * task.grain + 1}};
  for (close_place const where : {close_place::at_start, close_place::at_poll, close_place::at_end}) {
    if (where == close_place::at_poll && !polls) continue;
    for (std::uint64_t k = 1; k <= effort.every_k; ++k) runs.push_back({.where = where, .k = k, .grain = task.grain});
    for (std::uint64_t i = 0; i < effort.random_runs; ++i) {
      runs.push_back(
          {.where = where, .random_up_to = std::uint64_t{4} << i, .grain = task.grain + static_cast<std::uint32_t>(i)});
    }
  }
  std::uint64_t handed_back = 0;
  for (std::size_t i = 0; i < runs.size(); ++i) {
    how = runs[i];
    arrays.poison(before, expected, 0xa5 + static_cast<unsigned>(i));
    owner->reset();
    if (auto const wrong = scene.run(task, how, effort.most_bubbles, random); !wrong.empty()) return at(wrong);
    handed_back += scene.counts().handed_back;
    if (verification const found = owner->verify(); !found.ok) return at(found.message);
    if (auto const wrong = arrays.difference(expected); !wrong.empty()) return at(wrong);
  }
  if (polls && handed_back == 0) return which.name + ": it polls, but handed nothing back in any run";
  return {};
}

}  // namespace lull
