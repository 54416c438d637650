// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include <nppdefs.h>

#include <lull/host/array.hpp>
#include <lull/host/measure/cuda/timed_stream.hpp>
#include <lull/tasks/images/image.hpp>

namespace lull::bench {

/// What NPP has for it.
enum class npp_filter {
  lanczos,  // nppiResize_8u_C3R, NPPI_INTER_LANCZOS: 6 x 6 samples whatever the ratio, so it does not average when
            // shrinking
  lanczos_advanced,  // nppiResizeSqrPixel_8u_C1R_Advanced, NPPI_INTER_LANCZOS3_ADVANCED: stretched by the ratio, as
                     // ours; 1 channel only
  super              // nppiResize_8u_C3R, NPPI_INTER_SUPER: the average over an output pixel's area
};

/// A batch of pictures of one shape on the GPU, resized by NPP, a call a picture, on a stream that may use all SMs.
class npp_resize {
 public:
  npp_resize(executor& executor, npp_filter filter, std::span<image const> pictures, image_shape const& out);

  /// Lays this over each result: opaque but for one opacity, 3 channels, at x, y of the result. Call before the first
  /// `ms`.
  void add_logo(image const& logo, double opacity, std::uint32_t x, std::uint32_t y);

  /// Milliseconds between two events around the whole batch, `rounds` times over. The host is ahead: the stream waits
  /// after a kernel until all calls are in it.
  double ms(std::uint64_t rounds);

  image result(std::size_t which) const;

 private:
  void enqueue(std::size_t which);

  executor& executor_;
  npp_filter filter_;
  image_shape in_shape_;
  image_shape out_shape_;
  std::vector<device_array<std::uint8_t>> in_;
  std::vector<device_array<std::uint8_t>> out_;
  device_array<std::uint8_t> scratch_;
  device_array<std::uint8_t> logo_;
  image_shape logo_shape_;
  std::uint8_t logo_alpha_ = 0;
  std::size_t logo_at_ = 0;  // byte of a result
  timed_stream stream_;
  NppStreamContext context_;
};

}  // namespace lull::bench
