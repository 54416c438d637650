// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <iosfwd>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace lull {

enum class option_kind {
  path,
  integer,  // 64 bits, signed
  real,     // finite
  size,     // bytes, as parse_size reads them
  choice,   // one of the words of its range
  text      // such as a name
};

std::string_view name_of(option_kind kind) noexcept;

/// One row of a table of options: what a task's owner declares, and all that the command line, job files and help know
/// of it. All views are of literals.
struct option {
  std::string_view name;  // lower-case letters, digits and '_', a letter first
  option_kind kind;
  std::string_view default_value;  // spelled as a user would; empty: no value unless one is given
  std::string_view range;          // numbers: an interval, "[0, 1)" or "(0, inf)", bounds spelled as values are;
                                   // choice: "gpipe|1f1b"; other kinds, and numbers without a bound: empty
  std::string_view help;           // one line, no full stop
};

using option_table = std::span<option const>;

/// A parsed value; monostate for path, choice and text, whose spelling is their value.
using option_value = std::variant<std::monostate, std::int64_t, double, std::uint64_t>;

/// Throws usage_error if a row breaks the rules above, a name is given twice, or a default is outside its range.
/// option_values checks the same; a test of each table calls this, so that users never see the error.
void check_options(option_table table);

/// The options of one request: each row's value, given or by default. Refers to the table, which must outlive it.
/// Copyable. Not thread-safe while set() runs.
class option_values {
 public:
  /// Starts with all defaults.
  explicit option_values(option_table table);

  /// Sets a value as a user spells it. Errors: usage_error for an unknown name (with the known ones, the nearest
  /// first), an empty value, one of another type or out of range, and a name that was given before.
  void set(std::string_view name, std::string_view text);

  bool given(std::string_view name) const;  // by the user, even if the value equals the default
  bool has(std::string_view name) const;    // given, or by default

  // Errors: usage_error if the option is of another kind or has no value (ask has() first where there is no default).
  std::string const& choice(std::string_view name) const;
  std::string const& text(std::string_view name) const;
  std::filesystem::path path(std::string_view name) const;
  std::int64_t integer(std::string_view name) const;
  double real(std::string_view name) const;
  std::uint64_t size_bytes(std::string_view name) const;

  option_table table() const noexcept { return table_; }
  /// Returns the value's text, as it was given or as in the table; empty if there is none.
  std::string const& spelling(std::string_view name) const;

 private:
  struct entry {
    std::string spelling;
    option_value value;
    bool has = false;
    bool given = false;
  };

  std::size_t index_of(std::string_view name) const;
  entry const& value_of(std::string_view name, option_kind kind) const;

  option_table table_;
  std::vector<entry> entries_;  // (rows)
};

/// Prints a line or two a row: name, kind, default, range, help; at most `width` columns as far as words allow.
void print_options(std::ostream& out, option_table table, std::size_t width = 80);

/// Returns the name nearest to `wanted`: one that begins so, then by edits. `known` is not empty.
std::string_view nearest(std::string_view wanted, std::span<std::string_view const> known);

/// Returns "a, b, c" with the name nearest to `wanted` first: the end of every message on an unknown name.
std::string list_known(std::string_view wanted, std::span<std::string_view const> known);

/// … of rows that have names.
template <class Row>
std::string list_names(std::string_view wanted, std::span<Row const> known) {
  std::vector<std::string_view> names;
  for (Row const& each : known) names.push_back(each.name);
  return list_known(wanted, names);
}

}  // namespace lull
