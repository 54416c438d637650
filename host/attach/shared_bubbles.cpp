// SPDX-License-Identifier: Apache-2.0
#include <lull/host/attach/shared_bubbles.hpp>

#include <algorithm>

namespace lull::attach {

namespace {

std::int64_t ns_of(shared_bubbles::time_point when) noexcept {
  return std::chrono::nanoseconds{when.time_since_epoch()}.count();
}

}  // namespace

std::optional<std::uint32_t> shared_bubbles::number_of(std::string_view site) noexcept {
  if (site.size() > max_site_bytes || site.find('\0') != std::string_view::npos) return std::nullopt;
  shared_page& all = page();
  std::lock_guard const lock{naming_};
  std::uint32_t const known = all.named.load(std::memory_order_relaxed);
  for (std::uint32_t i = 0; i < known; ++i) {
    if (site == std::string_view{all.sites[i].data()}) return i;
  }
  if (known == max_sites) return std::nullopt;
  std::copy(site.begin(), site.end(), all.sites[known].begin());
  all.named.store(known + 1, std::memory_order_release);
  return known;
}

void shared_bubbles::tell(std::uint32_t gate, announced_bubble const& what) noexcept {
  shared_gate& here = page().gates[gate];
  announcement& to = here.of(what.bubble);
  to.version.store(2 * what.bubble, std::memory_order_relaxed);
  // release: a reader of one of these reads that the bubble is being written, too
  to.value.store(what.value, std::memory_order_release);
  to.site.store(what.site, std::memory_order_release);
  to.worker.store(what.worker, std::memory_order_release);
  to.halved.store(what.halved ? 1 : 0, std::memory_order_release);
  to.called_ns.store(ns_of(what.called), std::memory_order_release);
  to.left_ns.store(0, std::memory_order_release);
  to.version.store(2 * what.bubble + 1, std::memory_order_release);
  here.opened.store(what.bubble, std::memory_order_release);
}

void shared_bubbles::tell_close(std::uint32_t gate, std::uint64_t bubble, time_point left) noexcept {
  page().gates[gate].of(bubble).left_ns.store(std::max<std::int64_t>(1, ns_of(left)), std::memory_order_release);
}

}  // namespace lull::attach
