// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <lull/graph/csr/edge_list.hpp>
#include <lull/graph/load/graph_format.hpp>
#include <lull/graph/load/load.hpp>
#include <lull/graph/load/load_lines.hpp>
#include <lull/host/io/text_source.hpp>
#include <string>

namespace lull::detail {

/// What stands before the edges.
struct graph_header {
  line_grammar grammar;
  mirror mirrored = mirror::none;
  bool declares = false;  // the two below are known
  std::uint64_t vertices = 0;
  std::uint64_t entries = 0;  // METIS: of both ways
  std::uint64_t line = 0;     // where they are declared
  std::uint64_t lines = 0;    // of the header: what `source` gives next is the line after these
  unsigned skipped = 0;       // METIS: numbers of a vertex before its edges, size and weights
};

/// What the banner and the size line of a Matrix Market file say, which stand before its entries.
struct matrix_header {
  bool pattern = false;    // entries have no values
  bool symmetric = false;  // one triangle stands for both
  std::uint64_t rows = 0;
  std::uint64_t columns = 0;
  std::uint64_t entries = 0;
};

/// Reads it, and leaves `source` at the line after it. Throws input_error, also for matrices that nothing here reads:
/// dense, complex, skew-symmetric or Hermitian ones.
matrix_header read_matrix_header(std::string const& path, text_source& source);

/// Reads the header, if the format has one, and leaves `source` at the line after it. Throws input_error.
graph_header read_header(std::string const& path, text_format const& format, text_source& source,
                         load_options const& options);

}  // namespace lull::detail
