// SPDX-License-Identifier: Apache-2.0
// Text as it comes out of a file, packed or not, and rows of a table.
#include <lull/tests/fuzz/readers.hpp>

#include <algorithm>

#include <lull/host/error.hpp>
#include <lull/host/io/text_source.hpp>
#include <lull/tasks/mlp/labelled_rows.hpp>
#include <lull/tests/support/gzip.hpp>

namespace lull::fuzz {
namespace {

constexpr std::uint64_t max_text_bytes = 1UL << 20;  // a few bytes of gzip are gigabytes of text

/// Returns the text, or why it cannot be read, which begins with a NUL.
std::string text_of(std::string const& path) {
  std::string all;
  try {
    text_source source{path, max_text_bytes};
    require(source.expect("\n") <= max_text_bytes, "no more lines are expected than the file has bytes");
    for (text_block block; source.next(block);) {
      require(block.size != 0 && block.size <= block.bytes.size(), "a block has text, and room for it");
      require(block.text().back() == '\n', "a block ends with a line");
      all += block.text();
    }
  } catch (text_error const& refused) {
    return std::string(1, '\0') + refused.what();
  }
  return all;
}

void check(labelled_rows const& found, std::size_t features) {
  require(found.rows != 0 && found.features != 0, "there are rows");
  require(features == 0 || found.features == features, "rows have the numbers that were asked for");
  require(found.values.size() == std::size_t{found.rows} * found.features, "each row has its numbers");
  require(found.labels.size() == found.rows || (features != 0 && found.labels.empty()), "each row has its label");
  require(std::all_of(found.labels.begin(), found.labels.end(), [&](auto each) { return each < found.classes; }),
          "labels are below the number of classes");
}

}  // namespace

void read_gzip(std::string_view input) { text_of(file_of(input, ".gz")); }

void read_text(std::string_view input) {
  if (input.starts_with("\x1f\x8b")) return;  // gzip, which read_gzip is for
  std::string const plain = text_of(file_of(input, ".txt"));
  require(plain == text_of(file_of(test::gzip(input), ".gz")), "packing changes no text");
  require(plain.starts_with('\0') || plain.starts_with(without_byte_order_mark(input).substr(0, text_block_bytes - 1)),
          "text is that of the file");
}

void read_rows(std::string_view input) {
  free_memory const memory{max_machine_bytes, "the fuzzer"};
  std::string const path = file_of(input, ".csv");
  try {
    check(read_labelled_rows(path, {.memory = memory}), 0);
  } catch (error const&) {  // rows to class may still be read
  }
  check(read_rows_to_class(path, 4, {.memory = memory}), 4);
}

}  // namespace lull::fuzz
