// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <string>

#include <lull/host/report/bubble_summary.hpp>

namespace lull {

// The bubble report: the same summary, four ways.

/// A table a gate, and what its columns mean; lines of at most 100 columns.
std::string bubble_text(bubble_summary const& sum);

/// Schema "lull.bubbles/1", indented: "gates", each with its "sites". What is not known is null, never 0. Bytes of a
/// site's name that are not UTF-8 become U+FFFD.
std::string bubble_json(bubble_summary const& sum);

/// The latest bubbles in the Trace Event Format: a track for each gate, and one for the workers in its bubbles.
std::string bubble_trace(bubble_summary const& sum);

/// One self-contained SVG, 1,200 units wide: the latest bubbles, at most 1,000, a lane for each of the first 8 gates
/// and a colour for each of the first 8 sites.
std::string bubble_timeline(bubble_summary const& sum);

enum class bubble_format { text, json, trace, svg };

/// By the ending: .txt, .trace.json, .json or .svg. Errors: usage_error for any other.
bubble_format bubble_format_of(std::filesystem::path const& path);

/// Atomically, in the format of the ending. Errors: usage_error as above, and as atomic_file.
void write_bubble_report(std::filesystem::path const& path, bubble_summary const& sum);

}  // namespace lull
