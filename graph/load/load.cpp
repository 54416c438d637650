// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <deque>
#include <lull/graph/csr/edge_list.hpp>
#include <lull/graph/load/load.hpp>
#include <lull/graph/load/load_header.hpp>
#include <lull/graph/load/load_lines.hpp>
#include <lull/graph/load/load_metis.hpp>
#include <lull/graph/parallel.hpp>
#include <lull/host/error.hpp>
#include <lull/host/io/host_memory.hpp>
#include <lull/host/io/text_source.hpp>
#include <memory>
#include <mutex>
#include <new>
#include <optional>
#include <utility>
#include <vector>

namespace lull {
namespace {

using namespace detail;

/// Edges that so many entries give at least: those of a symmetric matrix count twice, but for its diagonal.
std::uint64_t min_edges(graph_header const& header, std::uint64_t entries) {
  if (header.mirrored == mirror::none || !header.declares) return entries;
  return 2 * entries - std::min(entries, header.vertices);
}

/// What make_csr takes, the list that it is given included; see there.
std::uint64_t graph_bytes(graph_header const& header, std::uint64_t vertices, std::uint64_t entries) {
  return vertices * sizeof(std::uint64_t) + min_edges(header, entries) * (header.grammar.stores_weights() ? 18 : 10);
}

/// Room for the edges of several blocks of text, which one thread fills: large enough for huge pages. The end of a
/// text, or a small one, has a room of its own size.
struct edge_room {
  edge_room(std::size_t text_bytes, bool weighted)
      : edges(max_edges(text_bytes < text_block_bytes / 2 ? text_bytes : 8 * text_block_bytes)),
        weights(weighted ? edges.size() : 0) {}

  host_array<edge> edges;
  host_array<float> weights;
  std::size_t filled = 0;
};

/// What one block of text turned into.
struct piece {
  parsed_lines parsed;
  std::shared_ptr<edge_room> room;  // which goes with the last of its pieces
  std::size_t first = 0;            // edge in the room
};

/// Parses all text after the header: each thread takes the next block, in turn, and parses it beside the others.
class body_reader {
 public:
  body_reader(text_source& source, graph_header const& header, std::uint64_t max_entries, file_memory const& memory)
      : source_(source), header_(header), grammar_(header.grammar), max_entries_(max_entries), memory_(memory) {}

  /// The pieces in the order of the text, up to and including the first with a fault. Reads no further once there is
  /// a fault, or more than `max_entries` edges. Throws limit_error as soon as the graph of those read does not fit.
  std::deque<piece> read(unsigned threads) {
    for_each_part(threads, threads, [this](std::size_t) {
      try {
        work();
      } catch (...) {
        std::scoped_lock const guard{lock_};
        stop_ = true;
        throw;
      }
    });
    return std::move(pieces_);
  }

 private:
  void work() {
    text_block text;
    std::shared_ptr<edge_room> room;
    while (auto* const piece = take(text)) {
      if (!room || room->filled + max_edges(text.size) > room->edges.size())
        room = std::make_shared<edge_room>(text.size, grammar_.stores_weights());
      piece->room = room;
      piece->first = room->filled;
      auto parsed = parse_lines(grammar_, text.text(), room->edges.data() + room->filled,
                                grammar_.stores_weights() ? room->weights.data() + room->filled : nullptr);
      room->filled += parsed.edges;
      std::scoped_lock const guard{lock_};
      entries_ += parsed.edges;
      stop_ = stop_ || parsed.fault || entries_ > max_entries_;
      piece->parsed = std::move(parsed);
      if (!stop_) memory_.require(graph_bytes(header_, header_.vertices, entries_));
    }
  }

  /// The next block and the place for what becomes of it, or null where there is none to parse.
  piece* take(text_block& text) {
    std::scoped_lock const guard{lock_};
    try {
      if (stop_ || !source_.next(text)) return nullptr;
    } catch (text_error const& fault) {
      stop_ = true;
      pieces_.emplace_back().parsed.fault = line_fault{0, fault.what()};
      return nullptr;
    }
    return &pieces_.emplace_back();
  }

