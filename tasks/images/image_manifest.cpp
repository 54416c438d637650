// SPDX-License-Identifier: Apache-2.0
#include <lull/tasks/images/image_manifest.hpp>

#include <charconv>
#include <cstdio>
#include <fstream>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include <sys/stat.h>

#include <lull/host/error.hpp>
#include <lull/host/io/atomic_file.hpp>
#include <lull/host/io/crc32.hpp>
#include <lull/host/io/text_source.hpp>

namespace lull {

namespace {

constexpr std::string_view beginning = "lull images manifest\n";
constexpr std::string_view sum_key = "sum ";
constexpr std::size_t max_bytes = std::size_t{1} << 30;
constexpr std::size_t piece = std::size_t{1} << 18;
constexpr char const* start_again = "; remove it, or name another folder in --checkpoint, to start again";

std::uint32_t sum_of(std::string_view bytes) { return crc32_of(0, std::as_bytes(std::span{bytes})); }

/// Replaces bytes that would break a line or a word by %XX, because names may have any bytes.
std::string escaped(std::string_view text) {
  std::string made;
  for (char const each : text) {
    auto const byte = static_cast<unsigned char>(each);
    char code[4];
    if (byte > ' ' && byte != '%' && byte != 0x7f) {
      made += each;
    } else {
      std::snprintf(code, sizeof code, "%%%02X", unsigned{byte});
      made += code;
    }
  }
  return made;
}

/// Parses a manifest's text; every fault is an input_error.
class manifest_reader {
 public:
  manifest_reader(std::string file, std::string_view text) : file_(std::move(file)), left_(text) {}

  [[noreturn]] void refuse(std::string const& reason) const { throw input_error(file_, line_, reason + start_again); }
  [[noreturn]] void refuse_damaged() const { refuse("is damaged or was cut off"); }

  std::string_view line() {
    ++line_;
    std::size_t const end = left_.find('\n');
    if (end == std::string_view::npos) refuse_damaged();
    std::string_view const found = left_.substr(0, end);
    left_.remove_prefix(end + 1);
    return found;
  }
  bool at_end() const { return left_.empty(); }

  template <class T>
  T number(std::string_view& words, int base = 10) const {
    std::string_view const word = next(words);
    T value{};
    auto const [end, code] = std::from_chars(word.data(), word.data() + word.size(), value, base);
    if (word.empty() || code != std::errc{} || end != word.data() + word.size()) refuse_damaged();
    return value;
  }
  std::string name(std::string_view& words) const {
    std::string_view const word = next(words);
    std::string made;
    for (std::size_t at = 0; at < word.size(); ++at) {
      if (word[at] != '%') {
        made += word[at];
        continue;
      }
      unsigned byte = 0;
      std::string_view const code = word.substr(at + 1, 2);
      auto const [end, why] = std::from_chars(code.data(), code.data() + code.size(), byte, 16);
      if (code.size() != 2 || why != std::errc{} || end != code.data() + 2) refuse_damaged();
      made += static_cast<char>(byte);
      at += 2;
    }
    return made;
  }
  static std::string_view next(std::string_view& words) {
    std::size_t const end = words.find(' ');
    std::string_view const found = words.substr(0, end);
    words.remove_prefix(end == std::string_view::npos ? words.size() : end + 1);
    return found;
  }

