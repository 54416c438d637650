// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include <lull/host/array.hpp>
#include <lull/host/runtime.hpp>

namespace lull::bench {

/// What a job that never ends does in bubbles, held against what it does with the machine to itself and the same rooms
/// kept off.
class side_work {
 public:
  enum class kind { compute, streaming };

  /// Measures the stand-alone rate for about that long, with `meanwhile` called now and then, and submits. The runtime
  /// must have no other work. Blocks.
  side_work(runtime& side, kind what, std::chrono::milliseconds solo_for, std::function<void()> const& meanwhile);
  /// Waits until no block is inside.
  ~side_work();
  side_work(side_work const&) = delete;
  side_work& operator=(side_work const&) = delete;

  /// Forgets the bubbles so far.
  void begin();
  /// Takes in what was measured since the last call.
  void collect();
  std::uint64_t lease_exits() const noexcept { return lease_exits_; }
  /// Bubbles by site, harvest and what was lost of it, since `begin`.
  nlohmann::json report() const;

 private:
  struct at_site {
    std::vector<double> length_us;
    double work_us = 0;  // first chunk → leaving, mean over the blocks launched
    std::uint64_t items = 0;
    std::uint64_t unknown = 0;  // bubbles of which no length is known
    std::uint64_t not_ahead = 0;
  };
  nlohmann::json of(at_site const& site) const;

  runtime& side_;
  machine_array<float> from_;
  machine_array<float> to_;
  job_description description_;
  double solo_items_per_s_ = 0;
  job job_;
  runtime_counts before_;
  std::map<std::string, at_site> sites_;
  std::uint64_t lease_exits_ = 0;
};

}  // namespace lull::bench
