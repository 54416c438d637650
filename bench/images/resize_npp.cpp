// SPDX-License-Identifier: Apache-2.0
// Eight 4K photographs of 8 bits made smaller, by the side task `images` uninterrupted on all SMs and by NPP on a
// stream that may use all: resize_npp/what:W/width:N. lull_us: from the worker's opening until its last block is out, a
// picture; npp_us: between two events, a picture; ratio: npp / lull of a pair, above 1 where ours is faster. Who goes
// first alternates. psnr_*: of the first picture, against the double-precision reference; NPP's own definitions differ,
// see the label.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <lull/bench/images/npp_resize.hpp>
#include <lull/bench/images/photographs.hpp>
#include <lull/bench/images/resize_unfed.hpp>
#include <lull/bench/images/unfed_images.hpp>
#include <lull/bench/program.hpp>
#include <lull/host/executor.hpp>
#include <lull/host/measure/statistics.hpp>
#include <lull/host/measure/turns.hpp>
#include <lull/host/solo/solo_run.hpp>
#include <lull/tasks/images/psnr.hpp>
#include <lull/tasks/images/reference_blend.hpp>
#include <lull/tasks/images/reference_resize.hpp>

namespace {

using namespace lull;
using bench::npp_filter;
using namespace std::chrono_literals;

constexpr std::uint32_t pictures = picture_batch::most;
// A measurement: 256 pictures, so that the worker's start, some 30 us, is not what is measured.
constexpr std::uint64_t rounds = 32;
constexpr int pairs = 48;
constexpr int warm_up = 4;              // pairs that are not counted
constexpr double least_psnr_lull = 50;  // dB, as the task's own verifier asks
constexpr double least_psnr_npp = 20;   // another definition, but the same picture
constexpr auto max_time = 20s;

struct plan {
  char const* name;
  npp_filter theirs;
  image_filter ours;
  std::uint8_t channels;
  bool logo;
  char const* label;
};

constexpr plan plans[] = {
    {"lanczos3_rgb", npp_filter::lanczos, image_filter::lanczos3, 3, false,
     "lull: separable, 6 x ratio taps a side, antialiased; npp: NPPI_INTER_LANCZOS, 6 x 6 taps, not antialiased"},
    {"lanczos3_grey", npp_filter::lanczos_advanced, image_filter::lanczos3, 1, false,
     "lull: separable, 6 x ratio taps a side, antialiased; npp: NPPI_INTER_LANCZOS3_ADVANCED, as GraphicsMagick, "
     "antialiased"},
    {"area_rgb", npp_filter::super, image_filter::area, 3, false, "lull: area average; npp: NPPI_INTER_SUPER"},
    {"lanczos3_rgb_watermark", npp_filter::lanczos, image_filter::lanczos3, 3, true,
     "as lanczos3_rgb; a logo of 256 x 128 with opacity 0.6, lull: while results are stored; npp: nppiAlphaCompC over, "
     "of its region"},
    {"area_rgb_watermark", npp_filter::super, image_filter::area, 3, true,
     "as area_rgb; the logo as in lanczos3_rgb_watermark"},
};

/// Made once: that takes longer than all the resizing.
std::vector<image> const& photographs_of(std::uint8_t channels) {
  static std::map<std::uint8_t, std::vector<image>> made;
  std::vector<image>& all = made[channels];
  for (std::uint64_t i = all.size(); i < pictures; ++i) all.push_back(bench::photograph(3840, 2160, channels, i + 1));
  return all;
}

bench::unfed_wishes wishes_of(plan const& what, image_shape const& out) {
  bench::unfed_wishes made;
  for (image const& each : photographs_of(what.channels))
    made.pictures.push_back({{std::shared_ptr<void>{}, &each}, out.width, out.height, what.ours});  // they stay
  if (what.logo) made.logo = bench::photograph(256, 128, 3, 99);
  made.times = rounds;
  return made;
}

/// The same photographs for both, on the GPU.
class contest {
 public:
  contest(plan const& what, std::uint32_t width)
      : what_(what),
        out_{width, width * 9 / 16, what.channels, 8},
        wishes_(wishes_of(what, out_)),
        executor_(make_executor({.kind = executor_kind::cuda, .reserved_groups = 0, .solo = true})),
        lull_(wishes_, type_of<bench::resize_unfed>()) {
    executor_->adopt_thread();
    lull_.prepare(*executor_);
    npp_.emplace(*executor_, what.theirs, photographs_of(what.channels), out_);
    if (!what.logo) return;
    npp_->add_logo(wishes_.logo, wishes_.place.opacity, out_.width - wishes_.place.margin - wishes_.logo.shape.width,
                   out_.height - wishes_.place.margin - wishes_.logo.shape.height);
  }

