// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace lull {

namespace detail {
class job_core;
}

/// Saves a job between two of its bubbles, and resumes from what was saved. `begin` and `save` are called only while no
/// block is inside. `wants_save` may be called while blocks work.
class job_saver {
 public:
  virtual ~job_saver() = default;
  /// Takes up what was saved, if anything was. Before the first bubble.
  virtual void begin(detail::job_core& job) = 0;
  virtual void save(detail::job_core& job) = 0;
  /// Delays the next save after a failed one, as after a successful one.
  virtual void put_off() = 0;
  /// Returns whether it is time to save.
  virtual bool wants_save() const = 0;
  /// Removes what was saved: the job will not run again.
  virtual void forget() noexcept = 0;
};

}  // namespace lull
