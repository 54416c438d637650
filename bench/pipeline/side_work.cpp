// SPDX-License-Identifier: Apache-2.0
#include <lull/bench/pipeline/side_work.hpp>

#include <algorithm>
#include <numeric>
#include <span>

#include <lull/apps/lull/statistics.hpp>
#include <lull/apps/lull/trainer/kernels.hpp>
#include <lull/host/cuda/check.hpp>
#include <lull/host/error.hpp>
#include <lull/host/solo/solo_run.hpp>
#include <lull/tasks/synthetic.hpp>

namespace lull::bench {

side_work::side_work(runtime& side, kind what, std::chrono::milliseconds solo_for,
                     std::function<void()> const& meanwhile)
    : side_(side) {
  constexpr std::uint64_t endless = std::uint64_t{1} << 38;
  constexpr std::uint64_t tiles = std::uint64_t{1} << 16;  // 1 GiB an array, far beyond the L2
  executor& machine = side.machine();
  if (what == kind::compute) {
    from_ = machine_array<float>{machine, 1};
    description_ = describe(compute_task{from_.data(), endless, 1, 32});
  } else {
    from_ = machine_array<float>{machine, tiles * streaming_task::tile};
    to_ = machine_array<float>{machine, tiles * streaming_task::tile};
    trainer::fill_random_bf16(nullptr, from_.data(), from_.size() * 2, 7);
    LULL_CUDA(cudaStreamSynchronize(nullptr));
    description_ = describe(streaming_task{from_.data(), to_.data(), tiles, endless});
  }
  auto const stop = [&](std::span<solo_run const>) {
    meanwhile();
    return false;
  };
  solo_items_per_s_ = run_to_end(description_, machine, {.at_most = solo_for, .stop = stop}).items_per_s();
  if (solo_items_per_s_ <= 0) throw limit_error{"the side task did nothing with the machine to itself"};
  job_ = side.submit(description_);
}

side_work::~side_work() {
  job_.cancel();
  job_.wait(std::chrono::seconds{10});
}

void side_work::begin() {
  side_.take_bubbles();
  sites_.clear();
  lease_exits_ = 0;
  before_ = side_.counts();
}

void side_work::collect() {
  for (bubble_report const& one : side_.take_bubbles()) {
    at_site& at = sites_[one.site];
    lease_exits_ += one.record().lease_blocks;
    at.items += one.record().items;
    if (one.host_ahead && !*one.host_ahead) ++at.not_ahead;
    if (one.length.count() == 0) {
      ++at.unknown;
      continue;
    }
    at.length_us.push_back(static_cast<double>(one.length.count()) / 1e3);
    at.work_us += over_machine(one, &bubble_record::stay_ns) / 1e3;
  }
}

nlohmann::json side_work::of(at_site const& site) const {
  distribution const lengths = summarise(site.length_us);
  double const total_us = std::accumulate(site.length_us.begin(), site.length_us.end(), 0.0);
  nlohmann::json made{
      {"bubbles", lengths.n}, {"unknown", site.unknown}, {"host_late", site.not_ahead}, {"ms", total_us / 1e3}};
  if (lengths.n == 0) return made;
  made["p50_us"] = *lengths.p50;
  made["p99_us"] = *lengths.p99;
  made["harvest"] = static_cast<double>(site.items) / solo_items_per_s_ * 1e6 / total_us;
  made["worked"] = site.work_us / total_us;
  return made;
}

nlohmann::json side_work::report() const {
  at_site all;
  nlohmann::json by_site = nlohmann::json::object();
  for (auto const& [name, site] : sites_) {
    by_site[name] = of(site);
    all.length_us.insert(all.length_us.end(), site.length_us.begin(), site.length_us.end());
    all.work_us += site.work_us;
    all.items += site.items;
    all.unknown += site.unknown;
    all.not_ahead += site.not_ahead;
  }
  nlohmann::json made = of(all);
  runtime_counts const since = side_.counts().since(before_);
  made["items"] = all.items;
  made["items_per_s_alone"] = solo_items_per_s_;
  made["lease_exits"] = lease_exits_;
  made["passed_over"] = {{"too_short", since[counted::too_short]},
                         {"fruitless", since[counted::all_handed_back]},
                         {"no_job", since[counted::no_job]},
                         {"behind", since[counted::records_unread]},
                         {"dropped", since[counted::dropped]}};
  made["opened"] = since[counted::opened];
  made["replayed"] = since[counted::replayed];
  made["sites"] = std::move(by_site);
  return made;
}

}  // namespace lull::bench
