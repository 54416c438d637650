// SPDX-License-Identifier: Apache-2.0
#include <lull/host/io/foreign_file.hpp>

#include <algorithm>

namespace lull {
namespace {

using namespace std::string_view_literals;

struct mark {
  std::string_view bytes;
  char const* name;
  std::size_t place = 0;
};

constexpr mark packings[] = {{"BZh"sv, "bzip2"},
                             {"\xfd"
                              "7zXZ\0"sv,
                              "xz"},
                             {"\x28\xb5\x2f\xfd"sv, "zstd"},
                             {"PK\3\4"sv, "zip, as .xlsx and .npz files are"},
                             {"7z\xbc\xaf\x27\x1c"sv, "7-Zip"},
                             {"\x04\x22\x4d\x18"sv, "lz4"},
                             {"\x1f\x9d"sv, "compress"},
                             {"Rar!\x1a\x07"sv, "rar"}};

constexpr mark tables[] = {{"\x93NUMPY"sv, "NumPy"},
                           {"\x89HDF\r\n\x1a\n"sv, "HDF5"},
                           {"PAR1\x15"sv, "Parquet"},
                           {"ARROW1\0\0"sv, "Arrow"},
                           {"SQLite format 3\0"sv, "SQLite"},
                           {"MATLAB 5.0 MAT-file"sv, "MATLAB"},
                           {"\xd0\xcf\x11\xe0"sv, "MS Office"},
                           {"%PDF-"sv, "PDF"}};

constexpr mark archives[] = {{"ustar"sv, "tar", 257}};
constexpr std::string_view pointer = "version https://git-lfs.github.com/spec/";

char const* name_in(auto const& marks, std::string_view beginning) {
  auto const found = std::find_if(std::begin(marks), std::end(marks), [&](mark const& each) {
    return beginning.size() > each.place && beginning.substr(each.place).starts_with(each.bytes);
  });
  return found == std::end(marks) ? nullptr : found->name;
}

/// Whether the text begins with this, in letters of either case, after blanks and a byte order mark.
bool begins(std::string_view text, std::string_view small) {
  if (text.starts_with("\xef\xbb\xbf")) text.remove_prefix(3);
  text.remove_prefix(std::min(text.find_first_not_of(" \t\r\n"), text.size()));
  return text.size() >= small.size() && std::equal(small.begin(), small.end(), text.begin(), [](char one, char other) {
           return one == (other >= 'A' && other <= 'Z' ? static_cast<char>(other - 'A' + 'a') : other);
         });
}

}  // namespace

std::string download_fault(std::string_view beginning) {
  if (beginning.starts_with(pointer)) return "is a pointer of Git LFS, not the file itself: git lfs pull fetches that";
  if (begins(beginning, "<!doctype html") || begins(beginning, "<html"))
    return "is a web page, as a failed download leaves: fetch the file again";
  return {};
}

std::string foreign_file_fault(std::string_view beginning) {
  using namespace std::string_literals;
  if (auto const* const name = name_in(packings, beginning))
    return "is packed with "s + name + ": unpack it, or use gzip";
  if (auto const* const name = name_in(tables, beginning)) return "is a file of "s + name + ": save it as text";
  if (auto const* const name = name_in(archives, beginning))
    return "is a "s + name + " archive: unpack it, and give one of its files";
  if (auto fault = download_fault(beginning); !fault.empty()) return fault;
  if (begins(beginning, "<?xml")) return "is XML: save it as text in lines";
  return {};
}

std::string encoding_fault(std::string_view beginning) {
  for (auto const mark : {"\xff\xfe"sv, "\xfe\xff"sv, "\0\0\xfe\xff"sv}) {
    if (beginning.starts_with(mark)) return "is text in UTF-16 or UTF-32: save it as UTF-8";
  }
  return {};
}

}  // namespace lull
