// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <lull/graph/load/load_metis.hpp>
#include <lull/host/error.hpp>
#include <lull/host/task/counter_random.hpp>
#include <string_view>
#include <utility>

namespace lull::detail {
namespace {

constexpr std::size_t max_row_bytes = 16UL << 20;  // over a million neighbours
constexpr std::size_t edges_at_once = 1UL << 16;

class metis_reader {
 public:
  metis_reader(std::string const& path, graph_header const& header)
      : path_(path), header_(header), grammar_(header.grammar), line_(header.lines) {
    read_.edges.weighted = grammar_.stores_weights();
  }

  metis_edges read(text_source& source) {
    text_block text;
    text.max_bytes = max_row_bytes + text_block_bytes;
    while (source.next(text)) {
      for (std::string_view left = text.text(); !left.empty();) {
        std::string_view const line = left.substr(0, left.find('\n'));
        left.remove_prefix(line.size() + 1);
        ++line_;
        if (line.size() > max_row_bytes) refuse("a line of more than " + std::to_string(max_row_bytes) + " bytes");
        if (!line.substr(std::min(line.find_first_not_of(" \t"), line.size())).starts_with('%')) add_row(line);
      }
    }
    check();
    return std::move(read_);
  }

 private:
  [[noreturn]] void refuse(std::string const& message) const { throw input_error(path_, line_, message); }

  void add_row(std::string_view line) {
    if (line.find('\0') != std::string_view::npos) refuse("a NUL byte: this is not a text file");
    rest_ = line;
    if (row_ == header_.vertices) {
      if (!next_word().empty()) refuse("the header declares " + std::to_string(row_) + " vertices: here is one more");
      return;
    }
    ++row_;
    for (unsigned number = 0; number < header_.skipped; ++number) {
      if (auto const fault = read_whole(next_word()).fault; !fault.empty())
        refuse("vertex " + std::to_string(row_) + ": its size or weight " + fault);
    }
    for (std::string_view word; !(word = next_word()).empty();) add_edge(word);
  }

  void add_edge(std::string_view word) {
    auto const [id, fault] = read_whole(word);
    if (!fault.empty()) refuse("the vertex id " + fault);
    if (id == 0) refuse("the vertex id 0, but this format counts from 1");
    if (id >= grammar_.end_id) refuse("the vertex id " + std::to_string(id) + " is " + grammar_.id_limit);
    if (++entries_ > header_.entries) return check();
    auto& blocks = read_.edges.blocks;
    if (blocks.empty() || blocks.back().edges.size() == edges_at_once)
      blocks.emplace_back().edges.reserve(edges_at_once);
    blocks.back().edges.push_back({static_cast<std::uint32_t>(row_ - 1), static_cast<std::uint32_t>(id - 1)});
    if (id != row_) {  // what one way adds, the other takes away
      std::uint64_t const mixed = counter_random::mix(std::min(row_, id) << 32 | std::max(row_, id));
      balance_ += row_ < id ? mixed : -mixed;
    }
    if (grammar_.weights == weight_column::none) return;
    float const weight = next_weight(word);
    if (read_.edges.weighted) blocks.back().weights.push_back(weight);
  }

  float next_weight(std::string_view neighbour) {
    std::string_view const word = next_word();
    std::string const text = std::string{word} + '\n';
    char const* at = text.data();
    float weight = 0;
    bool rounded = false;
    if (!read_weight(at, text.data() + text.size(), grammar_.weights, weight, rounded) || *at != '\n')
      refuse("the edge from " + std::to_string(row_) + " to " + std::string{neighbour} + ": " +
             weight_fault(word, grammar_.weights));
    if (rounded && ++read_.rounded_weights == 1) read_.rounded = rounded_weight{line_, std::string{word}, weight};
    return weight;
  }

  std::string_view next_word() {
    constexpr std::string_view blanks = " \t\r";
    rest_.remove_prefix(std::min(rest_.find_first_not_of(blanks), rest_.size()));
    std::string_view const word = rest_.substr(0, rest_.find_first_of(blanks));
    rest_.remove_prefix(word.size());
    return word;
  }

  void check() const {
    if (entries_ != header_.entries)
      throw input_error(path_, header_.line,
                        "declares " + std::to_string(header_.entries / 2) +
                            " edges, each listed by both its vertices: " + std::to_string(header_.entries) +
                            " neighbours; but the file lists " +
                            (entries_ > header_.entries ? "more" : std::to_string(entries_)));
    if (row_ != header_.vertices)
      throw input_error(path_, header_.line,
                        "declares " + std::to_string(header_.vertices) + " vertices, but the file has lines of " +
                            std::to_string(row_));
    if (balance_ != 0)
      throw input_error(path_, 0,
                        "lists an edge by one of its vertices alone, but METIS lists each by both: edges of one "
                        "direction are for an edge list (.el)");
  }

  std::string const& path_;
  graph_header const& header_;
  line_grammar const& grammar_;
  metis_edges read_;
  std::uint64_t line_;
  std::uint64_t row_ = 0;  // the vertex, as the file counts
  std::uint64_t entries_ = 0;
  std::uint64_t balance_ = 0;  // of neighbours above and below: not 0 if an edge is listed one way alone
  std::string_view rest_;      // of the line
};

}  // namespace

metis_edges read_metis_edges(std::string const& path, text_source& source, graph_header const& header) {
  return metis_reader{path, header}.read(source);
}

}  // namespace lull::detail
