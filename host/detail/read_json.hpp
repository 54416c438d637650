// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <optional>
#include <string>

#include <nlohmann/json.hpp>

#include <lull/host/error.hpp>

namespace lull::detail {

/// Nothing where it is not there, or null.
template <class T>
std::optional<T> maybe(nlohmann::ordered_json const& of, char const* key) {
  auto const found = of.find(key);
  return found != of.end() && !found->is_null() ? std::optional{found->get<T>()} : std::nullopt;
}

/// What `read` makes of a file of that schema. Throws input_error, also for what `read` throws of json's errors and
/// usage_error; limit_error for a file of more than 16 MB.
template <class Read>
auto read_json(std::string const& path, std::string const& schema, Read read) {
  using json = nlohmann::ordered_json;
  constexpr std::uintmax_t max_bytes = 16'000'000;
  std::error_code none;
  if (std::uintmax_t const bytes = std::filesystem::file_size(path, none); !none && bytes > max_bytes) {
    throw limit_error{path + " has " + std::to_string(bytes) + " bytes: it may have " + std::to_string(max_bytes)};
  }
  std::ifstream file{path};
  if (!file) throw input_error{path, 0, "the file cannot be read"};
  try {
    json const all = json::parse(file);
    auto const told = all.is_object() ? maybe<std::string>(all, "schema") : std::nullopt;
    if (told != schema) throw usage_error{"its schema is " + told.value_or("not told")};
    return read(all);
  } catch (json::exception const& wrong) {
    throw input_error{path, 0, "it is not JSON of schema " + schema + ": " + wrong.what()};
  } catch (usage_error const& wrong) {
    throw input_error{path, 0, "it is not JSON of schema " + schema + ": " + wrong.what()};
  }
}

}  // namespace lull::detail
