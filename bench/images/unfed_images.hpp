// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <lull/host/array.hpp>
#include <lull/host/task/owner.hpp>
#include <lull/tasks/images/codec/image.hpp>
#include <lull/tasks/images/image_work.hpp>
#include <lull/tasks/images/picture_buffers.hpp>

namespace lull::bench {

/// What is resized, and to what.
struct picture_wish {
  std::shared_ptr<image const> in;
  std::uint32_t width;
  std::uint32_t height;
  image_filter filter;
};

struct unfed_wishes {
  std::vector<picture_wish> pictures;                            // one at least
  image logo;                                                    // without pixels: none
  logo_place place;                                              // in the lower right corner
  std::size_t judged = std::numeric_limits<std::size_t>::max();  // pictures that `verify` looks at, spread evenly
  std::uint64_t times = 1;                                       // that each batch is resized in a run
};

/// The side task `images` with all its batches there from the start, so that nobody has to feed it: what tests and
/// benches preempt.
class unfed_images final : public task_owner {
 public:
  /// `type`: that of resize_unfed; none for who runs the task wrapped in another, and knows the type of that.
  unfed_images(unfed_wishes wishes, task_type type);

  void prepare(executor& executor) override;
  job_description describe() const override;
  /// The task reads what it was given, or has written in the same run.
  void reset() override {}
  std::vector<task_array> arrays() const override { return buffers_->arrays(); }
  verification verify() override;
  /// Those of a batch in the last run.
  std::vector<image> results(std::uint64_t batch);
  std::vector<std::string> write() override { return {}; }

 private:
  resize_plan plan_of(picture_wish const& wish) const;
  std::uint64_t batches() const noexcept;

  unfed_wishes const wishes_;
  task_type const type_;
  std::uint32_t grain_ = std::numeric_limits<std::uint32_t>::max();
  std::optional<picture_buffers> buffers_;
  device_array<logo_ref::pixel> logo_pixels_;
};

}  // namespace lull::bench
