// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include <nppdefs.h>
#include <nppi_arithmetic_and_logical_operations.h>
#include <nppi_geometry_transforms.h>

#include <lull/host/array.hpp>
#include <lull/host/cuda/check.hpp>
#include <lull/host/error.hpp>
#include <lull/host/measure/cuda/kernels.hpp>
#include <lull/host/measure/cuda/timed_stream.hpp>
#include <lull/tasks/images/codec/image.hpp>

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
  npp_resize(executor& executor, npp_filter filter, std::span<image const> pictures, image_shape const& out)
      : executor_(executor),
        filter_(filter),
        in_shape_(pictures.front().shape),
        out_shape_(out),
        context_(context_of(stream_.get())) {
    trainer::load();
    for (image const& each : pictures) {
      if (each.shape != in_shape_) throw usage_error{"npp_resize: pictures of one shape are wanted"};
      in_.emplace_back(executor, std::span<std::uint8_t const>{each.pixels});
      out_.emplace_back(executor, out.bytes());
    }
    if (filter == npp_filter::lanczos_advanced) {
      int bytes = 0;
      check(nppiResizeAdvancedGetBufferHostSize_8u_C1R(size_of(in_shape_), size_of(out), &bytes,
                                                       NPPI_INTER_LANCZOS3_ADVANCED),
            "buffer size");
      scratch_ = {executor, static_cast<std::size_t>(bytes)};
    }
  }

  /// Lays this over each result: opaque but for one opacity, 3 channels, at x, y of the result. Call before the first
  /// `ms`.
  void add_logo(image const& logo, double opacity, std::uint32_t x, std::uint32_t y) {
    logo_ = {executor_, std::span<std::uint8_t const>{logo.pixels}};
    logo_shape_ = logo.shape;
    logo_alpha_ = static_cast<std::uint8_t>(std::lround(opacity * 255));
    logo_at_ = y * out_shape_.row_bytes() + x * out_shape_.pixel_bytes();
  }

  /// Milliseconds between two events around the whole batch, `rounds` times over. The host is ahead: the stream waits
  /// after a kernel until all calls are in it.
  double ms(std::uint64_t rounds) {
    trainer::wait_one_thread(stream_.get(), ahead_ns, nullptr);
    return stream_.ms([&] {
      for (std::uint64_t round = 0; round < rounds; ++round) {
        for (std::size_t which = 0; which < in_.size(); ++which) enqueue(which);
      }
    });
  }

  image result(std::size_t which) const { return {out_shape_, out_[which].read(), {}}; }

 private:
  static constexpr std::uint64_t ahead_ns = 3'000'000;  // of host time for some dozens of calls

  /// Warnings, above 0, are failures, too: a clipped region would be less work.
  static void check(NppStatus status, char const* call) {
    if (status != NPP_SUCCESS) throw device_error{status, "NPP status " + std::to_string(status), call, __FILE__};
  }

  static NppiSize size_of(image_shape const& shape) {
    return {static_cast<int>(shape.width), static_cast<int>(shape.height)};
  }
  static NppiRect whole_of(image_shape const& shape) {
    return {0, 0, static_cast<int>(shape.width), static_cast<int>(shape.height)};
  }
  static int step_of(image_shape const& shape) { return static_cast<int>(shape.row_bytes()); }

  /// As NPP's documentation tells applications to fill it in (nppdefs.h).
  static NppStreamContext context_of(cudaStream_t stream) {
    NppStreamContext made{};
    made.hStream = stream;
    LULL_CUDA(cudaGetDevice(&made.nCudaDeviceId));
    cudaDeviceProp facts{};
    LULL_CUDA(cudaGetDeviceProperties(&facts, made.nCudaDeviceId));
    made.nMultiProcessorCount = facts.multiProcessorCount;
    made.nMaxThreadsPerMultiProcessor = facts.maxThreadsPerMultiProcessor;
    made.nMaxThreadsPerBlock = facts.maxThreadsPerBlock;
    made.nSharedMemPerBlock = facts.sharedMemPerBlock;
    made.nCudaDevAttrComputeCapabilityMajor = facts.major;
    made.nCudaDevAttrComputeCapabilityMinor = facts.minor;
    LULL_CUDA(cudaStreamGetFlags(stream, &made.nStreamFlags));
    return made;
  }

  void enqueue(std::size_t which) {
    NppStreamContext const& context = context_;
    std::uint8_t const* const in = in_[which].data();
    std::uint8_t* const out = out_[which].data();
    switch (filter_) {
      case npp_filter::lanczos:
      case npp_filter::super:
        check(nppiResize_8u_C3R_Ctx(in, step_of(in_shape_), size_of(in_shape_), whole_of(in_shape_), out,
                                    step_of(out_shape_), size_of(out_shape_), whole_of(out_shape_),
                                    filter_ == npp_filter::super ? NPPI_INTER_SUPER : NPPI_INTER_LANCZOS, context),
              "nppiResize_8u_C3R_Ctx");
        break;
      case npp_filter::lanczos_advanced:
        check(nppiResizeSqrPixel_8u_C1R_Advanced_Ctx(in, size_of(in_shape_), step_of(in_shape_), whole_of(in_shape_),
                                                     out, step_of(out_shape_), whole_of(out_shape_),
                                                     static_cast<double>(out_shape_.width) / in_shape_.width,
                                                     static_cast<double>(out_shape_.height) / in_shape_.height,
                                                     scratch_.data(), NPPI_INTER_LANCZOS3_ADVANCED, context),
              "nppiResizeSqrPixel_8u_C1R_Advanced_Ctx");
        break;
    }
    if (logo_alpha_ == 0) return;
    check(nppiAlphaCompC_8u_C3R_Ctx(logo_.data(), step_of(logo_shape_), logo_alpha_, out + logo_at_,
                                    step_of(out_shape_), 255, out + logo_at_, step_of(out_shape_), size_of(logo_shape_),
                                    NPPI_OP_ALPHA_OVER, context),
          "nppiAlphaCompC_8u_C3R_Ctx");
  }

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
