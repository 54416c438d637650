// SPDX-License-Identifier: Apache-2.0
#include <lull/bench/side_work/endless_work.hpp>

#include <chrono>
#include <thread>
#include <utility>

#include <lull/graph/pagerank/pagerank_owner.hpp>
#include <lull/host/error.hpp>
#include <lull/host/measure/cuda/kernels.hpp>
#include <lull/tasks/mlp/mlp_owner.hpp>
#include <lull/tasks/product/product_owner.hpp>
#include <lull/tasks/synthetic.hpp>

namespace lull::bench {

namespace {

constexpr std::uint64_t endless = std::uint64_t{1} << 38;
constexpr std::uint32_t fma = 32;                        // of an item: 0.13 µs with 1024 threads on an SM
constexpr std::uint64_t tiles = std::uint64_t{1} << 16;  // 1 GiB an array, far beyond the L2

/// A task with an owner, and the options that make it endless.
struct owned_work {
  task_entry entry;
  std::vector<std::pair<std::string, std::string>> given;

  option_values values() const {
    option_values made{entry.options};
    for (auto const& [name, text] : given) made.set(name, text);
    return made;
  }
};

owned_work owned(work_kind what, work_settings const& with) {
  switch (what) {
    case work_kind::pagerank:
      return {pagerank_entry(), {{"kronecker", "22"}, {"sweeps", "1000000"}, {"tolerance", "1e-30"}}};
    case work_kind::product:
      return {product_entry(),
              {{"rows", with.size},
               {"columns", with.size},
               {"depth", with.size},
               {"rounds", "1000000000"},
               {"leave", with.leave}}};
    case work_kind::mlp:
      return {mlp_entry(), {{"hidden", "1024"}, {"batch", "512"}, {"epochs", "100000"}}};
    default:
      throw usage_error{"no such kind of work"};
  }
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

std::vector<std::string> work_names() {
  std::vector<std::string> names;
  for (auto const& [name, kind] : work_kinds()) names.push_back(name);
  return names;
}

task_type type_of(work_kind what, work_settings const& with) {
  switch (what) {
    case work_kind::compute:
      return lull::type_of<compute_task>();
    case work_kind::streaming:
      return lull::type_of<streaming_task>();
    default: {
      owned_work const asked = owned(what, with);
      return asked.entry.type(asked.values());
    }
  }
}

endless_work::endless_work(runtime& side, work_kind what, work_settings const& with) : executor_(executor_of(side)) {
  switch (what) {
    case work_kind::compute:
      from_ = device_array<float>{executor_, 1};
      description_ = describe(compute_task{from_.data(), endless, 1, fma});
      break;
    case work_kind::streaming:
      from_ = device_array<float>{executor_, tiles * streaming_task::tile};
      to_ = device_array<float>{executor_, tiles * streaming_task::tile};
      trainer::fill_random_bf16(nullptr, from_.data(), from_.size() * 2, 7);
      description_ = describe(streaming_task{from_.data(), to_.data(), tiles, endless});
      break;
    default: {
      owned_work const asked = owned(what, with);
      owner_ = asked.entry.make(asked.values());
      owner_->prepare(executor_);
      description_ = owner_->describe();
    }
  }
  job_ = side.submit(description_);
}

endless_work::~endless_work() {
  job_.cancel();
  job_.wait(std::chrono::seconds{10});
}

void wait_until_ready(runtime& side, stream_handle stream) {
  using clock = std::chrono::steady_clock;
  for (auto const give_up = clock::now() + std::chrono::seconds{10}; !side.ready(stream);) {
    if (clock::now() >= give_up) throw limit_error{"the side task's job was not ready within 10 s"};
    std::this_thread::sleep_for(std::chrono::milliseconds{1});
  }
}

}  // namespace lull::bench
