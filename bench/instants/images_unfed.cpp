// SPDX-License-Identifier: Apache-2.0
#include <lull/bench/instants/images_unfed.hpp>

#include <algorithm>
#include <array>
#include <memory>
#include <utility>
#include <vector>

#include <lull/bench/images/photographs.hpp>
#include <lull/bench/images/resize_unfed.hpp>
#include <lull/bench/images/unfed_images.hpp>

namespace lull::bench {
namespace {

// By default some milliseconds' work, and yet few bytes to compare: much is read for each pixel that is written.
constexpr std::array images_unfed_options{
    option{"count", option_kind::integer, "96", "[1, 4096]", "pictures, half of them by either filter, with a logo"},
    option{"from", option_kind::integer, "3840", "[16, 32768]", "width of the photographs, 16:9"},
    option{"to", option_kind::integer, "640", "[16, 32768]", "width of the results"},
};

constexpr std::uint64_t photographs = 8;  // that differ; making one takes longer than resizing it
constexpr std::size_t judged = 8;

std::unique_ptr<task_owner> made_of(option_values const& values) {
  auto const count = static_cast<std::uint64_t>(values.integer("count"));
  auto const from = static_cast<std::uint32_t>(values.integer("from"));
  auto const to = static_cast<std::uint32_t>(values.integer("to"));
  std::vector<std::shared_ptr<image const>> made;
  for (std::uint64_t i = 0; i < std::min(photographs, count); ++i) {
    made.push_back(std::make_shared<image const>(photograph(from, from * 9 / 16, 3, i + 1)));
  }
  unfed_wishes wishes;
  for (std::uint64_t i = 0; i < count; ++i) {
    image_filter const filter = i < (count + 1) / 2 ? image_filter::lanczos3 : image_filter::area;
    wishes.pictures.push_back({made[i % made.size()], to, to * 9 / 16, filter});
  }
  wishes.logo = photograph(256, 128, 3, 99);
  wishes.judged = judged;
  return std::make_unique<unfed_images>(std::move(wishes), type_of<resize_unfed>());
}

}  // namespace

task_entry images_unfed_entry() {
  return {"images_unfed",
          "resize pictures that are there from the start",
          "images_unfed",
          images_unfed_options,
          [](option_values const&) { return type_of<resize_unfed>(); },
          &made_of};
}

}  // namespace lull::bench
