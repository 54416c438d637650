// SPDX-License-Identifier: Apache-2.0
#include <lull/host/cuda/pool_memory.hpp>

#include <algorithm>
#include <condition_variable>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include <lull/host/cuda/device_guard.hpp>
#include <lull/host/cuda/memory.hpp>

namespace lull {

namespace {

/// The lock is not held over a lender's work. A lender ends only when no call is inside it.
struct lender_table {
  std::mutex mutex;
  std::condition_variable left_one;
  std::map<cuda_memory*, int> inside;
  std::vector<cuda_memory*> lend;  // the latest comes first
  std::map<void*, cuda_memory*> lent;
  std::map<void*, std::unique_ptr<device_range>> left;  // of lenders that are gone
};

lender_table& lenders() {
  static auto* const table = new lender_table;  // never freed: pools may release after the end of main
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
  std::unique_lock lock{table.mutex};
  std::erase(table.lend, &memory);
  table.left_one.wait(lock, [&] { return !table.inside.contains(&memory); });
  for (auto each = table.lent.begin(); each != table.lent.end();) {
    auto const lent = each++;
    if (lent->second != &memory) continue;
    table.left[lent->first] = memory.surrender(lent->first);
    table.lent.erase(lent);
  }
}

namespace {

/// Keeps the lender alive while it lives. Construct it under the table's lock, and destroy it without.
class visit {
 public:
  visit(lender_table& table, cuda_memory* lender) : table_(table), lender_(lender) { ++table_.inside[lender_]; }
  ~visit() {
    {
      std::lock_guard const lock{table_.mutex};
      if (--table_.inside[lender_] == 0) table_.inside.erase(lender_);
    }
    table_.left_one.notify_all();
  }
  visit(visit const&) = delete;
  visit& operator=(visit const&) = delete;

 private:
  lender_table& table_;
  cuda_memory* const lender_;
};

}  // namespace

void* allocate_for_pool(int device, std::size_t bytes) noexcept try {
  lender_table& table = lenders();
  cuda_memory* lender = nullptr;
  std::optional<visit> inside;
  {
    std::lock_guard const lock{table.mutex};
    auto const last = std::find_if(table.lend.rbegin(), table.lend.rend(),
                                   [&](cuda_memory const* each) { return each->device() == device; });
    if (last == table.lend.rend()) return nullptr;
    lender = *last;
    inside.emplace(table, lender);
  }
  void* const memory = lender->allocate_unfilled(bytes);
  std::lock_guard const lock{table.mutex};
  table.lent.emplace(memory, lender);
  return memory;
} catch (std::exception const&) {  // reported as null
  return nullptr;
}

void release_from_pool(void* memory, int device) noexcept {
  lender_table& table = lenders();
  std::unique_lock lock{table.mutex};
  auto left = table.left.extract(memory);
  auto const lent = table.lent.extract(memory);
  if (lent.empty()) {
    lock.unlock();
    if (left) destroy_on(device, [&] { left.mapped().reset(); });
    return;
  }
  visit const inside{table, lent.mapped()};
  lock.unlock();
  lent.mapped()->release(memory);
}

}  // namespace lull
