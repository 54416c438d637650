// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <string>

#include <lull/host/report/bubble_summary.hpp>

namespace lull {

// The bubble report: the same summary, three ways.

/// Returns a table for each gate, the meaning of its words, and one sentence on what happened; lines of at most 100
/// columns.
std::string bubble_text(bubble_summary const& sum);

/// Returns schema "lull.bubbles/2", indented: "gates", each with its "sites". An unknown value is null, never 0. Bytes
/// of a site's name that are not UTF-8 become U+FFFD.
std::string bubble_json(bubble_summary const& sum);

/// Returns the latest bubbles in the Trace Event Format, which https://ui.perfetto.dev shows: a track for each gate,
/// named with the figures of all its bubbles, and one for the workers in them.
std::string bubble_trace(bubble_summary const& sum);

enum class bubble_format { text, json, trace };

/// Returns the format of the ending: .txt, .trace.json or .json. Errors: usage_error for any other.
bubble_format bubble_format_of(std::filesystem::path const& path);

/// Writes the report atomically, in the format of the ending. Errors: usage_error as above, and as atomic_file.
void write_bubble_report(std::filesystem::path const& path, bubble_summary const& sum);

}  // namespace lull
