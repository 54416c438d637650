// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json.hpp>

namespace lull {

/// Is told each piece of a JSON text, with its depth and its line. May throw input_error.
using json_piece = std::function<void(int depth, nlohmann::ordered_json::parse_event_t what,
                                      nlohmann::ordered_json const& value, std::uint64_t line)>;

/// Reads a JSON text and returns it, since a parsed tree does not keep lines. What is not JSON at all is told before an
/// error of `meet`. `file` is named in messages. Errors: input_error with file and line.
nlohmann::ordered_json walk_json(std::string_view text, std::string const& file, json_piece const& meet);

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

/// Returns a value that is a string or a number as a user spells it: an option that takes a whole number takes 5.0 and
/// 1e3, too.
std::string spelling_of(lined_json::json const& value);

/// Returns what a message calls a value: "a string", "an array".
std::string kind_of(lined_json::json const& value);

}  // namespace lull
