// SPDX-License-Identifier: Apache-2.0
#include <lull/host/io/units.hpp>

#include <array>
#include <charconv>
#include <cmath>
#include <limits>
#include <span>
#include <system_error>

#include <lull/host/error.hpp>

namespace lull {
namespace {

struct unit {
  std::string_view name;
  std::uint64_t factor;
};

constexpr std::array size_units{unit{"TiB", 1ull << 40},
                                unit{"GiB", 1ull << 30},
                                unit{"MiB", 1ull << 20},
                                unit{"KiB", 1ull << 10},
                                unit{"TB", 1'000'000'000'000},
                                unit{"GB", 1'000'000'000},
                                unit{"MB", 1'000'000},
                                unit{"KB", 1'000},
                                unit{"B", 1}};
// Largest first, the order in which a printer tries them. Printing starts at seconds.
constexpr std::array duration_units{unit{"d", 86'400'000'000'000},
                                    unit{"h", 3'600'000'000'000},
                                    unit{"min", 60'000'000'000},
                                    unit{"s", 1'000'000'000},
                                    unit{"ms", 1'000'000},
                                    unit{"us", 1'000},
                                    unit{"ns", 1}};
constexpr std::span printed_units = std::span{duration_units}.subspan<3>();
constexpr std::chrono::nanoseconds max_duration = std::chrono::hours{24 * 365 * 100};

std::string quoted(std::string_view text) { return "\"" + std::string{text} + "\""; }

template <class Number>
std::from_chars_result convert(std::string_view text, Number& number) {
  return std::from_chars(text.data(), text.data() + text.size(), number);
}

template <class Units>
unit const* find_unit(Units const& units, std::string_view name) {
  for (unit const& candidate : units) {
    if (candidate.name == name) return &candidate;
  }
  return nullptr;
}

// A decimal before a unit. The first character excludes what from_chars takes but people do not write (hexadecimal,
// "inf").
struct measure {
  double number;
  std::string_view number_text;
  std::string_view unit_name;
};

measure split_measure(std::string_view text, std::string_view expected) {
  measure result{};
  std::size_t const digits = text.starts_with('-') ? 1 : 0;
  bool const starts_well =
      text.size() > digits && (text[digits] == '.' || (text[digits] >= '0' && text[digits] <= '9'));
  auto const read = std::from_chars(text.data(), text.data() + text.size(), result.number, std::chars_format::fixed);
  if (!starts_well || read.ec != std::errc{}) {
    throw usage_error(quoted(text) + " is not " + std::string{expected});
  }
  auto const length = static_cast<std::size_t>(read.ptr - text.data());
  result.number_text = text.substr(0, length);
  result.unit_name = text.substr(length);
  if (result.number < 0) throw usage_error(quoted(text) + " is negative");
  return result;
}

}  // namespace

std::int64_t parse_integer(std::string_view text) {
  std::int64_t value = 0;
  auto const read = convert(text, value);
  if (read.ec == std::errc::result_out_of_range) throw usage_error(quoted(text) + " does not fit 64 bits");
  if (read.ec != std::errc{} || read.ptr != text.data() + text.size()) {
    throw usage_error(quoted(text) + " is not an integer, such as 42");
  }
  return value;
}

double parse_real(std::string_view text) {
  double value = 0;
  auto const read = convert(text, value);
  if (read.ec == std::errc::result_out_of_range) throw usage_error(quoted(text) + " does not fit a double");
  if (read.ec != std::errc{} || read.ptr != text.data() + text.size() || !std::isfinite(value)) {
    throw usage_error(quoted(text) + " is not a number, such as 0.85 or 1e-6");
  }
  return value;
}

std::uint64_t parse_size(std::string_view text) {
  constexpr std::string_view expected = "a size, such as 1000, 512MiB or 4GiB";
  // A number without a unit is read as an integer, so that all 64 bits are exact.
  std::uint64_t whole = 0;
  auto const read = convert(text, whole);
  if (read.ec == std::errc{} && read.ptr == text.data() + text.size()) return whole;
  if (read.ec == std::errc::result_out_of_range) throw usage_error(quoted(text) + " does not fit 64 bits");

  measure const parts = split_measure(text, expected);
  unit const* const found = find_unit(size_units, parts.unit_name);
  if (found == nullptr) {
    throw usage_error(quoted(text) + " is not " + std::string{expected} +
                      ": units are B, KiB, MiB, GiB, TiB, KB, MB, GB and TB");
  }
  double const bytes = parts.number * static_cast<double>(found->factor);
  if (bytes >= 0x1p63) throw usage_error(quoted(text) + " is more than 8 EiB");
  if (bytes != std::floor(bytes)) throw usage_error(quoted(text) + " is not a whole number of bytes");
  return static_cast<std::uint64_t>(bytes);
}

std::chrono::nanoseconds parse_duration(std::string_view text) {
  constexpr std::string_view expected = "a duration, such as 100us, 2ms, 1.5s or 30min";
  measure const parts = split_measure(text, expected);
  if (parts.unit_name.empty() && parts.number == 0) return {};
  unit const* const found = find_unit(duration_units, parts.unit_name);
  if (found == nullptr) {
    throw usage_error(quoted(text) + " is not " + std::string{expected} + ": units are ns, us, ms, s, min, h and d");
  }
  double const nanoseconds = std::round(parts.number * static_cast<double>(found->factor));
  if (nanoseconds > static_cast<double>(max_duration.count())) {
    throw usage_error(quoted(text) + " is more than 100 years");
  }
  return std::chrono::nanoseconds{static_cast<std::int64_t>(nanoseconds)};
}

std::string format_duration(std::chrono::nanoseconds duration) {
  if (duration.count() == 0) return "0";
  std::uint64_t const magnitude = duration.count() < 0 ? 0 - static_cast<std::uint64_t>(duration.count())
                                                       : static_cast<std::uint64_t>(duration.count());
  std::string text = duration.count() < 0 ? "-" : "";
  for (unit const& candidate : printed_units) {
    if (magnitude < candidate.factor) continue;
    text += std::to_string(magnitude / candidate.factor);
    if (std::uint64_t const rest = magnitude % candidate.factor; rest != 0) {
      std::string const fraction = std::to_string(candidate.factor + rest).substr(1);  // keeps leading zeros
      text += "." + fraction.substr(0, fraction.find_last_not_of('0') + 1);
    }
    return text + std::string{candidate.name};
  }
  return text;
}

}  // namespace lull
