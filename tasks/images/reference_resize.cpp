// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <lull/host/error.hpp>
#include <lull/tasks/images/codec/image_limits.hpp>
#include <lull/tasks/images/reference_resize.hpp>
#include <lull/tasks/images/samples.hpp>
#include <numbers>
#include <string>
#include <vector>

namespace lull {
namespace {

/// The input pixels that make one output pixel: from `first` on, with these weights, which sum to 1.
struct taps {
  std::int64_t first = 0;
  std::vector<double> weights;
};

double sinc(double x) { return x == 0 ? 1 : std::sin(std::numbers::pi * x) / (std::numbers::pi * x); }
double lanczos3(double x) { return std::abs(x) < 3 ? sinc(x) * sinc(x / 3) : 0; }

taps lanczos3_taps(std::int64_t at, std::int64_t inputs, std::int64_t outputs) {
  double const ratio = static_cast<double>(inputs) / static_cast<double>(outputs);
  double const stretch = std::max(ratio, 1.0);
  double const centre = (static_cast<double>(at) + 0.5) * ratio;
  auto const first = std::max<std::int64_t>(0, static_cast<std::int64_t>(std::floor(centre - 3 * stretch)));
  auto const end = std::min(inputs, static_cast<std::int64_t>(std::ceil(centre + 3 * stretch)));
  taps made{first, {}};
  for (auto input = first; input < end; ++input) {
    made.weights.push_back(lanczos3((static_cast<double>(input) + 0.5 - centre) / stretch));
  }
  return made;
}

/// In units of 1 / outputs of an input pixel, an input pixel is `outputs` long and an output pixel `inputs`.
taps area_taps(std::int64_t at, std::int64_t inputs, std::int64_t outputs) {
  auto const begin = at * inputs;
  auto const end = begin + inputs;
  taps made{begin / outputs, {}};
  for (auto input = made.first; input * outputs < end; ++input) {
    auto const common = std::min(end, (input + 1) * outputs) - std::max(begin, input * outputs);
    made.weights.push_back(static_cast<double>(common));
  }
  return made;
}

std::vector<taps> taps_of_side(std::uint32_t inputs, std::uint32_t outputs, image_filter filter) {
  std::vector<taps> made;
  made.reserve(outputs);
  for (std::int64_t at = 0; at < outputs; ++at) {
    auto& last = made.emplace_back(filter == image_filter::area ? area_taps(at, inputs, outputs)
                                                                : lanczos3_taps(at, inputs, outputs));
    double sum = 0;
    for (auto const weight : last.weights) {
      sum += weight;
    }
    for (auto& weight : last.weights) {
      weight /= sum;
    }
  }
  return made;
}

/// Lines of pixels: `stride` numbers from one to the next of a line, `lines` of them that begin at `begin_of(line)`.
struct side {
  std::size_t lines;
  std::size_t line_stride;
  std::size_t stride;
};

/// Filters one side of data that has `channels` numbers a pixel.
void filter_lines(std::vector<double> const& from, side const& in, std::vector<double>& to, side const& out,
                  std::vector<taps> const& side_taps, std::size_t channels) {
  for (std::size_t line = 0; line < in.lines; ++line) {
    for (std::size_t at = 0; at < side_taps.size(); ++at) {
      auto const& [first, weights] = side_taps[at];
      for (std::size_t channel = 0; channel < channels; ++channel) {
        auto const* value = from.data() + line * in.line_stride + static_cast<std::size_t>(first) * in.stride + channel;
        double sum = 0;
        for (auto const weight : weights) {
          sum += weight * *value;
          value += in.stride;
        }
        to[line * out.line_stride + at * out.stride + channel] = sum;
      }
    }
  }
}

/// The numbers of an image, colours multiplied by alpha.
std::vector<double> premultiplied(image const& from) {
  std::vector<double> values(std::size_t{from.shape.width} * from.shape.height * from.shape.channels);
  auto const channels = std::size_t{from.shape.channels};
  for (std::size_t index = 0; index < values.size(); ++index) {
    values[index] = detail::sample(from, index);
    auto const alpha = index - index % channels + channels - 1;
    if (from.shape.has_alpha() && index != alpha) {
      values[index] *= static_cast<double>(detail::sample(from, alpha)) / from.shape.largest();
    }
  }
  return values;
}

void set_unpremultiplied(image& to, std::vector<double> const& values) {
  auto const channels = std::size_t{to.shape.channels};
  for (std::size_t index = 0; index < values.size(); ++index) {
    auto const alpha = index - index % channels + channels - 1;
    auto value = values[index];
    if (to.shape.has_alpha() && index != alpha) {
      value = values[alpha] < 0.5 ? 0 : value * to.shape.largest() / values[alpha];
    }
    detail::set_sample(to, index, value);
  }
}

}  // namespace

image reference_resize(image const& from, std::uint32_t width, std::uint32_t height, image_filter filter) {
  auto const& [in_width, in_height, channels, bits] = from.shape;
  for (auto const length : {in_width, in_height, width, height}) {
    if (length == 0 || length > max_image_side) {
      throw usage_error("reference_resize: a side of " + std::to_string(length) + " pixels: 1 to " +
                        std::to_string(max_image_side) + " are possible");
    }
  }
  auto const numbers = std::size_t{channels};
  std::vector<double> narrow(std::size_t{width} * in_height * numbers);
  filter_lines(premultiplied(from), {in_height, in_width * numbers, numbers}, narrow,
               {in_height, width * numbers, numbers}, taps_of_side(in_width, width, filter), numbers);
  std::vector<double> small(std::size_t{width} * height * numbers);
  filter_lines(narrow, {width, numbers, width * numbers}, small, {width, numbers, width * numbers},
               taps_of_side(in_height, height, filter), numbers);
  image made{{.width = width, .height = height, .channels = channels, .bits = bits}, {}, from.extras};
  made.pixels.resize(made.shape.bytes());
  set_unpremultiplied(made, small);
  return made;
}

}  // namespace lull
