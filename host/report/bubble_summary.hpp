// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <limits>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <lull/host/bubble.hpp>
#include <lull/host/report/gpu_monitor.hpp>
#include <lull/host/report/length_histogram.hpp>
#include <lull/host/step_report.hpp>

namespace lull {

/// The assumptions for an estimated harvest: each bubble that is worth it brings its length less the cost of starting
/// and draining a worker. The costs are the slowest p50 of the three tasks of docs/results/yield.json, rounded up
/// (`start_p50`: compute 6.1 to 6.3 µs, streaming 7.9 to 8.9, PageRank 7.6 to 9.0; `drain_p50`: 3.6 to 3.8, 6.5 to 6.7,
/// 7.3 to 7.5). The estimate is GPU time on the SMs that workers may use. It excludes reserved SMs, and does not
/// include that tasks run slower beside training.
struct harvest_assumptions {
  std::chrono::nanoseconds worth = default_min_bubble;
  std::chrono::nanoseconds start = std::chrono::microseconds{9};
  std::chrono::nanoseconds drain = std::chrono::microseconds{8};
};

struct summary_settings {
  bool cpu_time = false;  // times are of CPU threads, and every form of the report says so
  harvest_assumptions harvest = {};
};

/// The idle time of one site of one gate, or of all sites of a gate together. An unknown value is nothing, never 0.
struct site_summary {
  std::uint32_t gate = 0;
  std::string site;                 // empty: the whole gate
  std::uint64_t bubbles = 0;        // of known length; all below except `unknown` and `side` is over these
  std::uint64_t unknown = 0;        // bubbles whose length is not known
  std::chrono::nanoseconds p50{0};  // within length_histogram::relative_error, as is p99
  std::chrono::nanoseconds p99{0};
  std::chrono::nanoseconds longest{0};
  std::chrono::nanoseconds total{0};

  std::optional<std::chrono::nanoseconds> observed{};  // from the gate's first opening to its last close
  std::optional<double> share{};                       // of the time observed that was idle here
  std::optional<double> host_ahead{};                  // share of the bubbles for which it is known
  /// The device's smallest free memory at the end of a bubble of any length, where it was read.
  std::optional<std::uint64_t> min_free_bytes{};

  std::uint64_t worth_it = 0;                    // bubbles
  std::chrono::nanoseconds harvestable{0};       // what a harvest would bring, by the assumptions
  std::optional<double> harvestable_a_second{};  // s of GPU time in a second of the time observed
  std::optional<double> harvestable_of_idle{};   // share of `total`

  /// What a harvest brought, if it was on.
  struct side_work {
    std::uint64_t bubbles = 0;         // in which a block found a chunk
    std::chrono::nanoseconds time{0};  // GPU time: first chunk → leaving, summed over blocks, by blocks launched
    std::optional<double> of_idle{};   // share of `total`; may exceed 1 by the time of blocks after the close
    std::uint64_t items = 0;
    std::uint64_t chunks = 0;
    std::uint64_t handed_back = 0;  // chunks
    std::uint64_t lease_exits = 0;  // blocks that left by their lease
    /// The total time that workers waited on the device before bubbles opened; meanwhile kernels of training may start
    /// later (docs/decisions/armed-late.md).
    std::chrono::nanoseconds waited{0};
  } side{};
};

/// One of the latest bubbles, for a trace.
struct latest_bubble {
  std::size_t site = 0;  // index in names()
  std::int64_t opened_ns = 0;
  std::int64_t length_ns = 0;
  // Since the opening: mean first chunk → last block out; both 0 if no block worked.
  std::int64_t work_from_ns = 0;
  std::int64_t work_until_ns = 0;
  std::optional<bool> host_ahead{};
};

/// Where side work may run.
struct reserved_processors {
  int processors = 0;   // of the machine
  int for_workers = 0;  // the others are reserved
  /// How often a further group was reserved because a kernel of training had waited for side work.
  std::uint64_t groups_added = 0;
  std::string last_added_at{};  // the site whose bubble was the last cause
};

/// What side work did, as in site_summary::side_work.
struct side_totals {
  std::uint64_t bubbles = 0;
  std::chrono::nanoseconds time{0};
  std::uint64_t items = 0;
};

/// What a worker of another process says that it did in the trainer's bubbles.
struct worker_summary {
  std::string name;
  std::int64_t process = 0;          // 0: in another container
  bool attached = false;             // now
  std::vector<std::string> jobs{};   // that work next
  int priority = 0;                  // the highest of these
  std::uint64_t bubbles = 0;         // in which its blocks worked …
  std::chrono::nanoseconds time{0};  // … and how long together, as in site_summary::side_work
  std::uint64_t items = 0;
  std::uint64_t held_bytes = 0;  // device memory that its process holds
};

/// Sums up any number of bubbles as they come: for each site a histogram of lengths and some sums, and the latest
/// bubbles one by one. At most about 12 MB. Not thread-safe.
class bubble_summary {
 public:
  /// A site at two gates counts twice; further sites of a gate are summed up as one.
  static constexpr std::size_t max_sites = 256;
  static constexpr std::string_view other_sites = "(other sites)";
  static constexpr std::size_t max_latest = 65'536;  // bubbles for a trace

