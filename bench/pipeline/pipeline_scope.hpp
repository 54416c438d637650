// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>

#include <nlohmann/json.hpp>

#include <lull/bench/pipeline/stage.hpp>
#include <lull/bench/side_work/endless_work.hpp>
#include <lull/docs/examples/rendezvous.hpp>
#include <lull/host/bubble.hpp>

namespace lull::bench {

struct pipeline_scope_settings {
  work_kind task = work_kind::compute;
  bool graph = false;       // each rank captures its step and replays it
  int reserved_groups = 0;  // groups of SMs kept off
  std::chrono::nanoseconds min_bubble = default_min_bubble;
  std::chrono::nanoseconds rest_before_close = default_rest_before_close;
  double seconds = 0;    // of groups; twelve of them are measured in any case
  int verify_steps = 0;  // whose results are compared; 0: none
};

/// Returns this rank's part of one scope: makes a runtime, submits a job, warms up, measures groups of steps with and
/// without (ABBA), then the job alone in long bubbles, and takes all down again. `none_ms` and `worker_ms` are means
/// over a step, of rank 0's stream from a group's first kernel to the next group's. Collective. Blocks. Throws
/// limit_error and what the runtime throws.
nlohmann::json measure_pipeline_scope(stage& trained, rank_place const& me, rendezvous& meeting,
                                      pipeline_scope_settings const& with);

}  // namespace lull::bench
