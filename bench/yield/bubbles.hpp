// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include <lull/host/runtime.hpp>

namespace lull::bench {

/// What follows a bubble on the trainer's stream.
enum class behind { burst_132, burst_264, cublas_2048 };
/// What comes on another stream of the trainer 60 µs after a bubble has opened.
enum class arrival { none, one_thread, blocks_132, nccl_shape };
/// What Lull does: nothing at all; edges without a worker; edges with one.
enum class treatment { none, edges, worker };

struct setting {
  behind training = behind::burst_132;
  arrival comes = arrival::none;
  std::uint64_t min_ns = 80'000;  // of the gap, which is drawn uniformly
  std::uint64_t max_ns = 120'000;
  int bubbles = 1000;  // measured, of each treatment
  int group = 50;      // bubbles of one treatment before the next one's turn
};

/// One figure of one treatment over all bubbles, microseconds; empty where it does not exist.
struct samples {
  std::vector<double> drain;    // close → last worker block out
  std::vector<double> saw;      // close → first sight of it by a worker block
  std::vector<double> out;      // that sight → last worker block out
  std::vector<double> start;    // open → all worker blocks working
  std::vector<double> period;   // from chunk to chunk of one block, mean over a bubble's blocks
  std::vector<double> first;    // close → first block of the training kernel after it
  std::vector<double> last_in;  // … its last block
  std::vector<double> whole;  // before the opening → end of the training kernels after it, less the gap that was asked
                              // for: the price of a bubble is its difference between treatments
  std::vector<double> delay;       // arrival asked for → its first block in
  std::vector<double> host;        // host time of open and close together
  std::uint64_t lease_blocks = 0;  // blocks that left by lease
  std::uint64_t dropped = 0;       // bubbles whose record was lost
};

/// Runs `how.bubbles` bubbles of each treatment in turns, in one process; index by treatment. `side` runs the job.
std::vector<samples> measure_bubbles(setting const& how, runtime& side);
/// The same bubbles as nodes of captured graphs, one a treatment, of `how.group` bubbles each; without arrivals.
std::vector<samples> measure_captured(setting const& how, runtime& side);

}  // namespace lull::bench
