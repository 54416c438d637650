// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json.hpp>

namespace lull {

/// A JSON document that knows the line of each of its values, for messages. A key that is given twice is refused.
class lined_json {
 public:
  using json = nlohmann::ordered_json;

  /// `file` is named in messages. Errors: input_error with file and line.
  lined_json(std::string_view text, std::string file, std::size_t max_bytes);

  json const& whole() const noexcept { return whole_; }
  /// Throws input_error of the value that the JSON pointer names.
  [[noreturn]] void fail(std::string const& pointer, std::string const& message) const;

 private:
  std::string file_;
  json whole_;
  std::map<std::string, std::uint64_t> lines_;  // by JSON pointer
};

/// An object of such a document. Each call checks what it reads. Errors: input_error.
class lined_object {
 public:
  /// Refuses other keys than these.
  lined_object(lined_json const& document, std::string pointer, std::initializer_list<std::string_view> known);

  bool has(std::string_view key) const { return of().contains(key); }
  lined_json::json const& at(std::string_view key) const;
  std::optional<std::string> text(std::string_view key) const;
  std::optional<std::int64_t> whole_number(std::string_view key, std::int64_t least, std::int64_t most) const;
  /// Returns nothing if the key is absent.
  std::optional<std::vector<std::string>> texts(std::string_view key, std::size_t most) const;
  std::string pointer(std::string_view key) const { return pointer_to(pointer_, key); }
  /// Returns the JSON pointer of a member of what another one names.
  static std::string pointer_to(std::string const& of, std::string_view key);
  [[noreturn]] void fail(std::string_view key, std::string const& message) const;

 private:
  lined_json::json const& of() const { return document_.whole().at(lined_json::json::json_pointer{pointer_}); }

  lined_json const& document_;
  std::string const pointer_;
};

/// Returns what a message calls a value: "a string", "an array".
std::string kind_of(lined_json::json const& value);

}  // namespace lull
