// SPDX-License-Identifier: Apache-2.0
#include <lull/host/task/options.hpp>

#include <lull/host/error.hpp>
#include <lull/host/task/option_row.hpp>

namespace lull {

option_values::option_values(option_table table) : table_(table), entries_(table.size()) {
  check_options(table);
  for (std::size_t i = 0; i < table.size(); ++i) {
    if (table[i].default_value.empty()) continue;
    entries_[i] = {.spelling = std::string{table[i].default_value},
                   .value = detail::read_value(table[i], table[i].default_value),
                   .has = true};
  }
}

void option_values::set(std::string_view name, std::string_view text) {
  std::size_t const index = index_of(name);
  option const& row = table_[index];
  entry& target = entries_[index];
  if (text.empty()) {
    throw usage_error("option \"" + std::string{name} + "\" (" + std::string{name_of(row.kind)} +
                      ") has no value: write " + std::string{name} + "=VALUE");
  }
  if (target.given) throw usage_error("option \"" + std::string{name} + "\" is given twice: give it once");
  try {
    target = {.spelling = std::string{text}, .value = detail::read_value(row, text), .has = true, .given = true};
  } catch (usage_error const& wrong) {
    throw usage_error("option \"" + std::string{name} + "\" (" + std::string{name_of(row.kind)} + "): " + wrong.what());
  }
}

bool option_values::given(std::string_view name) const { return entries_[index_of(name)].given; }

bool option_values::has(std::string_view name) const { return entries_[index_of(name)].has; }

std::string const& option_values::choice(std::string_view name) const {
  return value_of(name, option_kind::choice).spelling;
}

std::filesystem::path option_values::path(std::string_view name) const {
  return value_of(name, option_kind::path).spelling;
}

std::int64_t option_values::integer(std::string_view name) const {
  return std::get<std::int64_t>(value_of(name, option_kind::integer).value);
}

double option_values::real(std::string_view name) const {
  return std::get<double>(value_of(name, option_kind::real).value);
}

std::uint64_t option_values::size_bytes(std::string_view name) const {
  return std::get<std::uint64_t>(value_of(name, option_kind::size).value);
}

std::string const& option_values::spelling(std::string_view name) const { return entries_[index_of(name)].spelling; }

std::size_t option_values::index_of(std::string_view name) const {
  for (std::size_t i = 0; i < table_.size(); ++i) {
    if (table_[i].name == name) return i;
  }
  std::vector<std::string_view> known;
  for (option const& row : table_) known.push_back(row.name);
  throw usage_error("unknown option \"" + std::string{name} + "\"; known: " + list_known(name, known));
}

option_values::entry const& option_values::value_of(std::string_view name, option_kind kind) const {
  std::size_t const index = index_of(name);
  if (table_[index].kind != kind) {
    throw usage_error("option \"" + std::string{name} + "\" is of kind " + std::string{name_of(table_[index].kind)} +
                      " and was asked for as " + std::string{name_of(kind)});
  }
  if (!entries_[index].has) {
    throw usage_error("option \"" + std::string{name} + "\" has no default and was not given: write " +
                      std::string{name} + "=VALUE");
  }
  return entries_[index];
}

}  // namespace lull
