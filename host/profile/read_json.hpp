// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <optional>
#include <string>

#include <nlohmann/json.hpp>

#include <lull/host/error.hpp>
#include <lull/host/io/whole_number.hpp>

namespace lull::detail {

/// Returns nothing if the key is absent or null.
template <class T>
std::optional<T> maybe(nlohmann::json const& of, char const* key) {
  auto const found = of.find(key);
  return found != of.end() && !found->is_null() ? std::optional{found->get<T>()} : std::nullopt;
}

/// Returns a number in a range. Throws usage_error.
inline std::optional<double> number(nlohmann::json const& of, char const* key, double least, double most) {
  auto const found = maybe<double>(of, key);
  if (found && !(*found >= least && *found <= most)) {
    throw usage_error{std::string{key} + " is " + std::to_string(*found) + ": it must be from " +
                      std::to_string(least) + " to " + std::to_string(most)};
  }
  return found;
}
/// Returns a count. Throws usage_error.
inline std::optional<std::uint64_t> count(nlohmann::json const& of, char const* key) {
  auto const found = of.find(key);
  if (found == of.end() || found->is_null()) return std::nullopt;
  auto const whole = count_in(*found);
  if (!whole) throw usage_error{std::string{key} + " is no count"};
  return whole;
}

/// Returns a list. Throws usage_error if it is absent.
inline nlohmann::json const& list(nlohmann::json const& of, char const* key) {
  auto const found = of.find(key);
  if (found == of.end() || !found->is_array()) throw usage_error{std::string{key} + " is no list"};
  return *found;
}

/// Returns json's message about a file on one line: it repeats the file's bytes, which may not be text.
inline std::string printable(std::string text, std::size_t most) {
  for (char& each : text) {
    if (static_cast<unsigned char>(each) < 0x20U || static_cast<unsigned char>(each) > 0x7eU) each = '?';
  }
  return text.size() > most ? text.substr(0, most) + "…" : text;
}

/// Returns what `read` makes of a regular file of that schema. Throws input_error, also for json's errors and
/// usage_error from `read`; limit_error for a file of more than 4 MB.
template <class Read>
auto read_json(std::string const& path, std::string const& schema, Read read) {
  using json = nlohmann::json;
  constexpr std::size_t max_bytes = 4'000'000;
  constexpr std::size_t max_why = 200;
  std::error_code unknown;
  if (!std::filesystem::is_regular_file(path, unknown)) throw input_error{path, 0, "it is no file that can be read"};
  std::ifstream file{path, std::ios::binary};
  std::string text(std::min<std::uintmax_t>(std::filesystem::file_size(path, unknown), max_bytes) + 1, '\0');
  file.read(text.data(), static_cast<std::streamsize>(text.size()));
  if (!file.eof() && !file.good()) throw input_error{path, 0, "it is no file that can be read"};
  text.resize(static_cast<std::size_t>(file.gcount()));
  if (text.size() > max_bytes) throw limit_error{path + " is larger than " + std::to_string(max_bytes) + " bytes"};
  if (text.find('\0') != text.npos)  // which the library takes for the end
    throw input_error{path, 0, "it is not JSON of schema " + schema + ": it holds a zero byte"};
  try {
    json const all = json::parse(text);
    auto const told = all.is_object() ? maybe<std::string>(all, "schema") : std::nullopt;
    if (told != schema) throw usage_error{"its schema is " + told.value_or("not told")};
    return read(all);
  } catch (json::exception const& wrong) {
    throw input_error{path, 0, "it is not JSON of schema " + schema + ": " + printable(wrong.what(), max_why)};
  } catch (usage_error const& wrong) {
    throw input_error{path, 0, "it is not JSON of schema " + schema + ": " + printable(wrong.what(), max_why)};
  }
}

}  // namespace lull::detail
