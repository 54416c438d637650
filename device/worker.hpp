// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <type_traits>

#include <lull/device/chunk_loop.hpp>
#include <lull/device/claiming_loop.hpp>
#include <lull/device/resident.hpp>
#include <lull/device/side_task.hpp>
#include <lull/device/slot.hpp>
#include <lull/device/slot_occupant.hpp>

namespace lull {

/// The resident loop of one block in one bubble. All threads of the block run it. Rank 0, the *leader*, runs the
/// protocol (claimer.hpp), and the others read its directives from the machine's storage.
template <class World, side_task Task, block Block>
class worker : slot_occupant<World, kept_inside<World, Task>, Block> {
  using base = slot_occupant<World, kept_inside<World, Task>, Block>;
  using base::block_, base::enter, base::kept_, base::leave, base::params_, base::words;

 public:
  LULL_HD worker(worker_params const& params, Block const& block) noexcept : base(params, block) {}

  /// Collective. Enters the slot, runs chunks while the bubble lasts, leaves.
  LULL_HD void run() noexcept {
    bool const leads = block_.rank() == 0;
    bool const inside = leads && enter();
    if (leads) kept_.next = inside ? kept_.claims.next(words(), task_in<Task>(*params_.slot)) : directive{};
    block_.sync();
    if (kept_.next.what != action::leave) {
      fetch_task();
      loop{params_, block_, kept_}.run();
    }
    if (inside) leave();
  }

 private:
  using kept = kept_inside<World, Task>;
  using loop = std::conditional_t<kept::task_claims, claiming_loop<World, Task, Block>, chunk_loop<World, Task, Block>>;

  /// Collective. Copies the task for the team. Without the copy, the slot would be loaded again after every store to
  /// the same kind of memory; a copy for each thread would take registers.
  LULL_HD void fetch_task() noexcept {
    auto const* const from = reinterpret_cast<std::uint64_t const*>(params_.slot->functor.bytes);
    auto* const to = reinterpret_cast<std::uint64_t*>(kept_.task);
    for (int at = block_.rank(); at < kept::task_words; at += block_.size()) to[at] = from[at];
    block_.sync();
  }
};

}  // namespace lull
