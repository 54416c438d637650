// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>
#include <zlib.h>

#include <cstdint>
#include <fstream>
#include <initializer_list>
#include <lull/graph/csr/csr.hpp>
#include <lull/tests/support/test_folder.hpp>
#include <string>
#include <string_view>
#include <vector>

namespace lull::test {

/// One gzip member.
inline std::string gzip(std::string_view text) {
  z_stream stream{};
  deflateInit2(&stream, Z_BEST_COMPRESSION, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY);
  std::string packed(deflateBound(&stream, text.size()), '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(text.data()));
  stream.avail_in = static_cast<uInt>(text.size());
  stream.next_out = reinterpret_cast<Bytef*>(packed.data());
  stream.avail_out = static_cast<uInt>(packed.size());
  EXPECT_EQ(deflate(&stream, Z_FINISH), Z_STREAM_END);
  packed.resize(stream.total_out);
  deflateEnd(&stream);
  return packed;
}

/// A file of this size with the text at its beginning, middle and end. The holes between take no place on the disk.
inline void write_sparse(std::string const& path, std::string const& text, std::uint64_t bytes) {
  std::ofstream file{path, std::ios::binary};
  for (std::uint64_t const at : {std::uint64_t{0}, (bytes - text.size()) / 2, bytes - text.size()}) {
    file.seekp(static_cast<std::streamoff>(at));
    file << text;
  }
}

/// A graph written out by hand, row by row.
inline csr rows(std::initializer_list<std::initializer_list<std::uint32_t>> targets) {
  csr graph;
  graph.offsets.push_back(0);
  for (auto const& row : targets) {
    graph.targets.insert(graph.targets.end(), row);
    graph.offsets.push_back(graph.targets.size());
  }
  return graph;
}

/// The same with weights, edge by edge.
inline csr rows(std::initializer_list<std::initializer_list<std::uint32_t>> targets,
                std::vector<float> const& weights) {
  csr graph = rows(targets);
  graph.weights.assign(weights.begin(), weights.end());
  return graph;
}

}  // namespace lull::test
