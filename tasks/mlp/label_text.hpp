// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

namespace lull {

/// Whether the field stands for no value, as pandas and R write one: NA, NaN, null, None, ? and so on. Fewer than a
/// header must not hold (host/io/text_header.cpp), because classes may be called `none` or `missing`.
bool is_missing_mark(std::string_view field);

/// Why the text cannot name a class: "is not UTF-8: …", with what to do. Empty: it can.
std::string label_fault(std::string_view label);

/// What a field looks like that is no class, but a value or a mark: "a date", "an amount of money". Empty: a name.
std::string_view value_kind(std::string_view field);

/// The name as clean_text, between accents.
std::string class_text(std::string_view name);

}  // namespace lull
