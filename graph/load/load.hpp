// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <lull/graph/csr/csr.hpp>
#include <lull/host/io/host_memory.hpp>
#include <optional>
#include <string>
#include <vector>

namespace lull {

/// What an entry of a symmetric matrix off its diagonal counts as: an edge each way, or one, for a task that does not
/// look at directions.
enum class symmetric_entries { both_ways, once };

/// What an edge of a list (.el, .wel) counts as: one way, or both, but for a self-loop.
enum class list_edges { one_way, both_ways };

/// What becomes of the weights in a file.
enum class file_weights {
  kept,     // each a finite float
  lengths,  // … from 0 to max_real_weight, as shortest paths take them
  skipped   // nobody needs them: any number will do
};

/// What a file may ask of this machine. A file that asks for more is refused, with the name of the limit.
struct load_options {
  std::uint64_t max_edges = 1ULL << 31;     // of the graph
  std::uint64_t max_vertices = 1ULL << 28;  // an edge list of one line may name vertex 4294967294: 32 GiB of offsets
  std::uint64_t max_bytes = 1ULL << 36;     // of text, after decompression
  std::uint64_t vertices = 0;               // at least so many, where the file names fewer
  symmetric_entries symmetric = symmetric_entries::both_ways;
  list_edges lists = list_edges::one_way;  // nothing else for a task with symmetric_entries::once
  file_weights weights = file_weights::kept;
  unsigned threads = 0;                 // 0: those of the machine; at most 16 are used
  std::optional<free_memory> memory{};  // that the graph may take; none: what is free
};

/// A graph, and what a reader of its file has to know.
struct loaded_graph {
  csr graph;
  std::uint32_t first_id = 0;           // what the file calls vertex 0
  bool weighted = false;                // the file has weights, kept or not
  std::uint64_t rounded_weights = 0;    // whole ones that no float equals
  std::vector<std::string> notes = {};  // a sentence each: what was taken that the name does not tell, and rounded
};

/// Reads a graph; a row holds its edges in the order of the file, whatever the number of threads.
///
/// By the end of the name, in letters of either case, each also with `.gz` after it; what is gzip (members one after
/// the other, too) is told by its content:
///   .el     edge list: `source target` a line, ids from 0, vertices = highest id + 1; `#` or `%` begins a comment
///           line; a comma or a semicolon may separate, if one does in the first edge
///   .wel    the same with a third column, the weight
///   .mtx    Matrix Market (its banner in either case), `matrix coordinate pattern|real|integer|unsigned-integer
///   general|symmetric`, square: entry
///           (i, j) is the edge i → j; a symmetric one holds one triangle, the lower or the upper, and each entry off
///           the diagonal also gives j → i, unless `symmetric` says once
///   .gr     DIMACS shortest path: `c` comments, `p sp VERTICES ARCS`, `a SOURCE TARGET WEIGHT`, ids from 1
///   .graph  METIS: `VERTICES EDGES [FORMAT [WEIGHTS]]`, then a line a vertex with its neighbours, ids from 1, as the
///           format says with a weight after each, and sizes and weights of vertices before, which are left out; `%`
///           comments
/// Any other name: by its first line, Matrix Market, DIMACS or an edge list, of two columns or three; a note says
/// which. Blanks and tabs separate; lines end in LF, CRLF or CR, the last one may lack its end. A byte order mark may
/// come first. Duplicates and self-loops stay. A weight that is too small for a float is 0.
///
/// The file is read once, front to back, in blocks that threads parse side by side: what another process does to it
/// meanwhile can change what is read, but never makes a pass disagree with an earlier one (as in two passes over a
/// mapped file, where a shrinking file kills the process). Only regular files are read, so that it cannot hang. At its
/// highest the memory holds 9 bytes an edge read (14 with a weight), or the graph and 6 bytes for each of its edges (10
/// with a weight), and under 7 MiB a thread.
///
/// Throws input_error with file and line: anything else than the above in a line, a NUL byte, a line over 64 KiB
/// (METIS: 16 MiB), an id that is no vertex, a weight that `weights` does not allow, entries in both triangles of a
/// symmetric matrix, an edge that one vertex of METIS alone lists, other counts than declared, damaged or truncated
/// gzip data, a limit exceeded, a file without edges. limit_error where memory does not suffice: before reading, where
/// the header or the file's size and samples of its text tell, or else as soon as the edges that were read tell.
/// Nothing is left half-made.
///
/// Sources: GAP benchmark suite (Beamer, Asanović, Patterson 2015) for .el and .wel; Boisvert, Pozo, Remington, "The
/// Matrix Market exchange formats", NISTIR 5935, 1996; 9th DIMACS implementation challenge, shortest paths, 2006;
/// Karypis, METIS 5.1.0 manual, section 4.1, 2013.
loaded_graph read_graph(std::string const& path, load_options const& options = {});
/// The graph alone.
csr load_graph(std::string const& path, load_options const& options = {});

}  // namespace lull
