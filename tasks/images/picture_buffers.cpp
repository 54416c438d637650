// SPDX-License-Identifier: Apache-2.0
#include <lull/tasks/images/picture_buffers.hpp>

#include <algorithm>
#include <chrono>
#include <stdexcept>
#include <string>
#include <thread>

namespace lull {

picture_buffers::picture_buffers(executor& executor, std::uint32_t buffers, std::size_t bytes)
    : executor_(executor),
      bytes_(bytes),
      batches_(executor, buffers),
      standing_(buffers),
      in_(executor.make_copy_lane()),
      out_(executor.make_copy_lane()) {
  for (std::uint32_t s = 0; s < buffers; ++s) memory_.emplace_back(executor, bytes);
}

void picture_buffers::put(std::uint64_t number, std::span<given const> pictures) {
  std::size_t const buffer = number % memory_.size();
  unsigned char* const memory = memory_[buffer].data();
  picture_batch& batch = standing_[buffer] = {};
  batch.count = static_cast<std::uint32_t>(pictures.size());
  std::size_t begin = 0;
  for (std::uint32_t i = 0; i < batch.count; ++i) {
    resize_plan const& plan = pictures[i].plan;
    std::size_t const bytes = plan.bytes();
    if (i >= picture_batch::most || begin + bytes > bytes_)
      throw std::logic_error{"a batch that does not fit its buffer"};
    in_->copy_in(memory + begin, pictures[i].staged.data(), pictures[i].staged.size());
    batch.pictures[i] = plan.at(memory + begin);
    for (std::uint32_t step = 0; step < 2; ++step) batch.items[step][i + 1] = batch.items[step][i] + plan.items(step);
    begin += bytes;
  }
  for (auto& begins : batch.items) std::fill(begins + batch.count + 1, std::end(begins), begins[batch.count]);
  executor_.write(const_cast<picture_batch*>(batches_.data()) + buffer, &batch, sizeof batch);
}

void picture_buffers::take(std::uint64_t number, std::span<std::span<unsigned char> const> into) {
  picture_batch const& batch = standing_[number % memory_.size()];
  for (std::size_t i = 0; i < into.size(); ++i) {
    picture const& of = batch.pictures[i];
    if (into[i].size() != std::size_t{of.width} * of.height * of.channels * of.bytes)
      throw std::logic_error{"a result into memory of another size"};
    out_->copy_out(into[i].data(), of.out, into[i].size());
  }
}

void picture_buffers::settle() {
  while (!arrived() || !left()) std::this_thread::sleep_for(std::chrono::microseconds{20});
}

std::vector<task_array> picture_buffers::arrays() const {
  std::vector<task_array> all;
  for (std::size_t s = 0; s < memory_.size(); ++s) {
    picture_batch const& batch = standing_[s];
    for (std::uint32_t i = 0; i < batch.count; ++i) {
      picture const& of = batch.pictures[i];
      std::string const name = std::to_string(s) + "." + std::to_string(i);
      if (of.between != nullptr)
        all.push_back({{"between." + name, tensor_type::f32, {of.in_height, of.width, of.channels}}, of.between});
      all.push_back(
          {{"out." + name, of.bytes == 1 ? tensor_type::u8 : tensor_type::u16, {of.height, of.width, of.channels}},
           of.out});
    }
  }
  return all;
}

}  // namespace lull
