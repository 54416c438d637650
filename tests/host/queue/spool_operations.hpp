// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <ostream>
#include <string>
#include <vector>

#include <lull/tests/host/queue/spool_scene.hpp>

namespace lull::queue {

/// What is made of a spool, by parts: what was before, the operation itself, what must hold whenever it was ended, and
/// that it can be made again.
struct spool_operation {
  std::string name;
  std::function<void(spool_scene&)> prepare{};
  std::function<void(spool_scene&)> begin{};  // in the child; not a part of it
  std::function<void(spool_scene&)> make{};   // in the child
  std::function<void(spool_scene&, bool acknowledged, fault what)> check{};
  std::function<void(spool_scene&)> again{};
  bool lasts = true;  // once acknowledged it must outlive a power cut
  /// Returns files that a job's program has written, and not flushed.
  std::function<std::vector<std::string>(spool_scene const&)> unflushed{};
};

std::vector<spool_operation> spool_operations();

/// CTest's list of tests shows it; otherwise it would show bytes, other ones in each run.
inline void PrintTo(spool_operation const& of, std::ostream* out) { *out << of.name; }

}  // namespace lull::queue
