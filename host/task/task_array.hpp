// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <bit>
#include <cstdint>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include <lull/host/array.hpp>
#include <lull/host/error.hpp>
#include <lull/host/io/tensor.hpp>

namespace lull {

/// A piece of a task's state on the machine. All pieces and the cursor are the task's whole state between two bubbles.
struct task_array {
  tensor_info array;  // its name and content, as a checkpoint shows it
  void* memory = nullptr;
};

namespace detail {

/// Returns the type of the numbers in an array of T. A struct declares the type of all its members: `using element =
/// float;` or `static constexpr tensor_type element = tensor_type::f16;`. Any other struct is bytes.
template <class T>
constexpr tensor_type tensor_type_of() noexcept {
  if constexpr (requires { tensor_type{T::element}; }) {
    return T::element;
  } else if constexpr (requires { typename T::element; }) {
    return tensor_type_of<typename T::element>();
  } else if constexpr (std::is_enum_v<T>) {
    return tensor_type_of<std::underlying_type_t<T>>();
  } else if constexpr (std::is_same_v<T, bool>) {
    return tensor_type::boolean;
  } else if constexpr (std::is_integral_v<T>) {
    using enum tensor_type;
    constexpr tensor_type by_size[2][4]{{u8, u16, u32, u64}, {i8, i16, i32, i64}};
    return by_size[std::is_signed_v<T> ? 1 : 0][std::countr_zero(sizeof(T))];
  } else if constexpr (std::is_same_v<T, float>) {
    return tensor_type::f32;
  } else if constexpr (std::is_same_v<T, double>) {
    return tensor_type::f64;
  } else {
    return tensor_type::u8;
  }
}

}  // namespace detail

/// The whole of an array, as `shape` of numbers of `type`, in C order. Throws usage_error for a shape of more or fewer
/// bytes than the array has.
template <class T>
task_array array_of(std::string name, device_array<T> const& array, tensor_type type,
                    std::vector<std::uint64_t> shape) {
  task_array made{{std::move(name), type, std::move(shape)}, array.data()};
  if (made.array.bytes() == array.bytes()) return made;
  throw usage_error{"array " + made.array.name + " has " + std::to_string(array.bytes()) + " bytes, but its shape " +
                    std::to_string(made.array.bytes()) + ": give array_of a shape of all of its elements"};
}

/// Describes an array of T, as `shape` of its numbers. Where each T is several numbers, or bytes, they are one more
/// dimension.
template <class T>
tensor_info info_of(std::string name, std::vector<std::uint64_t> shape) {
  constexpr tensor_type type = detail::tensor_type_of<T>();
  constexpr std::uint64_t numbers = sizeof(T) / element_bytes(type);
  static_assert(numbers * element_bytes(type) == sizeof(T), "T has to be a whole number of T::element");
  if constexpr (numbers != 1) shape.push_back(numbers);
  return {std::move(name), type, std::move(shape)};
}

/// As info_of<T>.
template <class T>
task_array array_of(std::string name, device_array<T> const& array, std::vector<std::uint64_t> shape) {
  tensor_info made = info_of<T>(std::move(name), std::move(shape));
  return array_of(std::move(made.name), array, made.type, std::move(made.shape));
}

/// (size,) of T
template <class T>
task_array array_of(std::string name, device_array<T> const& array) {
  return array_of(std::move(name), array, {array.size()});
}

}  // namespace lull
