// SPDX-License-Identifier: Apache-2.0
#include <lull/host/io/foreign_file.hpp>

#include <string>
#include <utility>

#include <gtest/gtest.h>

namespace lull {
namespace {

using namespace std::string_literals;

std::string const zeros(300, '\0');

TEST(foreign_file, is_named_with_what_to_do) {
  std::string const tar = "folder/file" + std::string(246, '\0') + "ustar";
  std::pair<std::string, std::string> const all[] = {
      {"BZh91AY&SY", "is packed with bzip2: unpack it, or use gzip"},
      {"\xfd"
       "7zXZ\0"s,
       "is packed with xz: "},
      {"\x28\xb5\x2f\xfd", "is packed with zstd: "},
      {"PK\3\4", "is packed with zip, as .xlsx and .npz files are: unpack it"},
      {"7z\xbc\xaf\x27\x1c", "is packed with 7-Zip: "},
      {"\x04\x22\x4d\x18", "is packed with lz4: "},
      {"\x1f\x9d\x90", "is packed with compress: "},
      {"Rar!\x1a\x07\1", "is packed with rar: "},
      {tar, "is a tar archive: unpack it, and give one of its files"},
      {"\x93NUMPY\1", "is a file of NumPy: save it as text"},
      {"\x89HDF\r\n\x1a\n", "is a file of HDF5: "},
      {"PAR1\x15\4", "is a file of Parquet: "},
      {"ARROW1\0\0"s, "is a file of Arrow: "},
      {"SQLite format 3\0"s, "is a file of SQLite: "},
      {"MATLAB 5.0 MAT-file, Platform", "is a file of MATLAB: "},
      {"\xd0\xcf\x11\xe0", "is a file of MS Office: "},
      {"%PDF-1.4\n", "is a file of PDF: "},
      {"version https://git-lfs.github.com/spec/v1\noid sha256:",
       "is a pointer of Git LFS, not the file itself: git lfs"},
      {"<!DOCTYPE html>\n", "is a web page, as a failed download leaves: fetch the file again"},
      {"\n\t<HTML lang=en>", "is a web page"},
      {"\xef\xbb\xbf<?xml version=\"1.0\"?>", "is XML: save it as text in lines"}};
  for (auto const& [bytes, says] : all) {
    EXPECT_TRUE(foreign_file_fault(bytes).starts_with(says)) << says << "\n" << foreign_file_fault(bytes);
    EXPECT_TRUE(foreign_file_fault(bytes + zeros).starts_with(says)) << says;
  }
}

TEST(foreign_file, is_nothing_that_people_have_as_text) {
  for (std::string const text : {"", "0 1\n", "%%MatrixMarket matrix", "% PDF", "PAR1\t3\n", "BZ 1\n", "version 1\n",
                                 "html\n", "<", "ARROW1,2\n", "7z\n", "ustar\n", "PK\n", "MATLAB\n"})
    EXPECT_EQ(foreign_file_fault(text), "") << text;
  EXPECT_EQ(foreign_file_fault(std::string(256, ' ') + "ustar"), "");
  EXPECT_EQ(foreign_file_fault(std::string(257, ' ') + "usta"), "");
}

TEST(foreign_file, tells_what_a_failed_download_left) {
  for (std::string const text : {"version https://git-lfs.github.com/spec/v1\n", "<html>", " <!DOCTYPE HTML PUBLIC"})
    EXPECT_EQ(download_fault(text), foreign_file_fault(text)) << text;
  for (std::string const text : {"PK\3\4", "<?xml", "", "\x89PNG", "{}"}) EXPECT_EQ(download_fault(text), "") << text;
}

TEST(foreign_file, names_other_encodings) {
  for (std::string const& text : {"\xff\xfe"
                                  "0\0"s,
                                  "\xfe\xff\0"
                                  "0"s,
                                  "\0\0\xfe\xff"s, "\xff\xfe\0\0"s})
    EXPECT_EQ(encoding_fault(text), "is text in UTF-16 or UTF-32: save it as UTF-8");
  for (std::string const& text : {""s, "\xff"s,
                                  "\xef\xbb\xbf"
                                  "0"s,
                                  "\0\0\xfe"s, "caf\xe9"s})
    EXPECT_EQ(encoding_fault(text), "");
}

}  // namespace
}  // namespace lull
