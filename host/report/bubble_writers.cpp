// SPDX-License-Identifier: Apache-2.0
#include <lull/host/report/bubble_writers.hpp>

#include <array>
#include <string_view>
#include <utility>

#include <lull/host/error.hpp>
#include <lull/host/io/atomic_file.hpp>
#include <lull/host/report/trace.hpp>

namespace lull {

bubble_format bubble_format_of(std::filesystem::path const& path) {
  static constexpr std::array<std::pair<std::string_view, bubble_format>, 3> endings{
      {{".trace.json", bubble_format::trace}, {".json", bubble_format::json}, {".txt", bubble_format::text}}};
  std::string const name = path.filename().string();
  for (auto const& [ending, format] : endings) {
    if (name.size() > ending.size() && name.ends_with(ending)) return format;
  }
  std::string const is = "a bubble report's file is '" + path.string() + "': ";
  if (path.extension() == ".svg") throw usage_error{is + instead_of_svg(path)};
  throw usage_error{is + "it must end in .txt, .json or .trace.json (for https://ui.perfetto.dev)"};
}

void write_bubble_report(std::filesystem::path const& path, bubble_summary const& sum) {
  switch (bubble_format_of(path)) {
    case bubble_format::text:
      return write_file(path, bubble_text(sum));
    case bubble_format::json:
      return write_file(path, bubble_json(sum));
    case bubble_format::trace:
      return write_file(path, bubble_trace(sum));
  }
}

}  // namespace lull
