// SPDX-License-Identifier: Apache-2.0
// Each reader on its seeds, and on changes of them that are the same in every run. Without libFuzzer.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <ostream>
#include <random>
#include <vector>

#include <lull/host/io/atomic_file.hpp>
#include <lull/tests/fuzz/readers.hpp>
#include <lull/tests/support/effort.hpp>

namespace lull::fuzz {

/// CTest's list of tests shows it; otherwise it would show bytes, other ones in each run.
static void PrintTo(reader const& of, std::ostream* out) { *out << of.name; }

namespace {

std::vector<std::string> seeds_of(reader const& of) {
  std::vector<std::filesystem::path> files;
  for (auto const& each : std::filesystem::directory_iterator{std::filesystem::path{LULL_SEEDS} / of.name})
    files.push_back(each.path());
  std::sort(files.begin(), files.end());
  std::vector<std::string> seeds;
  for (auto const& each : files) seeds.push_back(read_file(each, 1 << 20));
  return seeds;
}

class changes {
 public:
  explicit changes(std::vector<std::string> const& seeds) : seeds_(seeds) {}

  /// Returns one of the seeds with one to four changes: bytes set, removed, doubled, or taken from another seed.
  std::string next() {
    std::string made = seeds_[below(seeds_.size())];
    for (std::size_t left = 1 + below(4); left != 0; --left) change(made);
    return made;
  }

 private:
  std::size_t below(std::size_t end) { return end == 0 ? 0 : random_() % end; }

  std::string piece_of(std::string const& text) {
    std::size_t const at = below(text.size());
    return text.substr(at, 1 + below(std::min<std::size_t>(text.size(), 40)));
  }

  void change(std::string& made) {
    constexpr std::string_view telling{"\0\n\r\t ,;:.\"'#%-+eE0919[]{}\xff\xef\xbb\xbf", 28};
    std::size_t const at = below(made.size());
    switch (below(5)) {
      case 0:
        if (!made.empty()) made[at] = static_cast<char>(random_());
        break;
      case 1:
        if (!made.empty()) made[at] = telling[below(telling.size())];
        break;
      case 2:
        made.erase(at, 1 + below(8));
        break;
      case 3:
        made.insert(at, piece_of(made));
        break;
      default:
        made.insert(at, piece_of(seeds_[below(seeds_.size())]));
    }
  }

  std::vector<std::string> const& seeds_;
  std::mt19937 random_{49};  // std::mt19937 gives the same numbers everywhere; a distribution would not
};

class fuzz_replay : public testing::TestWithParam<reader> {};

TEST_P(fuzz_replay, reads_or_refuses) {
  auto const seeds = seeds_of(GetParam());
  ASSERT_FALSE(seeds.empty());
  for (auto const& each : seeds) read(GetParam(), each);
  changes changed{seeds};
  for (int left = trials(4000); left != 0; --left) read(GetParam(), changed.next());
}

INSTANTIATE_TEST_SUITE_P(, fuzz_replay, testing::ValuesIn(readers().begin(), readers().end()),
                         [](auto const& of) { return std::string{of.param.name}; });

}  // namespace
}  // namespace lull::fuzz
