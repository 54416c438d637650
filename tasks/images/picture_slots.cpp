// SPDX-License-Identifier: Apache-2.0
#include <lull/tasks/images/picture_slots.hpp>

#include <algorithm>
#include <cstring>
#include <stdexcept>
#include <string>

namespace lull {

namespace {

constexpr std::size_t line = 256;  // what pieces of a slot are aligned to

/// Of an item that a team has in its hands for about a microsecond.
constexpr std::uint32_t taps_an_item = 16'384;
constexpr std::uint32_t most_pixels_an_item = 4096;
/// With more taps the team shares one pixel's.
constexpr std::uint32_t most_taps_a_thread = 64;

std::size_t rounded_up(std::size_t bytes) { return (bytes + line - 1) / line * line; }

std::uint32_t pixels_of_item(std::uint32_t taps_a_pixel) {
  if (taps_a_pixel > most_taps_a_thread) return 0;
  return std::clamp(taps_an_item / taps_a_pixel, 1U, most_pixels_an_item);
}

std::uint64_t items_of(std::uint64_t pixels, std::uint32_t of_item) {
  return of_item == 0 ? pixels : (pixels + of_item - 1) / of_item;
}

/// Where the pieces of a picture stand in its slot, from some byte on.
struct pieces {
  std::size_t in;
  std::size_t between;
  std::size_t out;
  std::size_t across;
  std::size_t down;
  std::size_t weights;
  std::size_t end;

  pieces(resize_plan const& plan, std::size_t begin) {
    std::size_t const most = std::size_t{most_taps(plan.filter, plan.in.width, plan.out.width)} * plan.out.width +
                             std::size_t{most_taps(plan.filter, plan.in.height, plan.out.height)} * plan.out.height;
    in = begin;
    between = in + rounded_up(plan.in.bytes());
    out = between + rounded_up(std::size_t{plan.out.width} * plan.in.height * plan.in.channels * sizeof(float));
    across = out + rounded_up(plan.out.bytes());
    down = across + rounded_up(plan.out.width * sizeof(taps));
    weights = down + rounded_up(plan.out.height * sizeof(taps));
    end = weights + rounded_up(most * sizeof(float));
  }
};

}  // namespace

std::size_t resize_plan::bytes() const noexcept { return pieces{*this, 0}.end; }

picture_slots::picture_slots(executor& machine, std::uint32_t slots, std::size_t bytes)
    : machine_(machine), bytes_(bytes), batches_(machine, slots), standing_(slots) {
  for (std::uint32_t s = 0; s < slots; ++s) memory_.emplace_back(machine, bytes);
}

void picture_slots::put(std::uint64_t number, std::span<given const> pictures) {
  std::size_t const slot = number % memory_.size();
  unsigned char* const memory = memory_[slot].data();
  picture_batch& batch = standing_[slot] = {};
  batch.count = static_cast<std::uint32_t>(pictures.size());
  std::size_t begin = 0;
  for (std::uint32_t i = 0; i < batch.count; ++i) {
    resize_plan const& plan = pictures[i].plan;
    pieces const at{plan, begin};
    if (i >= picture_batch::most || at.end > bytes_) throw std::logic_error{"a batch that does not fit its slot"};
    begin = at.end;
    std::vector<float> weights;
    std::vector<taps> const across = taps_of(plan.filter, plan.in.width, plan.out.width, weights);
    std::vector<taps> const down = taps_of(plan.filter, plan.in.height, plan.out.height, weights);
    machine_.write(memory + at.in, pictures[i].pixels.data(), plan.in.bytes());
    machine_.write(memory + at.across, across.data(), across.size() * sizeof(taps));
    machine_.write(memory + at.down, down.data(), down.size() * sizeof(taps));
    machine_.write(memory + at.weights, weights.data(), weights.size() * sizeof(float));
    std::uint32_t const pixels[2] = {pixels_of_item(most_taps(plan.filter, plan.in.width, plan.out.width)),
                                     pixels_of_item(most_taps(plan.filter, plan.in.height, plan.out.height))};
    batch.pictures[i] = {.in = memory + at.in,
                         .between = reinterpret_cast<float*>(memory + at.between),
                         .out = memory + at.out,
                         .across = reinterpret_cast<taps const*>(memory + at.across),
                         .down = reinterpret_cast<taps const*>(memory + at.down),
                         .weights = reinterpret_cast<float const*>(memory + at.weights),
                         .in_width = plan.in.width,
                         .in_height = plan.in.height,
                         .width = plan.out.width,
                         .height = plan.out.height,
                         .channels = plan.in.channels,
                         .bytes = plan.in.bits / 8U,
                         .pixels = {pixels[0], pixels[1]},
                         .logo_x = plan.logo_x,
                         .logo_y = plan.logo_y};
    std::uint64_t const columns = plan.out.width;
    batch.items[0][i + 1] = batch.items[0][i] + items_of(columns * plan.in.height, pixels[0]);
    batch.items[1][i + 1] = batch.items[1][i] + items_of(columns * plan.out.height, pixels[1]);
  }
  for (auto& begins : batch.items) std::fill(begins + batch.count + 1, std::end(begins), begins[batch.count]);
  machine_.write(const_cast<picture_batch*>(batches_.data()) + slot, &batch, sizeof batch);
}

void picture_slots::take(std::uint64_t number, std::span<std::vector<std::uint8_t>> into) {
  picture_batch const& batch = standing_[number % memory_.size()];
  for (std::size_t i = 0; i < into.size(); ++i) {
    picture const& of = batch.pictures[i];
    into[i].resize(std::size_t{of.width} * of.height * of.channels * of.bytes);
    machine_.read(into[i].data(), of.out, into[i].size());
  }
}

std::vector<task_array> picture_slots::arrays() const {
  std::vector<task_array> all;
  for (std::size_t s = 0; s < memory_.size(); ++s) {
    picture_batch const& batch = standing_[s];
    for (std::uint32_t i = 0; i < batch.count; ++i) {
      picture const& of = batch.pictures[i];
      std::string const name = std::to_string(s) + "." + std::to_string(i);
      all.push_back({"between." + name, of.between, std::size_t{of.in_height} * of.width * of.channels * sizeof(float)});
      all.push_back({"out." + name, of.out, std::size_t{of.height} * of.width * of.channels * of.bytes});
    }
  }
  return all;
}

}  // namespace lull
