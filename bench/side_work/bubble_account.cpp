// SPDX-License-Identifier: Apache-2.0
#include <lull/bench/side_work/bubble_account.hpp>

#include <chrono>
#include <string>
#include <thread>
#include <utility>

namespace lull::bench {

namespace {

using namespace std::chrono_literals;
using clock = std::chrono::steady_clock;

constexpr std::uint64_t solo_ns = 24'000'000;  // shorter than any lease at close
constexpr int counted_solo = 17;               // leases at open double from bubble to bubble until they are longer
constexpr std::size_t kept_solo = 5;           // the last ones

}  // namespace

void bubble_account::collect() {
  for (bubble_report& one : side_.take_bubbles()) {
    found_.push_back(std::move(one));
    ++told_;
  }
}

std::vector<bubble_report> bubble_account::settle() {
  auto const began = clock::now();
  for (;;) {
    collect();
    runtime_counts const now = side_.counts();
    auto const patience = now[counted::dropped] == 0 ? 2s : 100ms;  // reports that were lost do not come
    if (told_ >= now[counted::opened] || clock::now() >= began + patience) return std::exchange(found_, {});
    std::this_thread::sleep_for(1ms);
  }
}

std::optional<double> solo_items_per_ns(bubble_account& account,
                                        std::function<void(std::uint64_t)> const& long_bubble) {
  std::vector<bubble_report> told;
  for (int i = 0; i < counted_solo; ++i) {
    long_bubble(solo_ns);
    for (bubble_report& one : account.settle())
      told.push_back(std::move(one));  // what a site learns from a bubble is for the next
  }
  if (told.size() < kept_solo) return std::nullopt;
  std::uint64_t items = 0;
  for (auto one = told.end() - kept_solo; one != told.end(); ++one) {
    if (one->record().lease_blocks != 0 || one->record().items == 0) return std::nullopt;
    items += one->record().items;
  }
  return static_cast<double>(items) / static_cast<double>(kept_solo * solo_ns);
}

nlohmann::ordered_json counts_between(runtime_counts const& before, runtime_counts const& now) {
  nlohmann::ordered_json told = nlohmann::ordered_json::object();
  runtime_counts const since = now.since(before);
  for (std::size_t i = 0; i < counted_kinds; ++i) {
    auto const what = static_cast<counted>(i);
    if (since[what] != 0) told[std::string{name_of(what)}] = since[what];
  }
  return told;
}

}  // namespace lull::bench