 private:
  std::string file_;
  std::string_view left_;
  std::size_t line_ = 0;
};

}  // namespace

void image_manifest::add(std::string const& name, input const& in) {
  std::lock_guard const lock{mutex_};
  entries_[name] = {in, {}};
}

void image_manifest::finish(std::string const& name, result const& out) {
  std::lock_guard const lock{mutex_};
  entries_.at(name).out = out;
}

void image_manifest::save(std::filesystem::path const& file) const {
  std::string text{beginning};
  text += "version " + std::to_string(version) + "\nsettings " + escaped(settings_) + "\n";
  char line[128];
  {
    std::lock_guard const lock{mutex_};
    for (auto const& [name, each] : entries_) {
      std::snprintf(line, sizeof line, "%d %llu %lld %llu %08x ", each.out ? 1 : 0,
                    static_cast<unsigned long long>(each.in.bytes), static_cast<long long>(each.in.changed_ns),
                    static_cast<unsigned long long>(each.out ? each.out->bytes : 0), each.out ? each.out->sum : 0U);
      text += line + escaped(name) + "\n";
    }
  }
  std::snprintf(line, sizeof line, "%08x\n", sum_of(text));
  text += std::string{sum_key} + line;
  remove_leftovers(file);
  write_file(file, text);
}

std::map<std::string, image_manifest::entry> image_manifest::read(std::filesystem::path const& file,
                                                                  std::string const& settings) {
  if (!std::filesystem::is_regular_file(file))
    throw input_error{file.string(), 0, std::string{"is no regular file"} + start_again};
  std::string const bytes = read_file(file, max_bytes);
  std::string_view const text = without_byte_order_mark(bytes);
  manifest_reader from{file.string(), text};
  if (!text.starts_with(beginning)) from.refuse("is no manifest of the task images");
  from.line();
  std::string_view words = from.line();
  if (from.next(words) != "version") from.refuse_damaged();
  auto const found_version = from.number<std::uint64_t>(words);
  if (found_version != version) {
    from.refuse("is a manifest of version " + std::to_string(found_version) + ", " +
                (found_version < version ? "older" : "newer") + " than version " + std::to_string(version) +
                ", which this Lull reads: resume with the Lull that wrote it");
  }
  // check this before using anything of the text
  std::size_t const body = text.rfind('\n', text.size() - 2) + 1;
  char expected[16];
  std::snprintf(expected, sizeof expected, "%08x\n", sum_of(text.substr(0, body)));
  if (text.substr(body) != std::string{sum_key} + expected) from.refuse_damaged();
  words = from.line();
  if (from.next(words) != "settings") from.refuse_damaged();
  std::string const found_settings = from.name(words);
  if (found_settings != settings) {
    from.refuse("is a manifest of \"" + found_settings + "\", but \"" + settings +
                "\" was asked for: resume with those");
  }
  std::map<std::string, entry> entries;
  for (;;) {
    words = from.line();
    if (words.starts_with(sum_key) && from.at_end()) return entries;
    bool const finished = from.number<int>(words) == 1;
    entry made;
    made.in.bytes = from.number<std::uint64_t>(words);
    made.in.changed_ns = from.number<std::int64_t>(words);
    result out;
    out.bytes = from.number<std::uint64_t>(words);
    out.sum = from.number<std::uint32_t>(words, 16);
    if (finished) made.out = out;
    entries[from.name(words)] = made;
  }
}

std::optional<image_manifest::input> input_of(std::filesystem::path const& file) {
  struct stat status {};
  if (::stat(file.c_str(), &status) != 0 || !S_ISREG(status.st_mode)) return std::nullopt;
  return image_manifest::input{static_cast<std::uint64_t>(status.st_size),
                               std::int64_t{status.st_mtim.tv_sec} * 1'000'000'000 + status.st_mtim.tv_nsec};
}

std::optional<image_manifest::result> result_of(std::filesystem::path const& file) {
  if (!input_of(file)) return std::nullopt;
  std::ifstream in{file, std::ios::binary};
  std::vector<char> buffer(piece);
  image_manifest::result found;
  while (in.read(buffer.data(), static_cast<std::streamsize>(buffer.size())), in.gcount() > 0) {
    auto const got = static_cast<std::size_t>(in.gcount());
    found.sum = crc32_of(found.sum, std::as_bytes(std::span{buffer}.first(got)));
    found.bytes += got;
  }
  if (in.bad() || !in.eof()) return std::nullopt;
  return found;
}

}  // namespace lull
