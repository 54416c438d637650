// SPDX-License-Identifier: Apache-2.0
#include <lull/host/detail/runtime/orphans.hpp>

#include <algorithm>
#include <exception>
#include <iterator>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

namespace lull::detail {

namespace {

bool graphs_over(captured_gates const& graphs) noexcept {
  try {
    auto const all = graphs.all();
    return std::all_of(all.begin(), all.end(), [](auto const& graph) { return graph->is_over(); });
  } catch (std::exception const&) {  // the machine is gone, or memory is: the orphans stay
    return false;
  }
}

}  // namespace

void keep_orphans(orphans what) noexcept {
  // Never destroyed, and reachable, so that a leak checker does not report it.
  static std::mutex guard;
  // By pointer: moved members would be destroyed in another order.
  static auto* const left = new std::vector<std::unique_ptr<orphans>>;
  std::vector<std::unique_ptr<orphans>> over;  // freed after the lock is released: that may take the machine long
  std::lock_guard const lock{guard};
  left->push_back(std::make_unique<orphans>(std::move(what)));
  auto const first = std::stable_partition(
      left->begin(), left->end(), [](auto const& each) { return each->for_ever || !graphs_over(*each->captured); });
  std::move(first, left->end(), std::back_inserter(over));
  left->erase(first, left->end());
}

}  // namespace lull::detail
