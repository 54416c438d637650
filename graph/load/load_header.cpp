// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <lull/graph/load/load_header.hpp>
#include <lull/host/error.hpp>
#include <utility>

namespace lull::detail {
namespace {

/// Lines one by one, for the few of a header.
class header_lines {
 public:
  header_lines(std::string const& path, text_source& source) : path_(path), source_(source) {}

  /// The words of the next line that is neither blank nor a comment.
  template <class IsComment>
  std::vector<std::string_view> next(std::string const& wanted, IsComment const& is_comment) {
    for (;;) {
      auto words = split_words(next_line(wanted));
      if (!words.empty() && !is_comment(words[0])) return words;
    }
  }

  std::string_view next_line(std::string const& wanted) {
    while (at_ == block_.size) {
      at_ = 0;
      if (!source_.next(block_)) {
        block_.size = 0;
        throw input_error(path_, number_, "the file ends where " + wanted + " is expected");
      }
    }
    auto const rest = block_.text().substr(at_);
    line_ = rest.substr(0, rest.find('\n'));
    at_ += line_.size() + 1;
    ++number_;
    if (line_.size() > max_line_bytes) refuse("a line of more than " + std::to_string(max_line_bytes) + " bytes");
    if (line_.find('\0') != std::string_view::npos) refuse("a NUL byte: this is not a text file");
    return line_;
  }

  std::uint64_t number() const noexcept { return number_; }
  [[noreturn]] void refuse(std::string const& message) const { throw input_error(path_, number_, message); }
  [[noreturn]] void refuse_line(std::string const& wanted) const {
    refuse("expected " + wanted + ", got " + quote(line_));
  }

  void finish() { source_.unread(block_.text().substr(at_)); }