  explicit bubble_summary(summary_settings settings = {}) : settings_(settings) {}

  void add(bubble_report const& bubble);
  void add(std::span<bubble_report const> bubbles);

  summary_settings const& settings() const noexcept { return settings_; }
  void tell(reserved_processors now) { reserved_ = std::move(now); }
  std::optional<reserved_processors> const& reserved() const noexcept { return reserved_; }
  void tell(gpu_summary const& now) { gpu_ = now; }
  std::optional<gpu_summary> const& gpu() const noexcept { return gpu_; }
  void tell(std::vector<worker_summary> now) { workers_ = std::move(now); }
  /// Returns workers of other processes, the latest last.
  std::vector<worker_summary> const& workers() const noexcept { return workers_; }
  void tell(step_report const& now) { steps_ = now; }
  /// Returns the trainer's steps; none were marked if `begun` is 0.
  step_report const& steps() const noexcept { return steps_; }
  std::uint64_t seen() const noexcept { return seen_; }  // all that were added
  std::uint64_t in_other_sites() const noexcept { return in_other_sites_; }

  /// Returns the sites by gate, and at each in the order in which they were first seen.
  std::vector<site_summary> sites() const;
  /// Returns what a harvest brought at all sites together.
  side_totals side_work() const noexcept;
  /// Returns each gate's sites together, ascending.
  std::vector<site_summary> gates() const;

  /// Returns gate and name of each site, as `latest_bubble::site` counts them.
  std::vector<std::pair<std::uint32_t, std::string>> names() const;
  /// Returns bubbles of known length and moment, by the moment of opening.
  std::vector<latest_bubble> latest() const;
  /// Returns the number of bubbles that are in the figures but not, or no longer, in `latest`.
  std::uint64_t not_latest() const noexcept;

 private:
  struct site_state {
    std::uint32_t gate = 0;
    std::string name;
    length_histogram lengths{};
    std::uint64_t unknown = 0;
    std::int64_t total_ns = 0;
    std::uint64_t placed = 0;    // bubbles whose moment is known; the next three are over these
    std::int64_t placed_ns = 0;  // their lengths
    std::int64_t first_ns = std::numeric_limits<std::int64_t>::max();  // earliest opening
    std::int64_t last_ns = std::numeric_limits<std::int64_t>::min();   // latest close
    std::uint64_t host_known = 0;
    std::uint64_t host_ahead = 0;
    std::optional<std::uint64_t> min_free_bytes{};
    std::uint64_t worth_it = 0;
    std::int64_t harvestable_ns = 0;
    site_summary::side_work side{};
    double side_ns = 0;

    void add(site_state const& other);
    void note_free(std::optional<std::uint64_t> bytes);
  };

  std::size_t find(bubble_report const& bubble);
  /// Returns each gate's sites together, by gate.
  std::map<std::uint32_t, site_state> by_gate() const;
  static site_summary figures_of(site_state const& of, site_state const& all_of_gate);

  summary_settings settings_;
  std::optional<reserved_processors> reserved_{};
  std::optional<gpu_summary> gpu_{};
  step_report steps_{};
  std::vector<worker_summary> workers_;
  std::vector<site_state> sites_;
  std::map<std::pair<std::uint32_t, std::string>, std::size_t> index_;
  std::deque<latest_bubble> latest_;
  std::uint64_t seen_ = 0;
  std::uint64_t in_other_sites_ = 0;
};

}  // namespace lull
