// SPDX-License-Identifier: Apache-2.0
// What a queue reads: documents of jobs, names and lines in a spool, folders that are watched.
#include <lull/tests/fuzz/readers.hpp>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>

#include <lull/host/error.hpp>
#include <lull/host/queue/entry_name.hpp>
#include <lull/host/queue/event_text.hpp>
#include <lull/host/queue/job_document.hpp>
#include <lull/host/queue/watched_folder.hpp>
#include <lull/tests/support/test_folder.hpp>

namespace lull::fuzz {
namespace {

namespace fs = std::filesystem;

/// A folder that what the input says is done to, and what a watch of it may tell.
class watched {
 public:
  explicit watched(bool by_marker) : marker_(by_marker ? "DONE" : "") {}

  void act(unsigned char what, unsigned char which) {
    std::string name{static_cast<char>(which)};
    if (which == '/' || which == 0 || which == '.') name = "..x";
    switch (what % 6) {
      case 0:
        if (!fs::is_directory(at_ / name)) write(name, name);
        break;
      case 1:
      case 2: {
        if (fs::is_regular_file(at_ / name)) return;
        fs::create_directories(at_ / name / "deeper");
        write(name, what % 6 == 1 ? name + "/deeper/weights" : name + "/DONE");
        break;
      }
      case 3:
        fs::remove_all(at_ / name);
        changed_.erase(name);
        break;
      default:
        now_ += std::chrono::seconds{which % 16};
        look();
    }
  }

 private:
  static constexpr std::chrono::seconds quiet{10};

  /// Each time a longer file: two of one length within a step of the file system's clock look the same.
  void write(std::string const& name, std::string const& file) {
    std::ofstream{at_ / file, std::ios::binary} << std::string(++bytes_, 'x');
    changed_[name] = now_;
  }
  void look() {
    for (std::string const& name : here_.complete(now_)) {
      require(told_.insert(name).second, "each is told once");
      require(fs::exists(at_ / name) && name.front() != '.', "what is told is there");
      require(!marker_.empty() || now_ - changed_.at(name) >= quiet, "what is told was quiet");
      require(marker_.empty() || fs::exists(at_ / name / marker_), "what is told has its marker");
    }
  }

  test::test_folder const folder_{test::memory_folder()};
  fs::path const at_ = folder_.path();
  std::string const marker_;
  queue::watched_folder here_{at_, {.marker = marker_, .quiet = quiet}};
  queue::watched_folder::time_point now_{std::chrono::hours{1}};
  std::map<std::string, queue::watched_folder::time_point> changed_;
  std::set<std::string> told_;
  std::size_t bytes_ = 0;
};

/// Reads what was written, which must not be refused.
template <class Read>
auto read_back(Read read) {
  try {
    return read();
  } catch (error const& refused) {
    require(false, refused.what());
    throw;
  }
}

}  // namespace

void read_job_document(std::string_view input) {
  auto const jobs = queue::parse_jobs(input, "job.json");
  require(!jobs.empty() && jobs.size() <= queue::max_array, "there are jobs, and not too many");
  for (queue::job_document const* const each : {&jobs.front(), &jobs.back()}) {
    std::string const text = queue::to_json(*each);
    auto const again = read_back([&] { return queue::parse_jobs(text, "job.json"); });
    require(again.size() == 1 && queue::to_json(again.front()) == text, "a job is read as it is written");
  }
}

void read_entry_name(std::string_view input) {
  auto const found = queue::entry_of(input);
  require(!found || queue::name_of(*found) == input, "an entry has one name");
}

void read_event(std::string_view input) {
  queue::kept_event const found = queue::parse_event(std::string{input}, "event");
  std::string const text = queue::text_of(found);
  queue::kept_event const again = read_back([&] { return queue::parse_event(text, "event"); });
  require(queue::text_of(again) == text, "an event is read as it is written");
}

/// Of two bytes each the first says what is done, and the second to which name or for how long.
void read_watched_folder(std::string_view input) {
  constexpr std::size_t max_acts = 32;
  if (input.empty()) return;
  watched folder{input.front() % 2 == 0};
  for (std::size_t i = 1; i + 1 < input.size() && i < 2 * max_acts; i += 2)
    folder.act(static_cast<unsigned char>(input[i]), static_cast<unsigned char>(input[i + 1]));
}

}  // namespace lull::fuzz
