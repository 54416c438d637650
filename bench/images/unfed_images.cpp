// SPDX-License-Identifier: Apache-2.0
#include <lull/bench/images/unfed_images.hpp>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <span>
#include <utility>

#include <lull/bench/images/resize_unfed.hpp>
#include <lull/tasks/images/logo.hpp>
#include <lull/tasks/images/psnr.hpp>
#include <lull/tasks/images/reference_blend.hpp>
#include <lull/tasks/images/reference_resize.hpp>

namespace lull::bench {

namespace {

constexpr std::size_t pictures_a_batch = picture_batch::most;
constexpr double min_psnr = 50;  // dB, as the task's own owner asks

}  // namespace

unfed_images::unfed_images(unfed_wishes wishes, task_type type) : wishes_(std::move(wishes)), type_(type) {}

void unfed_images::prepare(executor& executor) {
  std::size_t largest = 0;
  for (picture_wish const& each : wishes_.pictures) {
    largest = std::max(largest, plan_of(each).bytes());
    grain_ = std::min(grain_, plan_of(each).grain());
  }
  buffers_.emplace(executor, static_cast<std::uint32_t>(batches()), largest * pictures_a_batch);
  if (!wishes_.logo.pixels.empty())
    logo_pixels_ = {executor, std::span<logo_ref::pixel const>{weighed(wishes_.logo, wishes_.place.opacity)}};
  auto at = wishes_.pictures.begin();
  for (std::uint64_t batch = 0; batch < batches(); ++batch) {
    std::vector<std::vector<unsigned char>> staged;
    std::vector<picture_buffers::given> given;
    for (; at != wishes_.pictures.end() && given.size() < pictures_a_batch; ++at) {
      resize_plan const plan = plan_of(*at);
      auto& bytes = staged.emplace_back(at->in->pixels);
      bytes.resize(plan.staged_bytes());
      plan.add_tables(bytes);
      given.push_back({plan, bytes});
    }
    buffers_->put(batch, given);
    buffers_->settle();
  }
}

job_description unfed_images::describe() const {
  logo_ref const logo{logo_pixels_.data(), wishes_.logo.shape.width, wishes_.logo.shape.height};
  resize_unfed const task{{.batches = buffers_->batches(), .buffers = buffers_->count(), .logo = logo},
                          wishes_.times * batches()};
  job_description made;
  made.type = type_;
  made.name = "images_unfed";
  made.grain = grain_;
  std::memcpy(made.functor.bytes, &task, sizeof task);
  return made;
}

verification unfed_images::verify() {
  std::size_t const all = wishes_.pictures.size();
  std::size_t const step = (all + std::min(all, wishes_.judged) - 1) / std::min(all, wishes_.judged);
  double worst = std::numeric_limits<double>::infinity();
  std::vector<image> found;
  for (std::size_t i = 0; i < all; ++i) {
    if (i % pictures_a_batch == 0) found = results(i / pictures_a_batch);
    if (i % step != 0) continue;
    picture_wish const& wish = wishes_.pictures[i];
    image const resized = reference_resize(*wish.in, wish.width, wish.height, wish.filter);
    worst = std::min(worst, psnr(reference_blend(resized, wishes_.logo, wishes_.place), found[i % pictures_a_batch]));
  }
  char text[120];
  std::snprintf(text, sizeof text,
                "%zu of %zu pictures held against another implementation: PSNR %.1f dB at least, %.0f wanted",
                (all + step - 1) / step, all, worst, min_psnr);
  return {worst >= min_psnr, text};
}

resize_plan unfed_images::plan_of(picture_wish const& wish) const {
  image_shape out = wish.in->shape;
  out.width = wish.width;
  out.height = wish.height;
  auto const from_the_far_end = [&](std::uint32_t side, std::uint32_t of_logo) {
    return static_cast<std::int32_t>(side) - static_cast<std::int32_t>(of_logo) -
           static_cast<std::int32_t>(wishes_.place.margin);
  };
  return {wish.in->shape, out, wish.filter, from_the_far_end(out.width, wishes_.logo.shape.width),
          from_the_far_end(out.height, wishes_.logo.shape.height)};
}

std::uint64_t unfed_images::batches() const noexcept {
  return (wishes_.pictures.size() + pictures_a_batch - 1) / pictures_a_batch;
}

std::vector<image> unfed_images::results(std::uint64_t batch) {
  std::size_t const begin = batch * pictures_a_batch;
  std::size_t const end = std::min(begin + pictures_a_batch, wishes_.pictures.size());
  std::vector<image> found;
  for (std::size_t i = begin; i < end; ++i) {
    image_shape const out = plan_of(wishes_.pictures[i]).out;
    found.push_back({out, std::vector<std::uint8_t>(out.bytes()), {}});
  }
  std::vector<std::span<unsigned char>> into;
  for (image& each : found) into.push_back(each.pixels);
  buffers_->take(batch, into);
  buffers_->settle();
  return found;
}

}  // namespace lull::bench