  text_source& source_;
  graph_header const& header_;
  line_grammar const& grammar_;
  std::uint64_t max_entries_;
  file_memory const& memory_;
  std::mutex lock_;  // of all below, and of the source
  std::deque<piece> pieces_;
  std::uint64_t entries_ = 0;
  bool stop_ = false;
};

/// What the pieces have together.
struct pieces_found {
  std::uint64_t entries = 0;
  std::optional<entry_place> below;
  std::optional<entry_place> above;
  std::optional<rounded_weight> rounded;
  std::uint64_t rounded_weights = 0;
};

/// Takes the first of these that a piece has, with its line in the file.
template <class Found>
void take_first(std::optional<Found>& first, std::optional<Found> const& of_piece, std::uint64_t lines_before) {
  if (first || !of_piece) return;
  first = of_piece;
  first->line += lines_before;
}

void check_triangle(std::string const& path, pieces_found const& found) {
  if (!found.above || !found.below) return;
  bool const above = found.above->line > found.below->line;
  entry_place const& later = above ? *found.above : *found.below;
  throw input_error(path, later.line,
                    "entry (" + std::to_string(later.row) + ", " + std::to_string(later.column) + ") is " +
                        (above ? "above" : "below") + " the diagonal, but the one of line " +
                        std::to_string((above ? found.below : found.above)->line) +
                        " is on its other side: a symmetric matrix is given by one triangle");
}

/// What the pieces have, if none has a fault and there are as many edges as there should be.
pieces_found count(std::string const& path, graph_header const& header, std::uint64_t max_entries,
                   std::deque<piece> const& pieces, std::uint64_t& vertices) {
  pieces_found found;
  auto line = header.lines;
  for (auto const& [parsed, room, first] : pieces) {
    if (parsed.fault)
      throw input_error(path, parsed.fault->line == 0 ? 0 : line + parsed.fault->line, parsed.fault->message);
    take_first(found.below, parsed.below, line);
    take_first(found.above, parsed.above, line);
    take_first(found.rounded, parsed.rounded, line);
    found.rounded_weights += parsed.rounded_weights;
    line += parsed.lines;
    found.entries += parsed.edges;
    if (parsed.edges != 0) vertices = std::max(vertices, parsed.highest + std::uint64_t{1});
  }
  if (header.declares && found.entries != header.entries) {
    throw input_error(path, header.line,
                      "declares " + std::to_string(header.entries) + " entries, but the file holds " +
                          (found.entries > header.entries ? "more" : std::to_string(found.entries)));
  }
  if (found.entries > max_entries)
    throw input_error(path, 0, "holds more edges than the limit max_edges = " + std::to_string(max_entries));
  if (found.entries == 0) throw input_error(path, 0, line == 0 ? "is empty" : "holds no edges");
  check_triangle(path, found);
  return found;
}

/// Says that the first line of a list may be no edge, but the number of vertices and of edges: so many edges follow,
/// and no other id is larger.
std::string size_line_note(std::deque<piece> const& pieces, std::uint64_t entries, std::uint64_t vertices,
                           bool weighted) {
  auto const found =
      std::find_if(pieces.begin(), pieces.end(), [](piece const& each) { return each.parsed.edges != 0; });
  auto const [source, target] = found->room->edges[found->first];
  std::uint64_t const follow = entries - 1;
  bool const counts =
      target == follow || (weighted && found->room->weights[found->first] == static_cast<float>(follow));
  if (entries < 3 || source < 2 || !counts || std::max(source, target) + std::uint64_t{1} < vertices) return {};
  return ": its first edge, from " + std::to_string(source) + " to " + std::to_string(target) +
         ", may be the number of vertices and of edges: if so, begin that line with #";
}

/// Gives the edges of each piece once.
edge_supply supply_of(std::deque<piece>& pieces, bool weighted) {
  edge_supply supply{.weighted = weighted};
  for (piece const& each : pieces) supply.max_edges.push_back(each.parsed.edges);
  supply.make = [&pieces, weighted](std::size_t part, edge_list::block& block) {
    auto const room = std::exchange(pieces[part].room, nullptr);
    auto const begin = static_cast<std::ptrdiff_t>(pieces[part].first);
    auto const end = begin + static_cast<std::ptrdiff_t>(pieces[part].parsed.edges);
    block.edges.assign(room->edges.begin() + begin, room->edges.begin() + end);
    if (weighted) block.weights.assign(room->weights.begin() + begin, room->weights.begin() + end);
  };
  return supply;
}

/// What KONECT's first line says that a reader of edges drops; empty: nothing.
std::string konect_note(std::string_view start, load_options const& options) {
  bool const one_way = options.lists == list_edges::one_way && options.symmetric == symmetric_entries::both_ways;
  switch (konect_kind(start)) {
    case konect_edges::undirected:
      return one_way ? "that edges have no direction (`sym`), but each is taken one way: undirected=yes takes both"
                     : "";
    case konect_edges::bipartite:
      return "that each column counts vertices of its own (`bip`), but a number is taken as one vertex in both";
    default:
      return "";
  }
}

/// What the text is, by the file's name and the text's beginning.
text_format format_of(std::string const& path, text_source& source, load_options const& options,
                      std::vector<std::string>& notes) {
  source.take_line_ends();
  std::string_view start = source.peek(text_block_bytes - 1);
  if (auto const end = start.rfind('\n'); start.size() == text_block_bytes - 1 && end != start.npos)
    start = start.substr(0, end + 1);  // whole lines
  text_format made = format_of_text(format_of_name(path), start);
  if (!made.taken.empty()) notes.push_back(path + " is read as " + made.taken);
  if (made.format != graph_format::edge_list && made.format != graph_format::weighted_edge_list) return made;
  if (auto const note = konect_note(start, options); !note.empty())
    notes.push_back(path + " says on its first line " + note);
  return made;
}

void note_rounded(std::string const& path, std::uint64_t count, std::optional<rounded_weight> const& first,
                  loaded_graph& made) {
  if (!first) return;
  made.rounded_weights = count;
  std::string const taken = std::to_string(static_cast<std::int64_t>(std::clamp(first->taken, -0x1p62F, 0x1p62F)));
  made.notes.push_back(path + ": " + (count == 1 ? "a whole weight is" : std::to_string(count) + " whole weights are") +
                       " not exact, because weights are floats: line " + std::to_string(first->line) + " says " +
                       first->text + ", taken as " + taken);
}

loaded_graph load(std::string const& path, load_options const& options) {
  auto const threads = set_up_threads(options.threads);
  file_memory const memory{path, "take a smaller graph, or a computer with more memory", options.memory};
  loaded_graph made;
  graph_header header;
  std::deque<piece> pieces;
  std::uint64_t max_entries = 0;
  try {
    text_source source{path, options.max_bytes};
    text_format const format = format_of(path, source, options, made.notes);
    header = read_header(path, format, source, options);
    made.first_id = static_cast<std::uint32_t>(header.grammar.first_id);
    made.weighted = header.grammar.weights != weight_column::none;
    bool const twice = header.mirrored != mirror::none;
    max_entries = header.declares ? header.entries : options.max_edges / (twice ? 2 : 1);
    std::uint64_t const entries = header.declares ? header.entries : source.expect("\n");
    memory.require(graph_bytes(header, header.vertices, entries));
    if (format.format == graph_format::metis) {
      metis_edges read = read_metis_edges(path, source, header);
      note_rounded(path, read.rounded_weights, read.rounded, made);
      auto const vertices = std::max(options.vertices, header.vertices);
      made.graph = make_csr(std::move(read.edges), static_cast<std::uint32_t>(vertices), mirror::none, threads);
      return made;
    }
    pieces = body_reader{source, header, max_entries, memory}.read(threads);
  } catch (text_error const& fault) {
    throw input_error(path, 0, fault.what());
  }
  auto vertices = std::max(options.vertices, header.vertices);
  pieces_found const found = count(path, header, max_entries, pieces, vertices);
  note_rounded(path, found.rounded_weights, found.rounded, made);
  memory.require(graph_bytes(header, vertices, found.entries));
  if (!header.declares) {
    auto const note = size_line_note(pieces, found.entries, vertices, header.grammar.stores_weights());
    if (!note.empty()) made.notes.push_back(path + note);
  }
  made.graph = make_csr(supply_of(pieces, header.grammar.stores_weights()), static_cast<std::uint32_t>(vertices),
                        header.mirrored, threads);
  return made;
}

}  // namespace

loaded_graph read_graph(std::string const& path, load_options const& options) {
  if (options.vertices > std::min(options.max_vertices, max_csr_vertices))
    throw usage_error("load_options: vertices = " + std::to_string(options.vertices) +
                      " is over max_vertices, or over " + std::to_string(max_csr_vertices));
  try {
    return load(path, options);
  } catch (std::bad_alloc const&) {
    throw limit_error(path + ": not enough memory for this graph on this computer");
  }
}

csr load_graph(std::string const& path, load_options const& options) { return read_graph(path, options).graph; }

}  // namespace lull
