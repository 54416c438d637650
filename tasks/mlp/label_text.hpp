// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

namespace lull {

/// Whether the text is UTF-8: as the names of columns and classes must be, since a model keeps them in JSON.
bool is_utf8(std::string_view text);

/// Whether the field stands for no value, as pandas and R write one: NA, NaN, null, None, ? and so on.
bool is_missing_mark(std::string_view field);

/// Why the text cannot name a class: "is not UTF-8: …", with what to do. Empty: it can.
std::string label_fault(std::string_view label);

/// What a field looks like that is no class, but a value or a mark: "a date", "an amount of money". Empty: a name.
std::string_view value_kind(std::string_view field);

/// The name between accents, cut after 40 bytes between two characters, ? for what controls a terminal.
std::string class_text(std::string_view name);

}  // namespace lull
