// SPDX-License-Identifier: Apache-2.0
#include <lull/host/io/text_source.hpp>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <system_error>
#include <utility>

#include <lull/host/io/foreign_file.hpp>

namespace lull {
namespace {

using namespace std::string_view_literals;

std::string reason(int code) { return std::generic_category().message(code); }

constexpr std::string_view gzip_mark = "\x1f\x8b"sv;

}  // namespace

class text_source::file {
 public:
  explicit file(std::string const& path)
      // Not blocking: opening a pipe would wait for a writer. A regular file does not differ.
      : descriptor_(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)) {
    if (descriptor_ < 0) {
      throw text_error("cannot be opened: " + reason(errno));
    }
    struct stat status {};
    if (::fstat(descriptor_, &status) != 0 || !S_ISREG(status.st_mode)) {
      ::close(descriptor_);
      throw text_error("is not a regular file");
    }
  }
  ~file() { ::close(descriptor_); }
  file(file const&) = delete;
  file& operator=(file const&) = delete;

  std::uint64_t size() const {
    struct stat status {};
    return ::fstat(descriptor_, &status) == 0 ? static_cast<std::uint64_t>(status.st_size) : 0;
  }

  /// Does not move the position of `read`.
  std::string sample(std::uint64_t at, std::size_t bytes) const {
    std::string text(bytes, '\0');
    auto const got = ::pread(descriptor_, text.data(), bytes, static_cast<off_t>(at));
    text.resize(static_cast<std::size_t>(std::max<ssize_t>(got, 0)));
    return text;
  }

  /// Returns fewer bytes than asked for only at the end.
  std::size_t read(char* to, std::size_t bytes) {
    std::size_t got = 0;
    while (got < bytes) {
      auto const more = ::read(descriptor_, to + got, bytes - got);
      if (more < 0 && errno == EINTR) {
        continue;
      }
      if (more < 0) {
        throw text_error("cannot be read: " + reason(errno));
      }
      if (more == 0) {
        break;
      }
      got += static_cast<std::size_t>(more);
    }
    return got;
  }

 private:
  int descriptor_;
};

/// Reads gzip members (RFC 1952), one after another. After the last there may be zeros, as tapes and disk images pad;
/// anything else there is an error, as is a member cut short.
class text_source::inflater {
 public:
  inflater() {
    constexpr int gzip_only = 15 + 16;
    if (inflateInit2(&stream_, gzip_only) != Z_OK) {
      throw text_error("zlib cannot be started");
    }
  }
  ~inflater() { inflateEnd(&stream_); }
  inflater(inflater const&) = delete;
  inflater& operator=(inflater const&) = delete;

  /// Returns fewer bytes than asked for only at the end.
  std::size_t read(file& from, char* to, std::size_t bytes) {
    stream_.next_out = reinterpret_cast<Bytef*>(to);
    stream_.avail_out = static_cast<uInt>(bytes);
    while (stream_.avail_out > 0) {
      if (stream_.avail_in == 0) {
        stream_.next_in = reinterpret_cast<Bytef*>(packed_.data());
        stream_.avail_in = static_cast<uInt>(from.read(packed_.data(), packed_.size()));
        if (stream_.avail_in == 0) {
          if (inside_member_) {
            throw text_error("truncated: the gzip data ends before its end mark");
          }
          break;
        }
      }
      if (!inside_member_) {
        if (members_ != 0 && skip_padding()) continue;
        inflateReset(&stream_);
        inside_member_ = true;
      }
      auto const result = inflate(&stream_, Z_NO_FLUSH);
      if (result == Z_STREAM_END) {
        inside_member_ = false;
        ++members_;
      } else if (result != Z_OK) {
        if (members_ != 0 && stream_.total_in <= gzip_mark.size()) refuse_garbage();
        throw text_error(std::string{"damaged gzip data: "} + (stream_.msg != nullptr ? stream_.msg : "unusable"));
      }
    }
    return bytes - stream_.avail_out;
  }

 private:
  /// After a member: skips the zeros that are there, or returns false where the next member begins.
  bool skip_padding() {
    auto const* const begin = stream_.next_in;
    auto const* const end = begin + stream_.avail_in;
    auto const* const other = std::find_if(begin, end, [](Bytef byte) { return byte != 0; });
    padded_ = padded_ || other != begin;
    if (other != end && (padded_ || *other != static_cast<Bytef>(gzip_mark.front()))) refuse_garbage();
    if (other != end) return false;
    stream_.avail_in = 0;
    return true;
  }

  [[noreturn]] static void refuse_garbage() {
    throw text_error("garbage after the end of the gzip data: neither gzip nor padding with zeros");
  }

  z_stream stream_{};
  std::array<char, 64UL * 1024> packed_;
  std::uint64_t members_ = 0;  // read to their end
  bool inside_member_ = false;
  bool padded_ = false;  // zeros follow the last member
};

text_source::text_source(std::string const& path, std::uint64_t max_bytes)
    : file_(std::make_unique<file>(path)), bytes_left_(max_bytes) {
  if (file_->sample(0, gzip_mark.size()) == gzip_mark) inflater_ = std::make_unique<inflater>();
}

text_source::~text_source() = default;

