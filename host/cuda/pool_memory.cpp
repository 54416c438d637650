// SPDX-License-Identifier: Apache-2.0
#include <lull/host/cuda/pool_memory.hpp>

#include <algorithm>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

#include <lull/host/cuda/device_guard.hpp>
#include <lull/host/cuda/memory.hpp>

namespace lull {

namespace {

struct lender_table {
  std::mutex mutex;
  std::vector<cuda_memory*> lend;  // the last comes first
  std::map<void*, cuda_memory*> lent;
  std::map<void*, std::unique_ptr<device_range>> left;  // of those that are gone
};

lender_table& lenders() {
  static auto* const table = new lender_table;  // pools may release behind the end of main
  return *table;
}

}  // namespace

void detail::begin_lending(cuda_memory& memory) {
  lender_table& table = lenders();
  std::lock_guard const lock{table.mutex};
  table.lend.push_back(&memory);
}

void detail::end_lending(cuda_memory& memory) noexcept {
  lender_table& table = lenders();
  std::lock_guard const lock{table.mutex};
  std::erase(table.lend, &memory);
  for (auto each = table.lent.begin(); each != table.lent.end();) {
    auto const lent = each++;
    if (lent->second != &memory) continue;
    table.left[lent->first] = memory.surrender(lent->first);
    table.lent.erase(lent);
  }
}

void* allocate_for_pool(int device, std::size_t bytes) noexcept {
  lender_table& table = lenders();
  std::lock_guard const lock{table.mutex};
  auto const last = std::find_if(table.lend.rbegin(), table.lend.rend(),
                                 [&](cuda_memory const* each) { return each->device() == device; });
  if (last == table.lend.rend()) return nullptr;
  try {
    void* const memory = (*last)->allocate_unfilled(bytes);
    table.lent.emplace(memory, *last);
    return memory;
  } catch (std::exception const&) {  // the null says it
    return nullptr;
  }
}

void release_from_pool(void* memory, int device) noexcept {
  lender_table& table = lenders();
  std::lock_guard const lock{table.mutex};
  if (auto left = table.left.extract(memory)) destroy_on(device, [&] { left.mapped().reset(); });
  auto const found = table.lent.find(memory);
  if (found == table.lent.end()) return;
  cuda_memory* const lender = found->second;
  table.lent.erase(found);
  lender->release(memory);
}

}  // namespace lull
