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

TEST(foreign_file, says_how_a_table_becomes_text) {
  std::string const member = "PK\3\4" + std::string(26, ' ');
  for (auto const& [bytes, says] :
       {std::pair{"\x93NUMPY\1"s, "numpy.savetxt(OUT, numpy.load(FILE), delimiter=',')"},
        std::pair{"PAR1\x15\4"s, "pandas.read_parquet(FILE).to_csv(OUT, index=False)"},
        std::pair{"ARROW1\0\0"s, "pandas.read_feather"}, std::pair{"\x89HDF\r\n\x1a\n"s, "pandas.read_hdf"},
        std::pair{member + "[Content_Types].xml",
                  "MS Office, such as .xlsx: save it as text, for example: in the program"},
        std::pair{member + "xl/workbook.xml", "save it as CSV"}, std::pair{member + "_rels/.rels", "MS Office"},
        std::pair{member + "mimetypeapplication/vnd.oasis.opendocument", "LibreOffice"},
        std::pair{member + "x.npy", "is packed with zip"}})
    EXPECT_NE(foreign_file_fault(bytes).find(says), std::string::npos) << says << "\n" << foreign_file_fault(bytes);
}

TEST(foreign_file, names_tables_of_other_formats) {
  for (auto const& [text, says] :
       {std::pair{"1 3:0.5 7:1\n-1 2:1e-3\n", "is LIBSVM's format: "}, std::pair{"+1 1:1\r\n-1 2:2\r\n", "is LIBSVM"},
        std::pair{"3 qid:1 1:0.5 # doc\n2 qid:1 2:3\n", "is LIBSVM"}, std::pair{"1,2 1:5\n3 2:6\n", "is LIBSVM"},
        std::pair{"0.5 1:-2.5\n", "is LIBSVM"}, std::pair{"{\"a\":1}\n{\"a\":2}\n", "is JSON: write it as CSV"},
        std::pair{"[\n  {\"a\": 1}\n]\n", "is JSON"}, std::pair{"[[1,2],\n[3,4]]\n", "is JSON"},
        std::pair{"{ \"columns\": [", "is JSON"}, std::pair{"{}\n", "is JSON"},
        std::pair{"@relation iris\n", "is ARFF: write it as CSV"}, std::pair{"@RELATION 'a b'\r\n", "is ARFF"},
        std::pair{"\n@Relation x\n", "is ARFF"}}) {
    EXPECT_TRUE(foreign_table_fault(text).starts_with(says)) << text << foreign_table_fault(text);
  }
  for (std::string const text :
       {"", "1,2\n", "1:30,2:40\n", "[m],[s]\n1,2\n", "{a},b\n1,2\n", "1 2 3\n", "a 1:2\n", "1:2 3:4\n", "1 2:\n",
        "1 2:3:4\n", "relation,b\n", "[1],[2]\n", "1 3:5\n2 x:6\n", "::\n"})
    EXPECT_EQ(foreign_table_fault(text), "") << text;
  EXPECT_NE(foreign_table_fault("{\"a\":1}\n").find("read_json(FILE, lines=True)"), std::string::npos);
  EXPECT_NE(foreign_table_fault("[{\"a\":1}]\n").find("read_json(FILE)"), std::string::npos);
}

}  // namespace
}  // namespace lull
