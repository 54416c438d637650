// SPDX-License-Identifier: Apache-2.0
#include <lull/host/report/length_histogram.hpp>

#include <algorithm>
#include <bit>
#include <cstddef>

namespace lull {
namespace {

constexpr unsigned octave_bits = 6;
constexpr std::uint64_t octave = std::uint64_t{1} << octave_bits;  // buckets; below 2 × octave a bucket is 1 ns wide
constexpr std::uint64_t max_known_ns = (std::uint64_t{1} << 47) - 1;

std::size_t bucket_of(std::uint64_t ns) {
  auto const width = static_cast<unsigned>(std::bit_width(ns));
  unsigned const shift = width > octave_bits + 1 ? width - octave_bits - 1 : 0;
  return octave * shift + (ns >> shift);
}

std::uint64_t middle_of(std::size_t bucket) {
  if (bucket < 2 * octave) return bucket;
  std::uint64_t const shift = bucket / octave - 1;
  return ((bucket - octave * shift) << shift) + ((std::uint64_t{1} << shift) >> 1);
}

}  // namespace

void length_histogram::add(std::uint64_t ns) {
  std::size_t const bucket = bucket_of(std::min(ns, max_known_ns));
  if (bucket >= buckets_.size()) buckets_.resize(bucket + 1);
  ++buckets_[bucket];
  ++count_;
  shortest_ = std::min(shortest_, ns);
  longest_ = std::max(longest_, ns);
}

void length_histogram::add(length_histogram const& other) {
  if (other.buckets_.size() > buckets_.size()) buckets_.resize(other.buckets_.size());
  for (std::size_t i = 0; i < other.buckets_.size(); ++i) buckets_[i] += other.buckets_[i];
  count_ += other.count_;
  shortest_ = std::min(shortest_, other.shortest_);
  longest_ = std::max(longest_, other.longest_);
}

std::uint64_t length_histogram::percentile_ns(std::uint32_t per_mille) const noexcept {
  if (count_ == 0) return 0;
  // ⌈count · per_mille / 1000⌉ without a product that overflows.
  std::uint64_t const rank = count_ / 1000 * per_mille + (count_ % 1000 * per_mille + 999) / 1000;
  if (rank >= count_) return longest_;
  if (rank <= 1) return shortest_;
  std::uint64_t before = 0;
  std::size_t bucket = 0;
  while (before + buckets_[bucket] < rank) before += buckets_[bucket++];
  return std::clamp(middle_of(bucket), shortest_, longest_);
}

}  // namespace lull
