// SPDX-License-Identifier: Apache-2.0
#include <lull/bench/graph/random_texts.hpp>

#include <stdlib.h>

#include <algorithm>
#include <charconv>
#include <fstream>
#include <random>
#include <stdexcept>

namespace lull::bench {
namespace {

constexpr std::uint32_t items = 1U << 16;  // that are rated

/// Numbers and what stands between them, as fast as a file takes them.
class line_writer {
 public:
  void add(std::uint64_t value, char behind) {
    char number[20];
    lines_.append(number, std::to_chars(number, number + sizeof number, value).ptr);
    lines_ += behind;
  }
  void add(std::string_view text) { lines_ += text; }
  std::string& lines() { return lines_; }

 private:
  std::string lines_;
};

void add_line(std::string_view kind, std::mt19937_64& random, line_writer& to) {
  std::uint64_t const source = random() % random_texts::vertices;
  std::uint64_t const target = random() % random_texts::vertices;
  if (kind == "el") {
    to.add(source, ' ');
    to.add(target, '\n');
  } else if (kind == "mtx") {
    to.add(std::max(source, target) + 1, ' ');
    to.add(std::min(source, target) + 1, '\n');
  } else if (kind == "csv") {
    std::uint64_t const halves = random() % 10 + 1;
    to.add(source, ',');
    to.add(target % items, ',');
    to.add(halves / 2, '.');
    to.add(halves % 2 * 5, '\n');
  } else {
    bool const arcs = kind == "gr";
    if (arcs) to.add("a ");
    to.add(source + (arcs ? 1 : 0), ' ');
    to.add(target + (arcs ? 1 : 0), ' ');
    to.add(random() % 256, '\n');
  }
}

/// What stands before so many lines.
std::string heading(std::string_view kind, std::uint64_t lines) {
  std::string const vertices = std::to_string(random_texts::vertices);
  std::string const count = std::to_string(lines);
  if (kind == "gr") return "p sp " + vertices + " " + count + "\n";
  if (kind == "mtx") {
    return "%%MatrixMarket matrix coordinate pattern symmetric\n" + vertices + " " + vertices + " " + count + "\n";
  }
  return {};
}

}  // namespace

random_texts::random_texts() {
  std::string name = (std::filesystem::temp_directory_path() / "lull_bench_XXXXXX").string();
  if (::mkdtemp(name.data()) == nullptr) throw std::runtime_error{"no temporary folder: " + name};
  path_ = name;
}

random_texts::~random_texts() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

std::string random_texts::text(std::string_view kind) const {
  constexpr std::string_view kinds[] = {"el", "wel", "gr", "mtx", "csv"};
  if (std::ranges::find(kinds, kind) == std::end(kinds)) {
    throw std::invalid_argument{"no such kind of text: " + std::string{kind}};
  }
  auto const path = path_ / ("random." + std::string{kind});
  if (std::filesystem::exists(path)) return path.string();
  line_writer to;
  to.lines().reserve(text_bytes + 64);
  std::mt19937_64 random{1};
  std::uint64_t lines = 0;
  for (; to.lines().size() < text_bytes; ++lines) add_line(kind, random, to);
  std::ofstream file{path, std::ios::binary};
  file << heading(kind, lines) << to.lines();
  if (!file.flush()) throw std::runtime_error{"cannot write " + path.string()};
  return path.string();
}

}  // namespace lull::bench
