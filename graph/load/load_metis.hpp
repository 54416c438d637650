// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <lull/graph/csr/edge_list.hpp>
#include <lull/graph/load/load_header.hpp>
#include <lull/graph/load/load_lines.hpp>
#include <lull/host/io/text_source.hpp>
#include <optional>
#include <string>

namespace lull::detail {

struct metis_edges {
  edge_list edges;                        // vertex → neighbour, as listed
  std::optional<rounded_weight> rounded;  // the first
  std::uint64_t rounded_weights = 0;
};

/// Reads what follows the header of a METIS graph. One thread. Throws input_error, text_error, std::bad_alloc.
metis_edges read_metis_edges(std::string const& path, text_source& source, graph_header const& header);

}  // namespace lull::detail