 private:
  std::string const& path_;
  text_source& source_;
  text_block block_;
  std::size_t at_ = 0;
  std::uint64_t number_ = 0;
  std::string_view line_;
};

std::uint64_t count_or_refuse(header_lines const& lines, std::string_view word, char const* what) {
  auto const [number, fault] = read_whole(word);
  if (!fault.empty()) lines.refuse(std::string{"the number of "} + what + " " + fault);
  return number;
}

/// Holds what was declared against the limits, before a byte is allocated for it.
void declare(header_lines const& lines, graph_header& header, std::uint64_t vertices, std::uint64_t entries,
             load_options const& options) {
  if (vertices > std::min(options.max_vertices, max_csr_vertices))
    lines.refuse("declares " + std::to_string(vertices) + " vertices, over the limit max_vertices = " +
                 std::to_string(std::min(options.max_vertices, max_csr_vertices)));
  if (entries > options.max_edges / (header.mirrored == mirror::none ? 1 : 2))
    lines.refuse("declares " + std::to_string(entries) +
                 " entries, over the limit max_edges = " + std::to_string(options.max_edges));
  if (vertices == 0 || entries == 0) lines.refuse("declares a graph without edges");
  header.declares = true;
  header.vertices = vertices;
  header.entries = entries;
  header.line = lines.number();
  header.lines = lines.number();
  header.grammar.first_id = 1;
  header.grammar.end_id = vertices + 1;
  header.grammar.id_limit = "larger than the declared number of vertices, " + std::to_string(vertices);
}

std::string lower(std::string_view word) {
  std::string small{word};
  for (char& byte : small) byte = byte >= 'A' && byte <= 'Z' ? static_cast<char>(byte - 'A' + 'a') : byte;
  return small;
}

weight_column column_of(load_options const& options) {
  switch (options.weights) {
    case file_weights::kept:
      return weight_column::values;
    case file_weights::lengths:
      return weight_column::lengths;
    default:
      return weight_column::skipped;
  }
}

matrix_header matrix_header_of(header_lines& lines) {
  std::string const wanted =
      "`%%MatrixMarket matrix coordinate pattern|real|integer|unsigned-integer general|symmetric`";
  auto const banner = split_words(lines.next_line(wanted));
  if (banner.size() != 5 || (lower(banner[0]) != "%%matrixmarket" && lower(banner[0]) != "%matrixmarket") ||
      lower(banner[1]) != "matrix") {
    lines.refuse_line(wanted);
  }
  auto const layout = lower(banner[2]);
  auto const field = lower(banner[3]);
  auto const symmetry = lower(banner[4]);
  if (layout == "array") lines.refuse("a dense matrix (`array`) is not read; write it as `coordinate`");
  if (layout != "coordinate") lines.refuse_line(wanted);
  if (field == "complex")
    lines.refuse("complex values are not supported; pattern, real, integer and unsigned-integer are");
  if (symmetry == "skew-symmetric" || symmetry == "hermitian")
    lines.refuse(symmetry + " matrices are not supported; general and symmetric ones are");
  if ((field != "pattern" && field != "real" && field != "integer" && field != "unsigned-integer") ||
      (symmetry != "general" && symmetry != "symmetric")) {
    lines.refuse_line(wanted);
  }
  auto const size = lines.next("the line `ROWS COLUMNS ENTRIES`", [](std::string_view word) { return word[0] == '%'; });
  if (size.size() != 3) lines.refuse_line("`ROWS COLUMNS ENTRIES`");
  matrix_header const made{.pattern = field == "pattern",
                           .symmetric = symmetry == "symmetric",
                           .rows = count_or_refuse(lines, size[0], "rows"),
                           .columns = count_or_refuse(lines, size[1], "columns"),
                           .entries = count_or_refuse(lines, size[2], "entries")};
  if (made.symmetric && made.rows != made.columns) lines.refuse("a symmetric matrix has as many rows as columns");
  return made;
}

void read_matrix_market(header_lines& lines, graph_header& header, load_options const& options) {
  matrix_header const matrix = matrix_header_of(lines);
  header.grammar.comments = "%";
  header.grammar.weights = matrix.pattern ? weight_column::none : column_of(options);
  header.grammar.one_triangle = matrix.symmetric;
  bool const both_ways = matrix.symmetric && options.symmetric == symmetric_entries::both_ways;
  header.mirrored = both_ways ? mirror::off_diagonal : mirror::none;
  if (matrix.rows != matrix.columns)
    lines.refuse("the matrix has " + std::to_string(matrix.rows) + " rows and " + std::to_string(matrix.columns) +
                 " columns, but only a square one is a graph");
  declare(lines, header, matrix.rows, matrix.entries, options);
}

void read_dimacs(header_lines& lines, graph_header& header, load_options const& options) {
  std::string const wanted = "the problem line `p sp VERTICES ARCS`";
  auto const problem = lines.next(wanted, [](std::string_view word) { return word == "c"; });
  if (problem.size() != 4 || problem[0] != "p" || problem[1] != "sp") lines.refuse_line(wanted);
  header.grammar.arcs = true;
  header.grammar.weights = column_of(options);
  auto const vertices = count_or_refuse(lines, problem[2], "vertices");
  declare(lines, header, vertices, count_or_refuse(lines, problem[3], "arcs"), options);
}

/// `VERTICES EDGES [FORMAT [WEIGHTS]]`: of the format's three digits the last says that edges have weights, the one
/// before that vertices do, so many each, and the first that they have sizes.
void read_metis(header_lines& lines, graph_header& header, load_options const& options) {
  std::string const wanted = "the line `VERTICES EDGES [FORMAT [WEIGHTS]]` of METIS";
  auto const sizes = lines.next(wanted, [](std::string_view word) { return word[0] == '%'; });
  if (sizes.size() < 2 || sizes.size() > 4) lines.refuse_line(wanted);
  std::string const digits =
      sizes.size() < 3 ? "000"
                       : std::string(3 - std::min<std::size_t>(3, sizes[2].size()), '0') + std::string{sizes[2]};
  if (digits.size() != 3 || digits.find_first_not_of("01") != std::string::npos)
    lines.refuse("the format " + quote(sizes[2]) + " is not of METIS: it has up to three digits, each 0 or 1");
  auto const weights = sizes.size() < 4 ? 1 : count_or_refuse(lines, sizes[3], "weights");
  constexpr std::uint64_t max_weights = 1024;
  if (weights > max_weights) lines.refuse("more than 1024 weights a vertex");
  auto const vertices = count_or_refuse(lines, sizes[0], "vertices");
  auto const edges = count_or_refuse(lines, sizes[1], "edges");
  declare(lines, header, vertices, 2 * std::min(edges, std::uint64_t{1} << 62), options);
  header.skipped = (digits[0] == '1' ? 1U : 0U) + (digits[1] == '1' ? static_cast<unsigned>(weights) : 0U);
  header.grammar.comments = "%";
  header.grammar.weights = digits[2] == '1' ? column_of(options) : weight_column::none;
}

}  // namespace

matrix_header read_matrix_header(std::string const& path, text_source& source) {
  header_lines lines{path, source};
  matrix_header const made = matrix_header_of(lines);
  lines.finish();
  return made;
}

graph_header read_header(std::string const& path, text_format const& format, text_source& source,
                         load_options const& options) {
  graph_header header;
  bool const weighted = format.format == graph_format::weighted_edge_list;
  if (format.format == graph_format::edge_list || weighted) {
    header.grammar.separator = format.separator;
    header.grammar.weights = weighted ? column_of(options) : weight_column::none;
    header.grammar.end_id = std::min(options.max_vertices, max_csr_vertices);
    header.grammar.id_limit = "over the limit: max_vertices = " + std::to_string(header.grammar.end_id) +
                              " allows ids up to " + std::to_string(header.grammar.end_id - 1);
    bool const both_ways = options.lists == list_edges::both_ways && options.symmetric == symmetric_entries::both_ways;
    header.mirrored = both_ways ? mirror::off_diagonal : mirror::none;
    return header;
  }
  if (options.lists == list_edges::both_ways)
    throw input_error(path, 0,
                      "only the edges of a list can be taken as undirected: this format says itself what its "
                      "edges are");
  header_lines lines{path, source};
  switch (format.format) {
    case graph_format::matrix_market:
      read_matrix_market(lines, header, options);
      break;
    case graph_format::dimacs:
      read_dimacs(lines, header, options);
      break;
    default:
      read_metis(lines, header, options);
      break;
  }
  lines.finish();
  return header;
}

}  // namespace lull::detail
