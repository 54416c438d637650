// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include <lull/host/array.hpp>
#include <lull/host/error.hpp>
#include <lull/host/executor.hpp>
#include <lull/host/job.hpp>
#include <lull/host/task/task_array.hpp>

namespace lull {

/// The arrays of a task in device memory. Each is named once: by the functor's pointer to it, its name in checkpoints
/// and its shape. What all take, what is saved and what a reset clears follow from that. A table without memory only
/// counts bytes: it leaves pointers as they are. Movable. Destroy it before the executor, and after the last block that
/// uses an array. Not thread-safe.
class array_table {
 public:
  array_table() = default;
  explicit array_table(device_memory& memory) : memory_(&memory) {}

  /// Adds an array that a run only reads, with these values; what they leave is zero. Throws limit_error, as the next
  /// two do.
  template <class T>
  void input(T*& at, std::uint64_t count, std::span<std::remove_const_t<T> const> values = {}) {
    add(at, row_kind::input, {}, count * sizeof(T));
    if (memory_ != nullptr) write(at, values);
  }

  /// Adds an array that a run writes before it reads it: it is saved, and `reset` leaves it as it is.
  template <class T>
  void kept(T*& at, std::string name, std::vector<std::uint64_t> shape) {
    add(at, row_kind::kept, info_of<T>(std::move(name), std::move(shape)));
  }
  /// Adds an array that a run writes, zero when it starts: it is saved, and `reset` clears it.
  template <class T>
  void cleared(T*& at, std::string name, std::vector<std::uint64_t> shape) {
    add(at, row_kind::cleared, info_of<T>(std::move(name), std::move(shape)));
  }

  bool only_counts() const noexcept { return memory_ == nullptr; }
  /// Returns how many bytes all arrays take.
  std::uint64_t bytes() const noexcept { return bytes_; }

  /// Returns what a run writes, in the order in which it was added.
  std::vector<task_array> written() const {
    std::vector<task_array> made;
    for (row const& each : rows_) {
      if (each.kind != row_kind::input) made.push_back({each.array, each.memory.data()});
    }
    return made;
  }
  /// Clears what has to be zero when a run starts.
  void reset() {
    for (row& each : rows_) {
      if (each.kind == row_kind::cleared) each.memory.fill_zero();
    }
  }

  /// Writes values into an array, from its element `first` on.
  template <class T, class Value>
  void write(T* array, std::span<Value const> values, std::uint64_t first = 0) {
    memory_->write(const_cast<std::remove_const_t<T>*>(array) + first, values.data(), values.size_bytes());
  }
  /// Returns how many elements an array has. Throws usage_error for one that is not of this table, as `read` does.
  template <class T>
  std::uint64_t size(T const* array) const {
    for (row const& each : rows_) {
      if (static_cast<void const*>(each.memory.data()) == array) return each.memory.bytes() / sizeof(T);
    }
    throw usage_error{"the task has no such array"};
  }
  /// Reads the whole of an array.
  template <class T>
  std::vector<T> read(T const* array) const {
    std::vector<T> values(size(array));
    memory_->read(values.data(), array, values.size() * sizeof(T));
    return values;
  }
  device_memory& memory() const noexcept { return *memory_; }

 private:
  enum class row_kind { input, kept, cleared };
  struct row {
    row_kind kind;
    tensor_info array;
    device_array<std::byte> memory;
  };

  template <class T>
  void add(T*& at, row_kind kind, tensor_info array, std::uint64_t bytes) {
    bytes_ += bytes;
    if (memory_ == nullptr) return;
    rows_.push_back({kind, std::move(array), {*memory_, bytes}});
    at = static_cast<T*>(static_cast<void*>(rows_.back().memory.data()));
  }
  template <class T>
  void add(T*& at, row_kind kind, tensor_info array) {
    std::uint64_t const bytes = array.bytes();
    add(at, kind, std::move(array), bytes);
  }

  device_memory* memory_ = nullptr;
  std::uint64_t bytes_ = 0;
  std::vector<row> rows_;
};

/// A task's functor and the arrays that it works on. Movable; must go before the executor does.
template <class Task>
class functor_arrays {
 public:
  Task const& task() const noexcept { return task_; }
  job_description describe(std::string name) const { return lull::describe(task_, std::move(name)); }
  /// Returns those that a run writes; the others are made from the inputs alone.
  std::vector<task_array> written() const { return table_.written(); }
  void reset() { table_.reset(); }

 protected:
  /// `task` has its sizes, but no arrays yet.
  functor_arrays(device_memory& memory, Task const& task) : table_(memory), task_(task) {}

  /// Returns the bytes of all arrays that add(table, task) adds for a task of these sizes.
  static std::uint64_t bytes_of(Task task, auto const& add) {
    array_table counted;
    add(counted, task);
    return counted.bytes();
  }

  array_table table_;
  Task task_;
};

}  // namespace lull
