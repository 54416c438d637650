// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <lull/graph/csr/edge_list.hpp>
#include <lull/graph/csr/edge_ranges.hpp>
#include <lull/graph/parallel.hpp>
#include <lull/graph/triangles/triangles_plan.hpp>
#include <lull/host/error.hpp>
#include <string>
#include <utility>

namespace lull {
namespace {

std::uint64_t length_of(csr const& rows, std::uint32_t row) { return rows.offsets[row + 1ULL] - rows.offsets[row]; }

/// For each edge u → v which row is searched (source) and which is streamed (target): u's up to v, or v's. The weight
/// is how many elements are looked up, which fp32 holds: a row has fewer than 2¹⁷. Edges whose shorter row is empty
/// have no work.
csr searches(csr const& rows, unsigned threads) {
  edge_supply supply{.max_edges = detail::part_sizes(rows), .weighted = true};
  host_array<std::uint32_t> lengths(rows.vertices());  // half as many bytes as offsets to look up at random
  for (std::uint32_t row = 0; row < lengths.size(); ++row)
    lengths[row] = static_cast<std::uint32_t>(length_of(rows, row));
  supply.make = [&rows, &lengths](std::size_t part, edge_list::block& block) {
    block.edges.resize(detail::part_edges);
    block.weights.resize(detail::part_edges);
    std::size_t kept = 0;
    detail::visit_part(rows, part,
                       [&, to = block.edges.data(), lookups = block.weights.data()](std::uint32_t u, std::uint64_t at) {
                         auto const v = rows.targets[at];
                         auto const up_to_v = static_cast<std::uint32_t>(at - rows.offsets[u]);
                         auto const of_v = lengths[v];
                         auto const shorter = std::min(up_to_v, of_v);
                         std::uint32_t const ends[] = {v, u};  // indexed: a branch would go either way at random
                         bool const of_u = of_v <= up_to_v;
                         to[kept] = {ends[of_u], ends[!of_u]};
                         lookups[kept] = static_cast<float>(shorter);
                         kept += shorter != 0 ? 1 : 0;
                       });
    block.edges.resize(kept);
    block.weights.resize(kept);
  };
  return make_csr(std::move(supply), rows.vertices(), mirror::none, threads);
}

/// Fills one item after the other; of a pair it needs the row that is searched, or a piece of that, and its lookups.
class item_cutter {
 public:
  item_cutter(triangles_limits const& limits, std::vector<triangle_item>& items) : limits_(limits), items_(items) {}

  void add(std::uint64_t pair, std::uint32_t of_pair, std::uint64_t list_begin, std::uint64_t list_end) {
    for (std::uint32_t done = 0; done < of_pair;) {
      if (open_ && (list_end - item_.list_begin > limits_.list || item_.pairs == limits_.pairs ||
                    item_.lookups == limits_.lookups)) {
        close();
      }
      if (!open_) {
        item_ = {};
        item_.list_begin = static_cast<std::uint32_t>(list_begin);
        item_.pair_begin = static_cast<std::uint32_t>(pair);
        item_.skip = done;
        open_ = true;
      }
      auto const more = std::min(of_pair - done, limits_.lookups - item_.lookups);
      item_.list_size = static_cast<std::uint16_t>(list_end - item_.list_begin);
      item_.max_row = std::max(item_.max_row, static_cast<std::uint16_t>(list_end - list_begin));
      ++item_.pairs;
      item_.lookups = static_cast<std::uint16_t>(item_.lookups + more);
      done += more;
    }
  }

  void close() {
    if (std::exchange(open_, false)) items_.push_back(item_);
  }

 private:
  triangles_limits limits_;
  std::vector<triangle_item>& items_;
  triangle_item item_{};
  bool open_ = false;
};

std::vector<triangle_item> cut(csr const& rows, csr const& searched, triangles_limits const& limits) {
  std::vector<triangle_item> items;
  item_cutter cutter{limits, items};
  for (std::uint32_t row = 0; row < rows.vertices(); ++row) {
    auto const end = rows.offsets[row + 1ULL];
    auto const add_pairs = [&](std::uint64_t list_begin, std::uint64_t list_end) {
      for (auto pair = searched.offsets[row]; pair < searched.offsets[row + 1ULL]; ++pair)
        cutter.add(pair, static_cast<std::uint32_t>(searched.weights[pair]), list_begin, list_end);
    };
    if (length_of(rows, row) <= limits.list) {
      add_pairs(rows.offsets[row], end);
      continue;
    }
    for (auto begin = rows.offsets[row]; begin < end; begin += limits.list) {
      cutter.close();  // a piece has items of its own: a pair is in those of each piece
      add_pairs(begin, std::min(begin + limits.list, end));
      cutter.close();
    }
  }
  cutter.close();
  return items;
}

}  // namespace

triangles_plan plan_triangles(csr const& rows, triangles_limits const& limits, unsigned threads) {
  threads = detail::set_up_threads(threads);
  if (rows.edges() >> 32 != 0)
    throw limit_error("the graph has " + std::to_string(rows.edges()) +
                      " undirected edges, but triangles are counted among at most 4294967295: take a smaller one");
  triangles_plan plan{searches(rows, threads), {}};
  plan.items = cut(rows, plan.searched, limits);
  return plan;
}

void visit_pairs(triangles_plan const& plan, std::function<void(std::span<triangle_pair const>)> const& see) {
  csr const& searched = plan.searched;
  std::vector<triangle_pair> some(detail::part_edges);
  std::uint32_t before = 0;
  for (std::size_t part = 0; part < detail::edge_parts(searched); ++part) {
    std::size_t count = 0;
    detail::visit_part(searched, part, [&](std::uint32_t row, std::uint64_t at) {
      some[count++] = {row, searched.targets[at], before};
      before += static_cast<std::uint32_t>(searched.weights[at]);
    });
    see(std::span{some}.first(count));
  }
}

}  // namespace lull
