// SPDX-License-Identifier: Apache-2.0
#include <lull/bench/side_work/endless_work.hpp>

#include <chrono>
#include <thread>
#include <utility>

#include <lull/apps/lull/trainer/kernels.hpp>
#include <lull/graph/pagerank/pagerank_owner.hpp>
#include <lull/host/error.hpp>
#include <lull/tasks/mlp/mlp_owner.hpp>
#include <lull/tasks/product/product_owner.hpp>
#include <lull/tasks/synthetic.hpp>

namespace lull::bench {

namespace {

constexpr std::uint64_t endless = std::uint64_t{1} << 38;
constexpr std::uint64_t tiles = std::uint64_t{1} << 16;  // 1 GiB an array, far beyond the L2

option_values values_of(task_entry const& entry, std::vector<std::pair<std::string, std::string>> const& given) {
  option_values values{entry.options};
  for (auto const& [name, text] : given) values.set(name, text);
  return values;
}

}  // namespace

std::map<std::string, work_kind> const& work_kinds() {
  static std::map<std::string, work_kind> const kinds{{"compute", work_kind::compute},
                                                      {"streaming", work_kind::streaming},
                                                      {"pagerank", work_kind::pagerank},
                                                      {"product", work_kind::product},
                                                      {"mlp", work_kind::mlp}};
  return kinds;
}

task_type type_of(work_kind what, work_settings const& with) {
  switch (what) {
    case work_kind::compute:
      switch (with.threads) {
        case 256:
          return lull::type_of<basic_compute_task<256>>();
        case 512:
          return lull::type_of<basic_compute_task<512>>();
        default:
          return lull::type_of<compute_task>();
      }
    case work_kind::streaming:
      return lull::type_of<streaming_task>();
    case work_kind::pagerank:
      return pagerank_entry().type(values_of(pagerank_entry(), {}));
    case work_kind::product:
      return product_entry().type(values_of(product_entry(), {{"leave", with.leave}}));
    case work_kind::mlp:
      return mlp_entry().type(values_of(mlp_entry(), {}));
  }
  throw usage_error{"no such kind of work"};
}

endless_work::endless_work(runtime& side, work_kind what, work_settings const& with) : executor_(executor_of(side)) {
  switch (what) {
    case work_kind::compute:
      from_ = device_array<float>{executor_, 1};
      switch (with.threads) {
        case 256:
          description_ = describe(basic_compute_task<256>{from_.data(), endless, 1, with.fma});
          break;
        case 512:
          description_ = describe(basic_compute_task<512>{from_.data(), endless, 1, with.fma});
          break;
        default:
          description_ = describe(compute_task{from_.data(), endless, 1, with.fma});
      }
      break;
    case work_kind::streaming:
      from_ = device_array<float>{executor_, tiles * streaming_task::tile};
      to_ = device_array<float>{executor_, tiles * streaming_task::tile};
      trainer::fill_random_bf16(nullptr, from_.data(), from_.size() * 2, 7);
      description_ = describe(streaming_task{from_.data(), to_.data(), tiles, endless});
      break;
    case work_kind::pagerank:
      make(pagerank_entry(), {{"kronecker", with.kronecker}, {"sweeps", "1000000"}, {"tolerance", "1e-30"}});
      break;
    case work_kind::product:
      make(product_entry(), {{"rows", with.size},
                             {"columns", with.size},
                             {"depth", with.size},
                             {"rounds", "1000000000"},
                             {"leave", with.leave}});
      break;
    case work_kind::mlp:
      make(mlp_entry(), {{"hidden", "1024"}, {"batch", "512"}, {"epochs", "100000"}});
      break;
  }
  description_.grain = with.grain;
  description_.blocks_per_processor = with.blocks;
  jobs_.push_back(side.submit(description_));
  if (!with.successor) return;
  description_.name = "successor";
  jobs_.push_back(side.submit(description_));
}

endless_work::~endless_work() {
  for (job& each : jobs_) each.cancel();
  for (job& each : jobs_) each.wait(std::chrono::seconds{10});
}

void endless_work::make(task_entry const& entry, std::vector<std::pair<std::string, std::string>> const& given) {
  owner_ = entry.make(values_of(entry, given));
  owner_->prepare(executor_);
  description_ = owner_->describe();
}

void wait_until_ready(runtime& side, stream_handle stream) {
  using clock = std::chrono::steady_clock;
  for (auto const give_up = clock::now() + std::chrono::seconds{10}; !side.ready(stream);) {
    if (clock::now() >= give_up) throw limit_error{"the side task's job was not ready within 10 s"};
    std::this_thread::sleep_for(std::chrono::milliseconds{1});
  }
}

}  // namespace lull::bench
