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
  char const* advice = nullptr;  // how to make text of it
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

constexpr char const* by_excel = "in the program that wrote it, save it as CSV";

/// The name of a zip archive's first member is at byte 30.
constexpr mark tables[] = {
    {"\x93NUMPY"sv, "NumPy", 0, "numpy.savetxt(OUT, numpy.load(FILE), delimiter=',')"},
    {"\x89HDF\r\n\x1a\n"sv, "HDF5", 0, "pandas.read_hdf(FILE).to_csv(OUT, index=False)"},
    {"PAR1\x15"sv, "Parquet", 0, "pandas.read_parquet(FILE).to_csv(OUT, index=False)"},
    {"ARROW1\0\0"sv, "Arrow", 0, "pandas.read_feather(FILE).to_csv(OUT, index=False)"},
    {"SQLite format 3\0"sv, "SQLite", 0, "sqlite3 -csv -header FILE 'SELECT * FROM TABLE'"},
    {"MATLAB 5.0 MAT-file"sv, "MATLAB", 0, "numpy.savetxt(OUT, scipy.io.loadmat(FILE)['NAME'], delimiter=',')"},
    {"\xd0\xcf\x11\xe0"sv, "MS Office", 0, by_excel},
    {"[Content_Types].xml"sv, "MS Office, such as .xlsx", 30, by_excel},
    {"_rels/.rels"sv, "MS Office, such as .xlsx", 30, by_excel},
    {"docProps/"sv, "MS Office, such as .xlsx", 30, by_excel},
    {"xl/"sv, "MS Office, such as .xlsx", 30, by_excel},
    {"mimetypeapplication/vnd.oasis"sv, "LibreOffice, such as .ods", 30, by_excel},
    {"%PDF-"sv, "PDF"}};

constexpr mark archives[] = {{"ustar"sv, "tar", 257}};
constexpr std::string_view pointer = "version https://git-lfs.github.com/spec/";

mark const* find_in(auto const& marks, std::string_view beginning) {
  auto const found = std::find_if(std::begin(marks), std::end(marks), [&](mark const& each) {
    return beginning.size() > each.place && beginning.substr(each.place).starts_with(each.bytes);
  });
  return found == std::end(marks) ? nullptr : found;
}

/// Skips blanks and line ends.
std::string_view after_blanks(std::string_view text) {
  text.remove_prefix(std::min(text.find_first_not_of(" \t\r\n"), text.size()));
  return text;
}

/// `1 3:0.5 7:1`: a label, and pairs of a column and its value.
bool is_libsvm(std::string_view line) {
  std::size_t pairs = 0;
  for (bool first = true; !(line = after_blanks(line)).empty(); first = false) {
    std::string_view const word = line.substr(0, line.find_first_of(" \t\r"));
    line.remove_prefix(word.size());
    if (!first && word.starts_with('#')) break;
    auto const colon = word.find(':');
    if (first != (colon == word.npos) || word.find_first_not_of("+-.,0123456789eE:qid") != word.npos) return false;
    if (first) continue;
    std::string_view const column = word.substr(0, colon);
    if (column != "qid" && column.find_first_not_of("0123456789") != column.npos) return false;
    if (column.empty() || colon + 1 == word.size() || word.find(':', colon + 1) != word.npos) return false;
    ++pairs;
  }
  return pairs != 0;
}

/// Whether the text begins with this, in letters of either case, after blanks and a byte order mark.
bool begins(std::string_view text, std::string_view small) {
  if (text.starts_with("\xef\xbb\xbf")) text.remove_prefix(3);
  text = after_blanks(text);
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
  if (auto const* const found = find_in(tables, beginning))
    return "is a file of "s + found->name + ": save it as text" +
           (found->advice != nullptr ? ", for example: "s + found->advice : "");
  if (auto const* const found = find_in(packings, beginning))
    return "is packed with "s + found->name + ": unpack it, or use gzip";
  if (auto const* const found = find_in(archives, beginning))
    return "is a "s + found->name + " archive: unpack it, and give one of its files";
  if (auto fault = download_fault(beginning); !fault.empty()) return fault;
  if (begins(beginning, "<?xml")) return "is XML: save it as text in lines";
  return {};
}

std::string foreign_table_fault(std::string_view beginning) {
  std::string_view const text = after_blanks(beginning);
  auto const opens = [&](char sign, std::string_view next) {
    if (!text.starts_with(sign)) return false;
    std::string_view const inner = after_blanks(text.substr(1));
    return !inner.empty() && next.find(inner[0]) != next.npos;
  };
  bool const lines = opens('{', "\"}");
  if (lines || opens('[', "{["))
    return std::string{"is JSON: write it as CSV, for example: pandas.read_json(FILE"} + (lines ? ", lines=True" : "") +
           ").to_csv(OUT, index=False)";
  if (begins(text, "@relation"))
    return "is ARFF: write it as CSV: delete all lines up to @data, and write the columns' names in their place";
  std::string_view const first = text.substr(0, text.find('\n'));
  std::string_view const rest = after_blanks(text.substr(first.size()));
  if (is_libsvm(first) && (rest.empty() || is_libsvm(rest.substr(0, rest.find('\n')))))
    return "is LIBSVM's format: write it as CSV, for example: x, y = sklearn.datasets.load_svmlight_file(FILE); "
           "numpy.savetxt(OUT, numpy.c_[x.toarray(), y], delimiter=',')";
  return {};
}

std::string encoding_fault(std::string_view beginning) {
  for (auto const mark : {"\xff\xfe"sv, "\xfe\xff"sv, "\0\0\xfe\xff"sv}) {
    if (beginning.starts_with(mark)) return "is text in UTF-16 or UTF-32: save it as UTF-8";
  }
  return {};
}

}  // namespace lull
