// SPDX-License-Identifier: Apache-2.0
#include <lull/host/report/bubble_writers.hpp>

#include <array>
#include <string_view>
#include <utility>

#include <lull/host/error.hpp>
#include <lull/host/io/atomic_file.hpp>

namespace lull {

bubble_format bubble_format_of(std::filesystem::path const& path) {
  static constexpr std::array<std::pair<std::string_view, bubble_format>, 4> endings{
      {{".trace.json", bubble_format::trace},
       {".json", bubble_format::json},
       {".svg", bubble_format::svg},
       {".txt", bubble_format::text}}};
  std::string const name = path.filename().string();
  for (auto const& [ending, format] : endings) {
    if (name.size() > ending.size() && name.ends_with(ending)) return format;
  }
  throw usage_error{"a bubble report's file is '" + path.string() +
                    "': it must end in .txt, .json, .trace.json (for Perfetto) or .svg"};
}

void write_bubble_report(std::filesystem::path const& path, bubble_summary const& sum) {
  switch (bubble_format_of(path)) {
    case bubble_format::text:
      return write_file(path, bubble_text(sum));
    case bubble_format::json:
      return write_file(path, bubble_json(sum));
    case bubble_format::trace:
      return write_file(path, bubble_trace(sum));
    case bubble_format::svg:
      return write_file(path, bubble_timeline(sum));
  }
}

}  // namespace lull
