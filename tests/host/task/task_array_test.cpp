// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <lull/host/error.hpp>
#include <lull/host/task/task_array.hpp>
#include <lull/tasks/product/bfloat16.hpp>

namespace lull {
namespace {

class task_arrays : public testing::Test {
 protected:
  /// Returns a checkpoint's description of seven T.
  template <class T>
  std::string shown() const {
    device_array<T> const seven{*executor_, 7};
    task_array const made = array_of("seven", seven);
    EXPECT_EQ(made.array.name, "seven");
    EXPECT_EQ(made.array.bytes(), seven.bytes());
    EXPECT_EQ(made.memory, seven.data());
    return format_shape(made.array);
  }

  std::unique_ptr<executor> const executor_ = make_executor({.kind = executor_kind::threads});
};

enum class colour : std::int16_t { red };
struct pair_of_floats {
  using element = float;
  float x, y;
};
struct half {
  static constexpr tensor_type element = tensor_type::f16;
  std::uint16_t bits[2];
};
struct mixed {
  double sum;
  std::uint32_t count;
};

TEST_F(task_arrays, are_of_their_own_elements) {
  EXPECT_EQ(shown<unsigned char>(), "U8 (7,)");
  EXPECT_EQ(shown<std::uint16_t>(), "U16 (7,)");
  EXPECT_EQ(shown<std::uint32_t>(), "U32 (7,)");
  EXPECT_EQ(shown<std::uint64_t>(), "U64 (7,)");
  EXPECT_EQ(shown<unsigned long long>(), "U64 (7,)");
  EXPECT_EQ(shown<std::int8_t>(), "I8 (7,)");
  EXPECT_EQ(shown<std::int16_t>(), "I16 (7,)");
  EXPECT_EQ(shown<std::int32_t>(), "I32 (7,)");
  EXPECT_EQ(shown<std::int64_t>(), "I64 (7,)");
  EXPECT_EQ(shown<float>(), "F32 (7,)");
  EXPECT_EQ(shown<double>(), "F64 (7,)");
  EXPECT_EQ(shown<bool>(), "BOOL (7,)");
  EXPECT_EQ(shown<std::byte>(), "U8 (7,)");
  EXPECT_EQ(shown<colour>(), "I16 (7,)");
}

TEST_F(task_arrays, of_structs_have_their_numbers_as_last_dimension) {
  EXPECT_EQ(shown<bfloat16>(), "BF16 (7,)");
  EXPECT_EQ(shown<pair_of_floats>(), "F32 (7, 2)");
  EXPECT_EQ(shown<half>(), "F16 (7, 2)");
  EXPECT_EQ(shown<mixed>(), "U8 (7, 16)");
}

TEST_F(task_arrays, hold_no_more_than_was_asked_for) {
  device_array<int> four{*executor_, 4};
  EXPECT_NO_THROW(four.write(std::vector<int>(4, 7)));
  EXPECT_THROW(four.write(std::vector<int>(5, 8)), usage_error);
  EXPECT_EQ(four.read(), std::vector<int>(4, 7));
}

TEST_F(task_arrays, have_the_shape_that_is_given) {
  device_array<float> const plain{*executor_, 24};
  EXPECT_EQ(format_shape(array_of("a", plain, {2, 3, 4}).array), "F32 (2, 3, 4)");
  device_array<pair_of_floats> const pairs{*executor_, 24};
  EXPECT_EQ(format_shape(array_of("a", pairs, {6, 4}).array), "F32 (6, 4, 2)");
  device_array<std::byte> const bytes{*executor_, 48};
  EXPECT_EQ(format_shape(array_of("a", bytes, tensor_type::f32, {3, 4}).array), "F32 (3, 4)");
  device_array<double> const one{*executor_, 1};
  EXPECT_EQ(format_shape(array_of("a", one, {}).array), "F64 ()");
  device_array<double> const none;
  EXPECT_EQ(format_shape(array_of("a", none).array), "F64 (0,)");
}

TEST_F(task_arrays, of_a_shape_that_is_not_theirs_are_refused) {
  device_array<float> const plain{*executor_, 24};
  for (std::uint64_t const columns : {3u, 5u}) {
    try {
      array_of("weights", plain, {6, columns});
      ADD_FAILURE() << columns;
    } catch (usage_error const& wrong) {
      EXPECT_EQ(std::string{wrong.what()}, "array weights has 96 bytes, but its shape " + std::to_string(24 * columns) +
                                               ": give array_of a shape of all of its elements");
    }
  }
}

TEST_F(task_arrays, are_written_from_any_element_on_and_within_their_ends) {
  device_array<std::uint32_t> array{*executor_, 4};
  array.write(std::vector<std::uint32_t>{1, 2, 3, 4});
  array.write(std::vector<std::uint32_t>{8, 9}, 2);
  array.write(std::vector<std::uint32_t>{}, 4);
  EXPECT_EQ(array.read(), (std::vector<std::uint32_t>{1, 2, 8, 9}));
  std::vector<std::uint32_t> const two{5, 6};
  EXPECT_THROW(array.write(two, 3), usage_error);
  EXPECT_THROW(array.write(two, 5), usage_error);
  EXPECT_THROW(array.write(two, ~std::size_t{0}), usage_error);
  EXPECT_EQ(array.read(), (std::vector<std::uint32_t>{1, 2, 8, 9}));
}

}  // namespace
}  // namespace lull
