// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include <lull/bench/graph/textbook/memory.hpp>
#include <lull/bench/graph/textbook/textbook.hpp>

namespace lull::bench {

/// Connected components, edges without a direction: of each vertex the lowest of its component. `in` is the graph's
/// transpose, or null where the graph holds each edge in both directions. Here no loop waits for the host.
///
/// Source: Sutton, Ben-Nun, Barak, "Optimizing parallel graph connectivity computation via subgraph sampling"
/// (Afforest), IPDPS 2018, section III; passes and constants as in cc.cc of the GAP benchmark suite.
std::unique_ptr<textbook> make_afforest(std::shared_ptr<device_graph const> out,
                                        std::shared_ptr<device_graph const> in);

}  // namespace lull::bench
