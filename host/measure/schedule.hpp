// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <string_view>
#include <vector>

namespace lull {

/// Pipeline schedules that end each iteration with a flush.
/// gpipe: all forwards, then all backwards, the last micro-batch first (Huang et al., GPipe, NeurIPS 2019, figure 2c).
/// one_forward_one_backward: PipeDream-Flush (Narayanan et al., SC 2021, section 2.2.1, figure 4; the order is
/// PipeDream's, SOSP 2019): min(stages - 1 - stage, micro-batches) forwards, then forward and backward in turn, then
/// the backwards left over.
/// interleaved: a stage holds two virtual stages of the model, the second as many stages later as there are stages,
/// and does a group of `stages` micro-batches with one before it goes on with the other (Narayanan et al., SC 2021,
/// section 2.2.2; the order is Megatron-LM's).
///
/// zero_bubble: a backward is split. The gradient of the input takes the place of the backward in
/// one_forward_one_backward; the gradient of the weights fills what would be a gap, and is done at the latest where
/// activations of more than `stages` micro-batches would be kept (ZB-H1 of Qi et al., Zero Bubble Pipeline
/// Parallelism, ICLR 2024, section 2.1).
enum class schedule_kind { gpipe, one_forward_one_backward, interleaved, zero_bubble };

/// "gpipe", "1f1b", "interleaved" or "zero_bubble".
std::string_view name_of(schedule_kind kind) noexcept;
/// Errors: usage_error that lists all.
schedule_kind parse_schedule(std::string_view name);

struct schedule_shape {
  schedule_kind kind = schedule_kind::one_forward_one_backward;
  std::uint32_t stages = 4;            // 1 to 1,024
  std::uint32_t microbatches = 8;      // 1 to 65,536; stages × microbatches at most 2^20; interleaved: whole groups
  std::chrono::nanoseconds forward{};  // of one micro-batch on one stage, 1 µs to 1 min; a backward takes twice that
};

/// How many virtual stages, which are parts of the model, a stage holds.
std::uint32_t virtual_stages_of(schedule_kind kind) noexcept;

enum class pass_kind {
  forward,
  backward,        // both gradients
  input_gradient,  // half a backward: what the stage before waits for
  weight_gradient  // the other half
};

/// Work of one stage on one micro-batch.
struct segment {
  pass_kind pass;
  std::uint32_t microbatch;
  std::uint32_t virtual_stage;     // of those that the stage holds
  std::chrono::nanoseconds start;  // since the iteration began
  std::chrono::nanoseconds duration;
};

/// Where in the iteration a stage idles. Gaps of one site have like causes, so a runtime's history per site holds.
enum class gap_site {
  warm_up,         // before the first forward, or between forwards: the pipeline fills
  first_backward,  // before the first backward: the last stage has just begun to send gradients
  steady,          // later, while forwards are left
  cool_down,       // between the last backwards: the pipeline drains
  tail             // after the last backward, until the last stage is done
};

std::string_view name_of(gap_site site) noexcept;

struct gap {
  gap_site site;
  std::uint32_t next_segment;  // the index of the segment that ends it; for the tail, the number of segments
  std::chrono::nanoseconds start;
  std::chrono::nanoseconds length;  // above zero
};

/// One iteration of one stage. Segments and gaps tile [0, length): the iteration begins for all stages at once and ends
/// for all when the slowest stage has done its last backward; the next begins then (the flush). So a stage's tail and
/// the warm-up gap of the next iteration touch, with the optimiser's step, which is not modelled, between them.
struct stage_plan {
  std::vector<segment> segments;  // (2 or 3 × microbatches × virtual stages), in order of time
  std::vector<gap> gaps;          // in order of time
  std::chrono::nanoseconds length;
};

/// Simulates the whole pipeline: a stage does its segments in the schedule's order, each as soon as the stage is free
/// and the micro-batch is there (a forward from the virtual stage before, a backward from the virtual stage that
/// follows); transfers take no time. Errors: usage_error for a shape outside its limits or a stage that is not there.
stage_plan plan_stage(schedule_shape const& shape, std::uint32_t stage);

std::chrono::nanoseconds max_gap(stage_plan const& plan) noexcept;  // 0 if there is none

/// The forward time at which the stage's longest gap is `length`, or as near as whole nanoseconds allow. Errors:
/// usage_error if the stage has no gap, or the result is outside the limits of `forward`.
std::chrono::nanoseconds forward_for_max_gap(schedule_shape shape, std::uint32_t stage,
                                             std::chrono::nanoseconds length);

}  // namespace lull
