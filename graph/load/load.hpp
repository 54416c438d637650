// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <lull/graph/csr/csr.hpp>
#include <lull/host/io/host_memory.hpp>
#include <optional>
#include <string>

namespace lull {

/// What an entry of a symmetric matrix off its diagonal counts as: an edge each way, or one, for a task that does not
/// look at directions.
enum class symmetric_entries { both_ways, once };

/// What a file may ask of this machine. A file that asks for more is refused, with the name of the limit.
struct load_options {
  std::uint64_t max_edges = 1ULL << 31;     // of the graph
  std::uint64_t max_vertices = 1ULL << 28;  // an edge list of one line may name vertex 4294967294: 32 GiB of offsets
  std::uint64_t max_bytes = 1ULL << 36;     // of text, after decompression
  std::uint64_t vertices = 0;               // at least so many, where the file names fewer
  symmetric_entries symmetric = symmetric_entries::both_ways;
  unsigned threads = 0;                 // 0: those of the machine; at most 16 are used
  std::optional<free_memory> memory{};  // that the graph may take; none: what is free
};

/// Reads a graph; a row holds its edges in the order of the file, whatever the number of threads.
///
/// By the end of the name, each also with `.gz` after it (members one after the other, too):
///   .el   edge list: `source target` a line, ids from 0; `#` begins a comment line; vertices = highest id + 1
///   .wel  the same with a third column, the weight
///   .mtx  Matrix Market, `matrix coordinate pattern|real|integer general|symmetric`, square: entry (i, j) is the edge
///         i → j; a symmetric one holds the lower triangle, and each entry off the diagonal also gives j → i, unless
///         `symmetric` says once
///   .gr   DIMACS shortest path: `c` comments, `p sp VERTICES ARCS`, `a SOURCE TARGET WEIGHT`, ids from 1
/// Blanks and tabs separate; lines end in LF or CRLF, the last one may lack its end. Duplicates and self-loops stay.
///
/// The file is read once, front to back, in blocks that threads parse side by side: what another process does to it
/// meanwhile can change what is read, but never makes a pass disagree with an earlier one (as in two passes over a
/// mapped file, where a shrinking file kills the process). Only regular files are read, so that it cannot hang. At its
/// highest the memory holds 9 bytes an edge read (14 with a weight), or the graph and 6 bytes for each of its edges (10
/// with a weight), and under 7 MiB a thread.
///
/// Throws input_error with file and line: anything else than the above in a line, a NUL byte, a line over 64 KiB, an
/// id that is no vertex, a number that is not finite, other counts than declared, damaged or truncated gzip data, a
/// limit exceeded, a file without edges. limit_error where memory does not suffice: before reading, where
/// the header or the file's size and samples of its text tell, or else as soon as the edges that were read tell.
/// Nothing is left half-made.
///
/// Sources: GAP benchmark suite (Beamer, Asanović, Patterson 2015) for .el and .wel; Boisvert, Pozo, Remington, "The
/// Matrix Market exchange formats", NISTIR 5935, 1996; 9th DIMACS implementation challenge, shortest paths, 2006.
csr load_graph(std::string const& path, load_options const& options = {});

}  // namespace lull
