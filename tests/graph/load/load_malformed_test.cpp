// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <functional>
#include <lull/graph/load/load.hpp>
#include <lull/host/error.hpp>
#include <random>

#include <lull/tests/graph/graph_file.hpp>
#include <lull/tests/support/effort.hpp>

namespace lull {
namespace {

using test::gzip;
using test::test_folder;

struct malformed {
  std::string name;
  std::string text;
  std::uint64_t line;    // that the error names; 0: the file
  std::string expected;  // in its message
};

void expect_refused(std::string const& path, std::uint64_t line, std::string const& expected,
                    load_options const& options = {}) {
  try {
    auto const graph = load_graph(path, options);
    ADD_FAILURE() << path << " was read, " << graph.edges() << " edges: " << expected;
  } catch (input_error const& error) {
    std::string const what = error.what();
    EXPECT_EQ(error.file(), path);
    EXPECT_EQ(error.line(), line) << what;
    EXPECT_NE(what.find(expected), std::string::npos) << what << "\n  lacks: " << expected;
    EXPECT_TRUE(what.starts_with(path + (line == 0 ? "" : ":" + std::to_string(line)) + ": ")) << what;
  }
}

std::string const banner = "%%MatrixMarket matrix coordinate ";
std::string const pattern = banner + "pattern general\n";
std::string const symmetric = banner + "pattern symmetric\n";
std::string const real = banner + "real general\n";

std::vector<malformed> table() {
  using namespace std::string_literals;
  return {
      {"empty.el", "", 0, "is empty"},
      {"only comments.el", "# 0 1\n\n", 0, "holds no edges"},
      {"one column.el", "0 1\n2\n", 2, "1 columns instead of 2 (source, target): `2`"},
      {"three columns.el", "0 1\n1 0 3\n", 2, "3 columns instead of 2"},
      {"comment behind.el", "0 1 # no\n", 1, "4 columns instead of 2"},
      {"word.el", "0 one\n", 1, "the vertex id `one` is not a whole number"},
      {"negative.el", "0 1\n\n-1 2\n", 3, "the vertex id `-1` is negative"},
      {"plus.el", "+1 2\n", 1, "the vertex id `+1` is not a whole number"},
      {"fraction.el", "0 1.0\n", 1, "the vertex id `1.0` is not a whole number"},
      {"hexadecimal.el", "0 0x10\n", 1, "the vertex id `0x10` is not a whole number"},
      {"comma later.el", "0 1\n0,1\n", 2, "1 columns instead of 2"},
      {"no comma later.el", "0,1\n0 1\n", 2, "1 columns instead of 2"},
      {"empty column.el", "0,1\n,2\n", 2, "the vertex id is empty"},
      {"empty last column.el", "0,1\n2,\n", 2, "the vertex id is empty"},
      {"three commas.el", "0,1\n1,,2\n", 2, "3 columns instead of 2"},
      {"last comma.el", "0,1,\n", 1, "3 columns instead of 2"},
      {"decimal comma.wel", "0 1 0,5\n", 1, "2 columns instead of 3"},
      {"empty weight.wel", "0,1,\n", 1, "the edge from 0 to 1: the weight is empty"},
      {"heading.el", "from,to\n0,1\n", 1,
       "the vertex id `from` is not a whole number; if this is a heading, begin it with #"},
      {"largest id.el", "0 268435456\n", 1, "the vertex id 268435456 is over the limit: max_vertices = 268435456"},
      {"32 bits.el", "4294967295 0\n", 1, "over the limit"},
      {"33 bits.el", "4294967296 0\n", 1, "over the limit"},
      {"64 bits.el", "0 18446744073709551616\n", 1, "`18446744073709551616` has too many digits"},
      {"wraps.el", "0 18446744073709551617\n", 1, "too many digits"},
      {"digits.el", "0 " + std::string(5000, '9') + "\n", 1, "too many digits"},
      {"nul.el", "0 1\n1 0\0\n"s, 2, "a NUL byte"},
      {"nul in comment.el", "0 1\n# \0\n"s, 2, "a NUL byte"},
      {"mark in the middle.el",
       "\xef\xbb\xbf"
       "0 1\n\xef\xbb\xbf"
       "0 1\n",
       2, "the vertex id `<byte order mark>0` is not a whole number"},
      {"two marks.el", "\xef\xbb\xbf\xef\xbb\xbf# no\n0 1\n", 1,
       "the vertex id `<byte order mark>#` is not a whole number"},
      {"utf-16.el",
       "\xff\xfe"
       "0\0 \0"s,
       0, "is text in UTF-16 or UTF-32: save it as UTF-8"},
      {"inner cr.el", "0 1\n1 0\r0 1\n", 2, "3 columns instead of 2"},
      {"other comment.el", "% 0 1\n", 0, "holds no edges"},
      {"third comment.el", "// 0 1\n", 1, "3 columns instead of 2"},
      {"form feed.el", "0\f1\n", 1, "1 columns instead of 2 (source, target): `0?1`"},
      {"long line.el", "0 1\n" + std::string(65'534, ' ') + "0 1\n", 2, "a line of more than 65536 bytes"},
      {"long comment.el", "#" + std::string(65'536, 'x') + "\n0 1\n", 1, "a line of more than 65536 bytes"},
      {"endless line.el", "0 1\n#" + std::string(1'000'000, 'x'), 2, "a line of more than 65536 bytes"},
      {"endless first line.el", std::string(1'000'000, ' '), 1, "a line of more than 65536 bytes"},
      {"two columns.wel", "0 1 1\n0 1\n", 2, "2 columns instead of 3 (source, target, weight)"},
      {"four columns.wel", "0 1 1 1\n", 1, "4 columns instead of 3"},
      {"word.wel", "0 1 heavy\n", 1, "the weight `heavy` is not a finite number that fits a float"},
      {"infinite.wel", "0 1 inf\n", 1, "the weight `inf` is not a finite"},
      {"not a number.wel", "0 1 nan\n", 1, "the weight `nan` is not a finite"},
      {"overflow.wel", "0 1 3.5e38\n", 1, "the weight `3.5e38` is not a finite"},
      {"huge.wel", "0 1 1e999999999999\n", 1, "is not a finite"},
      {"two signs.wel", "0 1 +-1\n", 1, "the weight `+-1` is not a finite"},
      {"no digits.wel", "0 1 -\n", 1, "the weight `-` is not a finite"},
      {"junk behind.wel", "0 1 2.5x\n", 1, "the weight `2.5x` is not a finite"},
      {"hexadecimal.wel", "0 1 0x1p3\n", 1, "the weight `0x1p3` is not a finite"},
      {"empty.mtx", "", 0, "the file ends where `%%MatrixMarket matrix"},
      {"no banner.mtx", "2 2 1\n1 1\n", 1, "expected `%%MatrixMarket matrix coordinate"},
      {"late banner.mtx", "\n" + pattern + "2 2 1\n1 1\n", 1, "expected `%%MatrixMarket matrix coordinate"},
      {"vector.mtx", "%%MatrixMarket vector coordinate real general\n", 1, "expected `%%MatrixMarket matrix"},
      {"short banner.mtx", "%%MatrixMarket matrix coordinate real\n2 2 1\n1 1 1\n", 1, "expected `%%MatrixMarket"},
      {"array.mtx", "%%MatrixMarket matrix array real general\n1 1\n1\n", 1, "a dense matrix (`array`) is not read"},
      {"complex.mtx", banner + "complex general\n1 1 1\n1 1 1 1\n", 1, "complex values are not supported"},
      {"hermitian.mtx", banner + "real hermitian\n1 1 1\n1 1 1\n", 1, "hermitian matrices are not supported"},
      {"skew.mtx", banner + "real skew-symmetric\n2 2 1\n2 1 1\n", 1, "skew-symmetric matrices are not supported"},
      {"field.mtx", banner + "double general\n1 1 1\n1 1 1\n", 1, "expected `%%MatrixMarket"},
      {"no size.mtx", pattern + "% nothing\n", 2, "the file ends where the line `ROWS COLUMNS ENTRIES`"},
      {"short size.mtx", pattern + "2 2\n", 2, "expected `ROWS COLUMNS ENTRIES`, got `2 2`"},
      {"bad size.mtx", pattern + "2 two 1\n", 2, "the number of columns `two` is not a whole number"},
      {"negative size.mtx", pattern + "2 2 -1\n", 2, "the number of entries `-1` is negative"},
      {"large size.mtx", pattern + "99999999999999999999 2 1\n", 2,
       "the number of rows `99999999999999999999` has too"},
      {"not square.mtx", pattern + "2 3 1\n1 3\n", 2, "2 rows and 3 columns, but only a square one"},
      {"no vertices.mtx", pattern + "0 0 0\n", 2, "declares a graph without edges"},
      {"no entries.mtx", pattern + "2 2 0\n", 2, "declares a graph without edges"},
      {"too many vertices.mtx", pattern + "4294967296 4294967296 1\n1 1\n", 2, "over the limit max_vertices"},
      {"too many entries.mtx", pattern + "2 2 9999999999999\n1 1\n", 2, "over the limit max_edges"},
      {"too many twice.mtx", symmetric + "2 2 1073741825\n1 1\n", 2, "over the limit max_edges"},
      {"fewer.mtx", pattern + "% x\n2 2 3\n1 1\n2 2\n", 3, "declares 3 entries, but the file holds 2"},
      {"more.mtx", pattern + "2 2 1\n1 1\n2 2\n", 2, "declares 1 entries, but the file holds more"},
      {"from zero.mtx", pattern + "2 2 1\n0 1\n", 3, "the vertex id 0, but this format counts from 1"},
      {"outside.mtx", pattern + "2 2 1\n1 3\n", 3, "the vertex id 3 is larger than the declared number of vertices, 2"},
      {"both triangles.mtx", symmetric + "3 3 3\n1 1\n2 1\n1 3\n", 5,
       "entry (1, 3) is above the diagonal, but the one of line 4 is on its other side"},
      {"lower later.mtx", symmetric + "3 3 3\n1 2\n1 1\n3 1\n", 5, "entry (3, 1) is below the diagonal"},
      {"weight in pattern.mtx", pattern + "2 2 1\n1 2 3\n", 3, "3 columns instead of 2"},
      {"no weight in real.mtx", real + "2 2 1\n1 2\n", 3, "2 columns instead of 3"},
      {"nul.mtx", pattern + "%\0\n2 2 1\n1 2\n"s, 2, "a NUL byte"},
      {"long.mtx", pattern + "%" + std::string(70'000, 'x') + "\n2 2 1\n1 2\n", 2, "a line of more than 65536 bytes"},
      {"empty.gr", "", 0, "the file ends where the problem line"},
      {"only comments.gr", "c\nc x\n", 2, "the file ends where the problem line"},
      {"arcs first.gr", "a 1 2 3\np sp 2 1\n", 1, "expected the problem line `p sp VERTICES ARCS`"},
      {"other problem.gr", "p max 2 1\n", 1, "expected the problem line"},
      {"short problem.gr", "p sp 2\n", 1, "expected the problem line"},
      {"bad problem.gr", "p sp 2 1x\n", 1, "the number of arcs `1x` is not a whole number"},
      {"two problems.gr", "p sp 2 1\na 1 2 3\np sp 2 1\n", 3, "a second problem line"},
      {"no arcs.gr", "p sp 2 0\n", 1, "declares a graph without edges"},
      {"fewer.gr", "p sp 2 2\na 1 2 3\n", 1, "declares 2 entries, but the file holds 1"},
      {"more.gr", "c\np sp 2 1\na 1 2 3\na 2 1 3\n", 2, "declares 1 entries, but the file holds more"},
      {"no a.gr", "p sp 2 1\n1 2 3\n", 2, "expected a line `a SOURCE TARGET WEIGHT`"},
      {"joined a.gr", "p sp 2 1\na1 2 3\n", 2, "expected a line `a SOURCE TARGET WEIGHT`"},
      {"only a.gr", "p sp 2 1\na\n", 2, "0 columns after the `a` instead of 3"},
      {"no weight.gr", "p sp 2 1\na 1 2\n", 2, "2 columns after the `a` instead of 3"},
      {"outside.gr", "p sp 2 1\na 3 1 1\n", 2, "the vertex id 3 is larger than the declared number"},
      {"from zero.gr", "p sp 2 1\na 1 0 1\n", 2, "the vertex id 0, but this format counts from 1"},
      {"empty.graph", "", 0, "the file ends where the line `VERTICES EDGES"},
      {"one number.graph", "2\n2\n1\n", 1, "expected the line `VERTICES EDGES"},
      {"format.graph", "2 1 2\n2\n1\n", 1, "the format `2` is not of METIS"},
      {"long format.graph", "2 1 0011\n2\n1\n", 1, "the format `0011` is not of METIS"},
      {"no edges.graph", "2 0\n\n\n", 1, "declares a graph without edges"},
      {"from zero.graph", "2 1\n2\n0\n", 3, "the vertex id 0, but this format counts from 1"},
      {"outside.graph", "2 1\n% c\n2\n3\n", 4, "the vertex id 3 is larger than the declared number of vertices, 2"},
      {"more vertices.graph", "2 1\n2\n1\n1\n", 4, "declares 2 vertices: here is one more"},
      {"fewer vertices.graph", "3 1\n2\n1\n", 1, "declares 3 vertices, but the file has lines of 2"},
      {"fewer edges.graph", "3 2\n2\n1\n\n", 1, "declares 2 edges, each listed by both its vertices: 4 neighbours"},
      {"more edges.graph", "3 1\n2 3\n1\n1\n", 1, "but the file lists more"},
      {"no weight.graph", "2 1 1\n2 7\n1\n", 3, "the edge from 2 to 1: the weight is empty"},
      {"word.graph", "2 1\n2\none\n", 3, "the vertex id `one` is not a whole number"},
      {"no size.graph", "2 1 100\n1 2\n\n", 3, "vertex 2: its size or weight is empty"},
      {"nul.graph", "2 1\n2\n1\0\n"s, 3, "a NUL byte"},
  };
}

TEST(load_malformed, is_refused_with_file_and_line) {
  test_folder const folder;
  for (auto const& [name, text, line, expected] : table()) {
    for (unsigned const threads : {1U, 3U}) {
      expect_refused(folder.write(name, text), line, expected, {.threads = threads});
    }
    expect_refused(folder.write(name + ".gz", gzip(text)), line, expected);
  }
}

TEST(load_malformed, names_the_first_of_several_faults_far_apart) {
  test_folder const folder;
  std::string text;
  for (int line = 1; line <= 300'000; ++line) {  // some ten blocks
    text += line == 123'456 || line == 123'999 || line == 250'000 ? "fault\n" : "10 20\n";
  }
  auto const path = folder.write("faults.el", text);
  for (unsigned threads = 1; threads <= 8; ++threads) {
    expect_refused(path, 123'456, "1 columns instead of 2", {.threads = threads});
  }
}

TEST(load_malformed, limits_hold) {
  test_folder const folder;
  auto const path = folder.write("limits.el", "0 1\n1 2\n2 9\n");
  EXPECT_EQ(load_graph(path, {.max_edges = 3, .max_vertices = 10, .max_bytes = 12}).edges(), 3);
  expect_refused(path, 0, "limit max_edges = 2", {.max_edges = 2});
  expect_refused(path, 3, "max_vertices = 9 allows ids up to 8", {.max_vertices = 9});
  expect_refused(path, 0, "more text than max_bytes", {.max_bytes = 11});
  auto const matrix = folder.write("limits.mtx", symmetric + "9 9 2\n1 1\n2 1\n");
  EXPECT_EQ(load_graph(matrix, {.max_edges = 4, .max_vertices = 9}).edges(), 3);
  expect_refused(matrix, 2, "limit max_edges = 3", {.max_edges = 3});
  expect_refused(matrix, 2, "limit max_vertices = 8", {.max_vertices = 8});
  // The largest id of all is allowed where the limits are: the offsets alone would be 32 GiB, so only refused is
  // tested.
  expect_refused(folder.write("id.el", "4294967295 0\n"), 1, "allows ids up to 4294967294", {.max_vertices = ~0ULL});
}

TEST(load_malformed, small_files_that_unpack_to_much_are_cut_off) {
  test_folder const folder;
  auto const member = gzip(std::string(8 << 20, '\n'));  // a thousandth of that
  std::string packed;
  for (int copies = 0; copies < 64; ++copies) {
    packed += member;
  }
  expect_refused(folder.write("bomb.el.gz", packed), 0, "more text than max_bytes", {.max_bytes = 16 << 20});
  expect_refused(folder.write("bomb.gr.gz", packed), 0, "more text than max_bytes", {.max_bytes = 16 << 20});
}

TEST(load_malformed, what_is_no_file_is_refused_at_once) {
  test_folder const folder;
  expect_refused(folder.at("missing.el"), 0, "cannot be opened: No such file or directory");
  ASSERT_EQ(::mkdir(folder.at("folder.el").c_str(), 0700), 0);
  expect_refused(folder.at("folder.el"), 0, "is not a regular file");
  ASSERT_EQ(::mkfifo(folder.at("pipe.el").c_str(), 0600), 0);
  expect_refused(folder.at("pipe.el"), 0, "is not a regular file");
  for (std::string const name : {"none", "none.txt", "none.gz", "none.EL", "none.el.bz2", ""}) {
    expect_refused(name, 0, "cannot be opened");
  }
  for (std::string const text : {"one\n", "0 1 2 3\n", "# a\n\n1;2;3;4\n", "{}\n", "a b c d\n"}) {
    expect_refused(folder.write("graph", text), 0, ".el, .wel, .mtx, .gr and .graph are known");
  }
}

TEST(load_malformed, damaged_gzip_is_refused) {
  test_folder const folder;
  auto const packed = gzip("0 1\n1 0\n");
  expect_refused(folder.write("junk.el.gz", packed + "junk"), 0, "garbage after the end of the gzip data");
  expect_refused(folder.write("half header.el.gz", packed + packed.substr(0, 5)), 0, "truncated");
  auto checksum = packed;
  checksum[packed.size() - 6] ^= 1;
  expect_refused(folder.write("checksum.el.gz", checksum), 0, "damaged gzip data: incorrect data check");
  auto length = packed;
  length[packed.size() - 1] ^= 1;
  expect_refused(folder.write("length.el.gz", length), 0, "damaged gzip data: incorrect length check");
}

struct small {
  std::string name;
  std::string text;
};
std::vector<small> const smalls = {
    {"small.el", "# c\n0 1\n12 3\r\n\n1 10\n"},
    {"small.wel", "# c\n0 1 2.5\n12 3 -1e2\r\n1 10 7\n"},
    {"general.mtx", real + "% c\n12 12 3\n1 2 1.5\n12 3 -2\n10 10 1e1\n"},
    {"symmetric.mtx", symmetric + "12 12 3\n2 1\n10 10\n12 10\n"},
    {"small.gr", "c c\np sp 12 3\na 1 2 15\nc\na 12 3 2\na 10 10 0\n"},
    {"small.graph", "% c\n12 2 11\n1 2 15\n1 1 15\n1\n1\n1\n1\n1\n1\n1\n1\n1 12 0\n1 11 3\n"},
};

/// An error of the kind that tells the user what is wrong with the file, or a valid graph that is no larger.
enum class outcome { refused, read };
outcome read_or_refused(std::string const& path, std::uint32_t vertices, std::uint64_t edges) {
  try {
    auto const graph = load_graph(path, {.max_vertices = 4096, .threads = 2});
    EXPECT_NO_THROW(validate(graph));
    EXPECT_LE(graph.vertices(), vertices);
    EXPECT_LE(graph.edges(), edges);
    EXPECT_GT(graph.edges(), 0);
    return outcome::read;
  } catch (input_error const& error) {
    EXPECT_EQ(error.file(), path);
    return outcome::refused;
  }
}

TEST(load_malformed, truncated_at_every_byte_is_smaller_or_refused) {
  test_folder const folder;
  for (auto const& [name, text] : smalls) {
    auto const whole = load_graph(folder.write(name, text));
    for (std::size_t bytes = 0; bytes < text.size(); ++bytes) {
      auto const path = folder.write(name, text.substr(0, bytes));
      auto const got = read_or_refused(path, whole.vertices(), whole.edges());
      // What declares its counts lacks entries until the last line has begun to hold enough.
      auto const last_line = text.rfind('\n', text.size() - 2) + 1;
      if (name.ends_with(".mtx") || name.ends_with(".gr") || name.ends_with(".graph")) {
        EXPECT_TRUE(got == outcome::refused || bytes > last_line) << name << " cut at " << bytes;
      }
      EXPECT_TRUE(got == outcome::read || bytes + 1 < text.size()) << name << " without its last line end";
    }
  }
}

TEST(load_malformed, truncated_gzip_is_refused_at_every_byte) {
  test_folder const folder;
  for (auto const& [name, text] : smalls) {
    auto const packed = gzip(text);
    for (std::size_t bytes = 0; bytes < packed.size(); ++bytes) {
      auto const path = folder.write(name + ".gz", packed.substr(0, bytes));
      EXPECT_EQ(read_or_refused(path, 0, 0), outcome::refused) << name << " cut at " << bytes;
    }
    // Of two members the first alone is a whole file, and nothing in between is.
    auto const half = text.size() / 2;
    auto const first = gzip(text.substr(0, half));
    auto const both = first + gzip(text.substr(half));
    auto const whole = load_graph(folder.write(name, text));
    for (std::size_t bytes = 0; bytes < both.size(); ++bytes) {
      auto const path = folder.write(name + ".gz", both.substr(0, bytes));
      EXPECT_TRUE(read_or_refused(path, whole.vertices(), whole.edges()) == outcome::refused || bytes == first.size())
          << name << " cut at " << bytes;
    }
  }
}

TEST(load_malformed, flipped_bytes_are_read_or_refused) {
  test_folder const folder;
  std::mt19937_64 random{20261121};
  constexpr std::uint32_t any_vertices = 4096;
  constexpr std::uint64_t any_edges = 1000;
  std::uint64_t counts[2] = {};
  for (auto const& [name, text] : smalls) {
    auto const packed = gzip(text);
    for (std::uint64_t round = 0; round < trials(1000); ++round) {
      bool const zipped = round % 4 == 0;
      auto bytes = zipped ? packed : text;
      for (auto flips = 1 + random() % 3; flips > 0; --flips) {
        auto const which = random();
        auto& byte = bytes[which % bytes.size()];
        // any bit, or another byte of the file: digits and line ends in odd places are the likelier trouble
        byte = which >> 63 ? bytes[random() % bytes.size()] : static_cast<char>(byte ^ (1 << (random() % 8)));
      }
      auto const path = folder.write(name + (zipped ? ".gz" : ""), bytes);
      ++counts[static_cast<int>(read_or_refused(path, any_vertices, any_edges))];
      if (HasFailure()) {
        FAIL() << name << " round " << round << ":\n" << bytes;
      }
    }
  }
  EXPECT_GT(counts[0], trials(500));  // or the flips do nothing
  EXPECT_GT(counts[1], trials(500));
}

}  // namespace
}  // namespace lull
