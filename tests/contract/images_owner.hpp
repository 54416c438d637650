// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include <lull/host/counter_random.hpp>
#include <lull/host/owner.hpp>
#include <lull/tasks/images/logo.hpp>
#include <lull/tasks/images/picture_buffers.hpp>
#include <lull/tasks/images/psnr.hpp>
#include <lull/tasks/images/reference_blend.hpp>
#include <lull/tasks/images/reference_resize.hpp>
#include <lull/tasks/images/resize.hpp>

namespace lull {

/// The task with all its batches there from the start.
struct resize_unfed {
  static constexpr team_shape shape = resize_pictures::shape;

  resize_pictures work;
  std::uint64_t batches;

  LULL_HD std::uint64_t extent(position at, std::uint64_t) const noexcept { return work.extent(at, batches | no_more_batches); }
  LULL_HD void operator()(chunk c, auto const& team) const noexcept { work(c, team); }
};

/// Two batches of all channels and depths, up and down, both filters, with a logo, some of several tiles, and pictures so much smaller
/// than they were that a team shares a pixel's taps.
class small_images_owner final : public task_owner {
 public:
  void prepare(executor& machine) override {
    for (image_filter const filter : {image_filter::lanczos3, image_filter::area}) {
      for (std::uint8_t channels = 1; channels <= 4; ++channels) {
        std::uint8_t const bits = (channels + (filter == image_filter::area ? 1 : 0)) % 2 == 0 ? 16 : 8;
        bool const grows = channels % 3 == 0;
        add({23, 11, channels, bits}, {grows ? 31U : 7U, grows ? 17U : 5U, channels, bits}, filter);
      }
      add({301, 67, 3, 8}, {149, 33, 3, 8}, filter);
      add({304, 40, 4, 16}, {211, 50, 4, 16}, filter);
      add({700, 3, 3, 8}, {2, 3, 3, 8}, filter);
      add({2, 700, 4, 16}, {3, 2, 4, 16}, filter);
    }
    logo_ = random_image({5, 4, 4, 8});
    buffers_.emplace(machine, 2, 1U << 20);
    logo_pixels_ = {machine, std::span<logo_ref::pixel const>{weighed(logo_, place_.opacity)}};
    put();
  }
  /// Without a type: the suite runs the task wrapped, and knows the type of that.
  job_description describe() const override {
    resize_unfed const task{{buffers_->batches(), buffers_->count(), {logo_pixels_.data(), logo_.shape.width, logo_.shape.height}}, 2};
    job_description made;
    std::memcpy(made.functor.bytes, &task, sizeof task);
    return made;
  }
  void reset() override { put(); }
  std::vector<task_array> arrays() const override { return buffers_->arrays(); }
  verification verify() override {
    double worst = std::numeric_limits<double>::infinity();
    std::size_t at = 0;
    for (std::uint64_t batch = 0; batch < 2; ++batch) {
      std::vector<std::vector<std::uint8_t>> found(in_.size() / 2);
      std::vector<std::span<unsigned char>> into;
      for (std::size_t i = 0; i < found.size(); ++i) {
        found[i].resize(plans_[at + i].out.bytes());
        into.push_back(found[i]);
      }
      buffers_->take(batch, into);
      buffers_->settle();
      for (auto& pixels : found) {
        image_shape const& out = plans_[at].out;
        image const expected = reference_blend(reference_resize(in_[at], out.width, out.height, plans_[at].filter), logo_, place_);
        worst = std::min(worst, psnr(expected, {out, std::move(pixels), {}}));
        ++at;
      }
    }
    return {worst >= 50, "PSNR " + std::to_string(worst)};
  }
  std::vector<std::string> write() override { return {}; }

 private:
  image random_image(image_shape const& shape) {
    image made{shape, std::vector<std::uint8_t>(shape.bytes()), {}};
    for (std::uint8_t& byte : made.pixels) byte = static_cast<std::uint8_t>(random_.at(drawn_++));
    return made;
  }
  void add(image_shape const& in, image_shape const& out, image_filter filter) {
    plans_.push_back({in, out, filter, static_cast<std::int32_t>(out.width) - 5 - static_cast<std::int32_t>(place_.margin),
                      static_cast<std::int32_t>(out.height) - 4 - static_cast<std::int32_t>(place_.margin)});
    in_.push_back(random_image(in));
  }
  void put() {
    std::size_t const half = in_.size() / 2;
    staged_.resize(in_.size());
    for (std::size_t batch = 0; batch < 2; ++batch) {
      std::vector<picture_buffers::given> given;
      for (std::size_t i = batch * half; i < (batch + 1) * half; ++i) {
        staged_[i] = in_[i].pixels;
        staged_[i].resize(plans_[i].staged_bytes());
        plans_[i].add_tables(staged_[i]);
        given.push_back({plans_[i], staged_[i]});
      }
      buffers_->put(batch, given);
      buffers_->settle();
    }
  }

  counter_random const random_{7, 0};
  std::uint64_t drawn_ = 0;
  logo_place place_{.margin = 1};
  std::vector<resize_plan> plans_;
  std::vector<image> in_;
  std::vector<std::vector<unsigned char>> staged_;
  image logo_;
  std::optional<picture_buffers> buffers_;
  machine_array<logo_ref::pixel> logo_pixels_;
};

}  // namespace lull
