// SPDX-License-Identifier: Apache-2.0
// Integers that several threads change at once. tests/host/contract/ runs a functor with them, also on a GPU.
#include <cstdint>
#include <limits>
#include <thread>
#include <type_traits>
#include <vector>

#include <gtest/gtest.h>

#include <lull/device/atomic_integer.hpp>

namespace lull {
namespace {

template <class T>
constexpr bool fits = requires(T& word) { atomic_integer{word}; };
static_assert(fits<std::uint32_t> && fits<std::uint64_t> && fits<std::int32_t> && fits<std::int64_t>);
static_assert(fits<unsigned long long>, "std::uint64_t is another type");
static_assert(!fits<float> && !fits<double> && !fits<std::uint8_t> && !fits<std::uint32_t const>);

constexpr int threads = 4;
constexpr int times = 20'000;

/// Calls change(i) for each i from 1 to threads × times, on several threads.
template <class Change>
void from_all_threads(Change const& change) {
  std::vector<std::jthread> running;
  for (int thread = 0; thread < threads; ++thread) {
    running.emplace_back([&change, thread] {
      for (int i = 1 + thread; i <= threads * times; i += threads) change(i);
    });
  }
}

template <class T>
class atomic_integers : public testing::Test {
 protected:
  static constexpr T least = std::numeric_limits<T>::min();
  static constexpr T greatest = std::numeric_limits<T>::max();
};
using integers = testing::Types<std::uint32_t, std::uint64_t, std::int32_t, std::int64_t>;
TYPED_TEST_SUITE(atomic_integers, integers);

TYPED_TEST(atomic_integers, lose_no_addition) {
  TypeParam sum = 0;
  from_all_threads([&](int i) {
    if (i % 2 == 0) {
      atomic_integer{sum}.add(static_cast<TypeParam>(i % 7));
    } else {
      atomic_integer{sum}.fetch_add(static_cast<TypeParam>(i % 7));
    }
  });
  TypeParam expected = 0;
  for (int i = 1; i <= threads * times; ++i) expected += static_cast<TypeParam>(i % 7);
  EXPECT_EQ(sum, expected);
}

TYPED_TEST(atomic_integers, keep_the_least_and_the_greatest) {
  TypeParam low = this->greatest;
  TypeParam high = this->least;
  // Also below zero, for signed types.
  auto const value = [](int i) { return static_cast<TypeParam>(i - (std::is_signed_v<TypeParam> ? times : 0)); };
  from_all_threads([&](int i) {
    atomic_integer{low}.fetch_min(value(i));
    atomic_integer{high}.fetch_max(value(i));
  });
  EXPECT_EQ(low, value(1));
  EXPECT_EQ(high, value(threads * times));
}

TYPED_TEST(atomic_integers, return_the_value_before) {
  TypeParam word = 5;
  atomic_integer const at{word};
  EXPECT_EQ(at.fetch_add(3), TypeParam{5});
  EXPECT_EQ(at.fetch_min(9), TypeParam{8});
  EXPECT_EQ(at.fetch_min(6), TypeParam{8});
  EXPECT_EQ(at.fetch_max(2), TypeParam{6});
  EXPECT_EQ(at.fetch_max(7), TypeParam{6});
  EXPECT_EQ(at.load(), TypeParam{7});
}

TYPED_TEST(atomic_integers, wrap_around) {
  TypeParam word = this->greatest;
  atomic_integer{word}.fetch_add(1);
  EXPECT_EQ(word, this->least);
}

TYPED_TEST(atomic_integers, are_exchanged_by_one_thread_at_a_time) {
  TypeParam word = 0;
  from_all_threads([&](int) {
    atomic_integer const at{word};
    TypeParam seen = at.load();
    while (!at.compare_exchange(seen, static_cast<TypeParam>(seen + 1))) continue;
  });
  EXPECT_EQ(word, TypeParam{threads * times});
  TypeParam expected = 1;
  EXPECT_FALSE(atomic_integer{word}.compare_exchange(expected, TypeParam{2}));
  EXPECT_EQ(expected, TypeParam{threads * times});
}

}  // namespace
}  // namespace lull
