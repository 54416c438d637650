// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include <lull/host/array.hpp>
#include <lull/host/runtime.hpp>
#include <lull/host/task/owner.hpp>

namespace lull::bench {

/// The side tasks that benches fill bubbles with.
enum class work_kind { compute, streaming, pagerank, product, mlp };

/// As arguments spell them.
std::map<std::string, work_kind> const& work_kinds();
std::vector<std::string> work_names();

struct work_settings {
  std::string size = "4096";     // of the products of `product`: rows, columns and depth
  std::string leave = "within";  // … how their tiles are left
};

/// What `runtime_options::tasks` lists, so that no code is loaded later.
task_type type_of(work_kind what, work_settings const& with = {});

/// A job that does not end before it is cancelled, with the arrays that it works on.
class endless_work {
 public:
  /// Submits. Blocks while inputs are made: seconds for `pagerank`.
  endless_work(runtime& side, work_kind what, work_settings const& with = {});
  /// Cancels, and waits until no block is inside.
  ~endless_work();
  endless_work(endless_work const&) = delete;
  endless_work& operator=(endless_work const&) = delete;

  /// Of its worker.
  std::uint64_t blocks() const { return executor_.load(description_.type.cuda, 0).blocks; }

 private:
  executor& executor_;
  device_array<float> from_;
  device_array<float> to_;
  std::unique_ptr<task_owner> owner_;
  job_description description_;
  job job_;
};

/// Blocks until a job stands ready for bubbles on that stream. Throws limit_error after 10 s.
void wait_until_ready(runtime& side, stream_handle stream);

}  // namespace lull::bench
