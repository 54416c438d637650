// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <utility>

#include <lull/host/io/text_dialect.hpp>
#include <lull/host/task/options.hpp>

namespace lull {

/// The rows that each task with a table for input has, for what find_dialect would find.
inline constexpr option header_row{"header", option_kind::choice, "", "yes|no",
                                   "whether the first row names the columns; default: found, and said"};
inline constexpr option delimiter_row{
    "delimiter", option_kind::choice, "", "comma|semicolon|tab|bar|colon|double-colon|blanks",
    "what separates columns, double-colon is ::, blanks are runs; default: found, and said"};
inline constexpr option decimal_row{"decimal", option_kind::choice, "", "point|comma",
                                    "decimal sign of numbers; default: found, and said"};

/// Returns what these options say.
inline dialect_options dialect_from(option_values const& values) {
  dialect_options made;
  if (values.has("header")) made.header = values.choice("header") == "yes";
  if (values.has("decimal")) made.decimal = values.choice("decimal") == "comma" ? ',' : '.';
  if (!values.has("delimiter")) return made;
  for (auto const& [name, sign] :
       {std::pair{"comma", ","}, std::pair{"semicolon", ";"}, std::pair{"tab", "\t"}, std::pair{"bar", "|"},
        std::pair{"double-colon", "::"}, std::pair{"colon", ":"}, std::pair{"blanks", " "}}) {
    if (values.choice("delimiter") == name) made.delimiter = sign;
  }
  return made;
}

}  // namespace lull
