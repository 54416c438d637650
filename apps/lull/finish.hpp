// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include <lull/apps/lull/side_jobs.hpp>

namespace lull {

/// What became of tasks that ran together.
struct outcome {
  std::vector<std::string> lines;  // with a task's name in front, where there are several
  bool good = true;                // all that finished is right, written, and of whole inputs
  bool all_finished = true;
};

enum class results_judged { no, yes };

/// Of jobs that are over: verifies and writes what each task that finished found, and says how to go on with the
/// others. One that cannot be written does not keep the others' results back. What was saved is forgotten when all have
/// finished, are written, and nothing of them failed.
outcome finish(side_jobs& jobs, results_judged judged);

}  // namespace lull
