// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <stdlib.h>

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <random>
#include <stdexcept>
#include <string>
#include <string_view>

namespace lull::bench {

/// Texts of random edges and ratings, each of 100 MB, made when they are first asked for; gone with the object. Edges
/// lead between 2²⁰ vertices. Not thread-safe.
class random_texts {
 public:
  /// Throws std::runtime_error where there is no temporary folder.
  random_texts() {
    std::string name = (std::filesystem::temp_directory_path() / "lull_bench_XXXXXX").string();
    if (::mkdtemp(name.data()) == nullptr) throw std::runtime_error{"no temporary folder: " + name};
    path_ = name;
  }
  ~random_texts() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  random_texts(random_texts const&) = delete;
  random_texts& operator=(random_texts const&) = delete;

  /// The text's path. Kinds: el, wel and gr are directed graphs, the last two with weights; mtx is a symmetric matrix
  /// without; csv has ratings. Throws std::runtime_error where it cannot be written.
  std::string text(std::string_view kind) const {
    auto const path = path_ / ("random." + std::string{kind});
    if (std::filesystem::exists(path)) return path.string();
    std::string all;
    all.reserve(text_bytes + 64);
    std::mt19937_64 random{1};
    std::uint64_t lines = 0;
    for (; all.size() < text_bytes; ++lines) add_line(kind, random, all);
    std::ofstream file{path, std::ios::binary};
    file << heading(kind, lines) << all;
    if (!file.flush()) throw std::runtime_error{"cannot write " + path.string()};
    return path.string();
  }

 private:
  static constexpr std::uint64_t text_bytes = 100'000'000;
  static constexpr std::uint32_t vertices = 1U << 20;
  static constexpr std::uint32_t items = 1U << 16;  // that are rated

  static void add_line(std::string_view kind, std::mt19937_64& random, std::string& to) {
    auto const add = [&to](std::uint64_t value, char after) { (to += std::to_string(value)) += after; };
    std::uint64_t const source = random() % vertices;
    std::uint64_t const target = random() % vertices;
    if (kind == "el") {
      add(source, ' ');
      add(target, '\n');
    } else if (kind == "mtx") {
      add(std::max(source, target) + 1, ' ');
      add(std::min(source, target) + 1, '\n');
    } else if (kind == "csv") {
      std::uint64_t const halves = random() % 10 + 1;
      add(source, ',');
      add(target % items, ',');
      add(halves / 2, '.');
      add(halves % 2 * 5, '\n');
    } else {
      bool const arcs = kind == "gr";
      if (arcs) to += "a ";
      add(source + (arcs ? 1 : 0), ' ');
      add(target + (arcs ? 1 : 0), ' ');
      add(random() % 256, '\n');
    }
  }

  /// What stands before so many lines.
  static std::string heading(std::string_view kind, std::uint64_t lines) {
    std::string const sizes = std::to_string(vertices) + " " + std::to_string(lines) + "\n";
    if (kind == "gr") return "p sp " + sizes;
    if (kind != "mtx") return {};
    return "%%MatrixMarket matrix coordinate pattern symmetric\n" + std::to_string(vertices) + " " + sizes;
  }

  std::filesystem::path path_;
};

}  // namespace lull::bench
