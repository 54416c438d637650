// SPDX-License-Identifier: Apache-2.0
#include <lull/tasks/images/image_notes.hpp>

namespace lull {
namespace {

char const* text_of(image_note note) {
  switch (note) {
    case image_note::no_end_mark:
      return "the JPEG's end mark is missing; all pixels are there";
    case image_note::damaged_profile:
      return "the colour profile is damaged, and is left out";
    case image_note::inverted_inks:
      return "CMYK with Adobe's mark, whose numbers are inverted, was made RGB without its profile";
    case image_note::inks:
      return "CMYK without Adobe's mark, where 255 was taken as full ink, was made RGB without its profile";
    case image_note::first_frame:
      return "the PNG is animated, and its first frame alone is taken";
    case image_note::grey_made_rgb:
      return "grey was made RGB without its profile, for the logo has colours";
    case image_note::damaged_chunk:
      return "a chunk of the PNG beside its pixels has a wrong checksum, and is left out";
  }
  return "";
}

}  // namespace

void image_notes::add(std::vector<image_note> const& notes, std::string const& file) {
  for (image_note const note : notes) {
    noted& of = kinds_[note];
    if (of.files++ == 0 || file < of.first) of.first = file;
  }
}

std::vector<std::string> image_notes::lines() const {
  std::vector<std::string> made;
  for (auto const& [note, of] : kinds_) {
    std::string const more = of.files > 1 ? " and " + std::to_string(of.files - 1) + " more" : "";
    made.push_back("note: " + of.first + more + ": " + text_of(note));
  }
  return made;
}

std::size_t image_notes::count() const {
  std::size_t all = 0;
  for (auto const& [note, of] : kinds_) all += of.files;
  return all;
}

}  // namespace lull
