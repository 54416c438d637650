// SPDX-License-Identifier: Apache-2.0
#include <lull/host/measure/plain_kernels.hpp>

#include <algorithm>

#include <lull/device/threads_world.hpp>
#include <lull/host/threads/executor.hpp>
#include <lull/host/threads/worker.hpp>

namespace lull {

namespace {

using w = threads_world;

class threads_plain_kernels final : public plain_kernels {
 public:
  threads_plain_kernels(executor& executor, worker_kernel const& kernel)
      : executor_(executor), kernel_(kernel), pool_(executor.place().processors, width_of(executor)) {}
  ~threads_plain_kernels() override { stream().synchronize(); }

  void phase(functor_bytes const& functor, chunk const& items, std::uint32_t grain) override {
    stream().enqueue([this, functor, items, grain] {
      auto const phase = reinterpret_cast<detail::phase_function>(const_cast<void*>(kernel_.phase));
      std::uint64_t const blocks = static_cast<std::uint64_t>(pool_.blocks());
      std::uint64_t const chunks = (items.size() + grain - 1) / grain;
      // A contiguous share for each block, as in a plain parallel loop.
      pool_.run(kernel_.shape.shared_bytes, [&](thread_block const& block, int index) {
        std::uint64_t const first = chunks * static_cast<std::uint64_t>(index) / blocks;
        std::uint64_t const last = chunks * (static_cast<std::uint64_t>(index) + 1) / blocks;
        for (std::uint64_t c = first; c < last; ++c) {
          std::uint64_t const begin = items.begin + c * grain;
          phase(functor.bytes, {items.at, begin, std::min(begin + grain, items.end)}, block);
          block.sync();
        }
      });
    });
  }

  void between(functor_bytes const& functor, std::optional<position> ended, position next,
               mapped_memory extent) override {
    stream().enqueue([this, functor, ended, next, extent] {
      auto const between = reinterpret_cast<detail::between_function>(const_cast<void*>(kernel_.between));
      pool_.run(kernel_.shape.shared_bytes, [&](thread_block const& block, int index) {
        if (index != 0) return;
        std::uint64_t const items = between(functor.bytes, ended ? &*ended : nullptr, next, 0, block);
        if (block.rank() == 0 && extent.device != nullptr)
          w::store<order::release, scope::system>(*static_cast<std::uint64_t*>(extent.device), items);
      });
    });
  }

 private:
  static int width_of(executor& executor) {
    auto const* const threads = dynamic_cast<threads_executor const*>(&executor);
    return threads != nullptr ? threads->team_width() : 1;
  }

  threads_stream& stream() { return *static_cast<threads_stream*>(executor_.own_stream()); }

  executor& executor_;
  worker_kernel const kernel_;
  block_pool pool_;
};

}  // namespace

std::unique_ptr<plain_kernels> make_plain_kernels(executor& executor, worker_kernel const& kernel) {
  executor.load(kernel, 0);
  if (executor.kind() == executor_kind::cuda) return make_cuda_plain_kernels(executor, kernel);
  return std::make_unique<threads_plain_kernels>(executor, kernel);
}

}  // namespace lull
