// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <lull/graph/csr/csr.hpp>
#include <lull/host/executor.hpp>
#include <lull/host/task/options.hpp>
#include <lull/host/task/owner.hpp>

namespace lull::bench {

/// An algorithm as the field's textbooks have it: plain CUDA kernels, one a phase, which the host launches. Where a
/// loop's end depends on a count, the host copies it from the device and waits for it. Kernels run on a stream of their
/// own, on the current device. Not thread-safe. Errors: cuda_error.
class textbook {
 public:
  virtual ~textbook() = default;

  /// Runs the whole algorithm from the beginning. Blocks; returns the milliseconds between two events on the stream,
  /// which hold the host's waits and the initialisation of results, but no allocation and no copy of the graph.
  virtual double run() = 0;
  /// What the last run found, in the order of the task's own array.
  virtual std::vector<std::uint64_t> result() const = 0;
};

/// One of a task's textbooks, and the array of the task that it is compared with.
struct task_textbook {
  std::string name;   // of its columns: "textbook" for the one that counts, else "textbook_…"
  std::string array;  // of unsigned integers, or of floats by their bits
  int shift;          // to the right, of each element
  std::unique_ptr<textbook> kernels;
};

bool has_textbooks(std::string_view task);

/// Those of a task, the one that counts first; none where the options ask for what they do not do (`sources` of bfs).
/// `graph` is valid and the one that the options name, which call its first vertex `first_id`; it need not live longer
/// than the call. Throws usage_error for
/// options that do not fit the graph, cuda_error.
std::vector<task_textbook> make_textbooks(std::string_view task, csr const& graph, option_values const& values,
                                          std::uint32_t first_id);

/// Compares what a textbook's last run found with what the task has on the machine. Throws std::runtime_error that
/// names the first element that differs.
void compare(task_textbook const& one, executor& executor, task_owner const& owner);

}  // namespace lull::bench