  /// Microseconds a picture; negative where it did not come to its end.
  double lull_us() {
    solo_run const done = run_to_end(lull_.describe(), *executor_, {.at_most = max_time});
    if (!done.finished) return -1;
    return std::chrono::duration<double, std::micro>(done.time).count() / (rounds * pictures);
  }
  double npp_us() { return npp_->ms(rounds) * 1e3 / (rounds * pictures); }

  /// dB, Lull's and NPP's; both were run once.
  std::pair<double, double> psnrs() {
    image expected = reference_resize(photographs_of(what_.channels).front(), out_.width, out_.height, what_.ours);
    if (what_.logo) expected = reference_blend(expected, wishes_.logo, wishes_.place);
    return {psnr(expected, lull_.results(0).front()), psnr(expected, npp_->result(0))};
  }

 private:
  plan const& what_;
  image_shape const out_;
  bench::unfed_wishes const wishes_;
  std::unique_ptr<executor> executor_;
  bench::unfed_images lull_;
  std::optional<bench::npp_resize> npp_;
};

void report(benchmark::State& state, std::string const& name, std::vector<double> values) {
  distribution const found = summarise(values);
  std::sort(values.begin(), values.end());
  state.counters[name + "_min"] = values.front();
  state.counters[name + "_p50"] = *found.p50;
  state.counters[name + "_p90"] = percentile(values, 900);
  state.counters[name + "_p99"] = *found.p99;
  state.counters[name + "_max"] = *found.max;
}

void measure(benchmark::State& state, plan const& what, std::uint32_t width) try {
  contest both{what, width};
  std::vector<double> lull;
  std::vector<double> npp;
  std::vector<double> ratio;
  for (auto _ : state) {
    for (int pair = 0; pair < pairs + warm_up; ++pair) {
      double theirs = 0;
      double ours = 0;
      take_turns(2, static_cast<std::uint64_t>(pair),
                 [&](std::size_t turn) { (turn == 0 ? theirs : ours) = turn == 0 ? both.npp_us() : both.lull_us(); });
      if (ours <= 0) return state.SkipWithError("the worker did not come to its end in 20 s");
      if (pair < warm_up) continue;
      lull.push_back(ours);
      npp.push_back(theirs);
      ratio.push_back(theirs / ours);
    }
  }
  auto const [of_lull, of_npp] = both.psnrs();
  report(state, "lull_us", lull);
  report(state, "npp_us", npp);
  report(state, "ratio", ratio);
  state.counters["pairs"] = static_cast<double>(lull.size());
  state.counters["psnr_lull"] = std::min(of_lull, 200.0);
  state.counters["psnr_npp"] = std::min(of_npp, 200.0);
  state.SetLabel(what.label);
  if (!(of_lull >= least_psnr_lull))
    return state.SkipWithError(("ours is no such picture: PSNR " + std::to_string(of_lull) + " dB").c_str());
  if (!(of_npp >= least_psnr_npp))
    state.SkipWithError(("NPP's is no such picture: PSNR " + std::to_string(of_npp) + " dB").c_str());
} catch (std::exception const& reason) {
  state.SkipWithError(reason.what());
}

}  // namespace

int main(int argc, char** argv) {
  benchmark::Initialize(&argc, argv);
  bench::program here{"resize_npp", "Photographs made smaller by the side task images, and by NPP"};
  return here.run(argc, argv, [] {
    bench::need_gpu();
    for (plan const& what : plans) {
      for (std::uint32_t const width : {1920U, 640U}) {
        std::string const name = std::string{"resize_npp/what:"} + what.name + "/width:" + std::to_string(width);
        benchmark::RegisterBenchmark(name.c_str(),
                                     [&what, width](benchmark::State& state) { measure(state, what, width); })
            ->Iterations(1)
            ->Unit(benchmark::kMillisecond);
      }
    }
    benchmark::RunSpecifiedBenchmarks();
    return 0;
  });
}