/// Returns fewer bytes than asked for only at the end. The first call asks for more than a mark.
std::size_t text_source::read(char* to, std::size_t bytes) {
  auto const got = read_any(to, bytes);
  if (std::exchange(begun_, true)) return got;
  std::string_view const text{to, got};
  for (auto const& fault : {encoding_fault(text), foreign_file_fault(text.substr(0, foreign_beginning))}) {
    if (!fault.empty()) throw text_error(fault);
  }
  if (inflater_ && text.starts_with(gzip_mark)) throw text_error("is packed with gzip twice: unpack it once");
  auto const rest = without_byte_order_mark(text);
  if (rest.size() == got) return got;
  std::memmove(to, rest.data(), rest.size());
  return rest.size() + read_any(to + rest.size(), byte_order_mark.size());
}

std::size_t text_source::read_any(char* to, std::size_t bytes) {
  auto const got = inflater_ ? inflater_->read(*file_, to, bytes) : file_->read(to, bytes);
  if (got > bytes_left_) {
    throw text_error("has more text than max_bytes: raise it or split the file");
  }
  bytes_left_ -= got;
  if (returns_end_lines_) std::replace(to, to + got, '\r', '\n');
  return got;
}

std::size_t text_source::block_bytes(std::size_t most) const {
  constexpr std::uint64_t least = 4096;  // for a file that grows while it is read
  std::uint64_t const size = file_->size();
  if (inflater_ || size == 0) return most;  // files of /proc have no size, but text
  return static_cast<std::size_t>(std::min<std::uint64_t>(most, std::max(size + 2, least)));
}

bool text_source::next(text_block& block) {
  if (block.bytes.empty()) block.bytes.resize(block_bytes(text_block_bytes));
  block.bytes.resize(std::max(block.bytes.size(), carry_.size() + 1));  // a file may have grown since `peek`
  std::copy(carry_.begin(), carry_.end(), block.bytes.data());
  block.size = carry_.size();
  carry_.clear();
  char const* last = nullptr;  // line end in the block
  for (bool full = false; !full && !ended_;) {
    auto const wanted = block.bytes.size() - 1 - block.size;  // one byte is for a missing line end
    auto const got = read(block.bytes.data() + block.size, wanted);
    block.size += got;
    ended_ = got < wanted;
    last = static_cast<char const*>(::memrchr(block.bytes.data(), '\n', block.size));
    full = last != nullptr || block.bytes.size() >= block.max_bytes;
    if (!full && !ended_) block.bytes.resize(std::min(2 * block.bytes.size(), block.max_bytes));
  }
  if (block.size == 0) return false;
  auto* const bytes = block.bytes.data();
  if (last == nullptr || ended_) {
    if (bytes[block.size - 1] != '\n') bytes[block.size++] = '\n';
    ended_ = true;  // no line ends in this whole block either: the rest is not read
    return true;
  }
  auto const whole = static_cast<std::size_t>(last + 1 - bytes);
  carry_.assign(bytes + whole, block.size - whole);
  block.size = whole;
  return true;
}

std::uint64_t text_source::expect(std::string_view marks) {
  std::uint64_t const size = file_->size();
  std::size_t const sample_bytes = block_bytes(64UL * 1024);
  auto const in_all = [&](std::string_view sample) {
    auto const found =
        std::count_if(sample.begin(), sample.end(), [&](char byte) { return marks.find(byte) != marks.npos; });
    return sample.empty() ? 0
                          : static_cast<double>(size) * static_cast<double>(found) / static_cast<double>(sample.size());
  };
  double fewest = 0;
  if (inflater_) {
    if (carry_.empty()) {
      carry_.resize(sample_bytes);
      carry_.resize(read(carry_.data(), sample_bytes));
    }
    fewest = in_all(carry_);
  } else {
    std::uint64_t const last = size - std::min<std::uint64_t>(size, sample_bytes);
    fewest = in_all(file_->sample(0, sample_bytes));
    for (std::uint64_t const at : {last / 2, last}) fewest = std::min(fewest, in_all(file_->sample(at, sample_bytes)));
  }
  return static_cast<std::uint64_t>(fewest);
}

std::string_view text_source::peek(std::size_t bytes) {
  if (auto const had = carry_.size(); had < bytes && !ended_) {
    carry_.resize(std::max(had, block_bytes(bytes)));
    carry_.resize(had + read(carry_.data() + had, carry_.size() - had));
  }
  return carry_;
}

void text_source::drop(std::size_t bytes) { carry_.erase(0, bytes); }

void text_source::end_lines_at_returns() {
  returns_end_lines_ = true;
  std::replace(carry_.begin(), carry_.end(), '\r', '\n');
}

void text_source::take_line_ends() {
  std::string_view const start = peek(text_block_bytes / 2);
  auto const end = start.find_first_of("\r\n");
  if (end != start.npos && start[end] == '\r' && end + 1 < start.size() && start[end + 1] != '\n')
    end_lines_at_returns();
}

void text_source::unread(std::string_view rest) { carry_.insert(0, rest); }

std::string byte_order_mark_fault(std::string_view line) {
  if (line.find(byte_order_mark) == std::string_view::npos) return {};
  return "a byte order mark inside the text, as joined files have: remove it";
}

std::string quote(std::string_view text) {
  constexpr std::size_t most = 40;
  std::string quoted = "`";
  for (std::size_t at = 0; at < std::min(text.size(), most); ++at) {
    bool const is_mark = text.substr(at).starts_with(byte_order_mark);
    quoted += is_mark ? "<byte order mark>" : std::string(1, text[at] >= ' ' && text[at] <= '~' ? text[at] : '?');
    if (is_mark) at += byte_order_mark.size() - 1;
  }
  return quoted + (text.size() > most ? "…`" : "`");
}

}  // namespace lull
