// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <lull/host/cuda/check.hpp>
#include <lull/host/cuda/owned.hpp>
#include <lull/host/measure/cuda/blas.hpp>
#include <lull/host/measure/cuda/kernels.hpp>
#include <lull/host/measure/cuda/timed_stream.hpp>
#include <lull/host/measure/trainer.hpp>

namespace lull {
namespace {

constexpr std::uint64_t head_start_ns = 3'000'000;  // meanwhile the host enqueues more than the device has begun
// The worker's blocks are in 4 µs after the opening; 20 µs and a little later.
constexpr std::uint64_t late_arrival_ns = 25'000;
constexpr std::uint64_t shortest_late_ns = 100'000;  // a shorter gap has no room for a late arrival
constexpr std::size_t marks = 1024;                  // events, used in turn
constexpr int sizes[] = {512, 1024, 2048, 4096, 8192};
constexpr int min_products = 4;  // a forward is made of at least so many, where products can be that short

/// Segments are bf16 products of random matrices; a wait has the shape of NCCL's own receive.
class cuda_trainer final : public stage_trainer {
 public:
  cuda_trainer(int device, std::chrono::nanoseconds forward) : forward_(forward) {
    LULL_CUDA(cudaSetDevice(device));
    stream_ = cuda_stream{0};  // the priority that a trainer's streams have by default
    trainer::load();
    product_.emplace(stream_.get());
    for (std::size_t i = 0; i < marks; ++i) events_.emplace_back(event_timing::off);
    calibrate(forward);
  }
  ~cuda_trainer() override { cudaStreamSynchronize(stream_.get()); }

  stream_handle stream() override { return stream_.get(); }
  std::string describe() const override {
    return std::to_string(products_) + " bf16 products of " + std::to_string(product_->size()) + " squared";
  }

  void begin_replay(std::size_t iterations, std::size_t waits) override {
    iterations_ = iterations;
    waits_ = 0;
    late_.clear();
    iteration_ = 0;
    if (iterations > iteration_capacity_) {
      iteration_stamps_ = device_buffer{iterations * sizeof(iteration_moments)};
      iteration_capacity_ = iterations;
    }
    if (waits > wait_capacity_) {
      wait_stamps_ = device_buffer{waits * sizeof(trainer::stamps)};
      wait_capacity_ = waits;
    }
    LULL_CUDA(cudaMemsetAsync(iteration_stamps_.get(), 0, iterations * sizeof(iteration_moments), stream_.get()));
    std::vector<trainer::stamps> const fresh(waits, {~std::uint64_t{0}, 0, 0});
    if (waits != 0) {
      LULL_CUDA(cudaMemcpyAsync(wait_stamps_.get(), fresh.data(), waits * sizeof(trainer::stamps),
                                cudaMemcpyHostToDevice, stream_.get()));
    }
    LULL_CUDA(cudaStreamSynchronize(stream_.get()));
    trainer::wait_one_thread(stream_.get(), head_start_ns, nullptr);
  }
  void begin_iteration() override { trainer::stamp(stream_.get(), &iteration_stamp()->begin_ns); }
  void end_iteration() override {
    trainer::stamp(stream_.get(), &iteration_stamp()->end_ns);
    ++iteration_;
  }
  void work(segment const& what) override {
    auto const count = std::max<std::int64_t>(1, (products_ * what.duration + forward_ / 2) / forward_);
    for (std::int64_t i = 0; i < count; ++i) product_->enqueue();
  }
  void wait(std::chrono::nanoseconds length, wait_arrival arrival) override {
    auto* const when = static_cast<trainer::stamps*>(wait_stamps_.get()) + waits_++;
    auto ns = static_cast<std::uint64_t>(length.count());
    bool const late = arrival == wait_arrival::after_worker && ns >= shortest_late_ns;
    late_.push_back(late);
    if (late) {
      trainer::wait_one_thread(stream_.get(), late_arrival_ns, nullptr);
      ns -= late_arrival_ns;
    }
    trainer::wait_nccl_shape(stream_.get(), ns, when);
  }
  std::size_t mark() override {
    LULL_CUDA(cudaEventRecord(events_[marks_ % marks].get(), stream_.get()));
    return marks_++;
  }
  void wait_for_mark(std::size_t number) override {
    if (marks_ - number > marks) return;  // its event marks something later by now, and the caller waited for others
    LULL_CUDA(cudaEventSynchronize(events_[number % marks].get()));
  }
  bool has_passed(std::size_t number) override { return is_done(cudaEventQuery(events_[number % marks].get())); }
  replay_moments end_replay() override {
    LULL_CUDA(cudaStreamSynchronize(stream_.get()));
    replay_moments found;
    found.iterations.resize(iteration_);
    std::vector<trainer::stamps> stamps(waits_);
    if (iteration_ != 0) {
      LULL_CUDA(cudaMemcpyAsync(found.iterations.data(), iteration_stamps_.get(),
                                iteration_ * sizeof(iteration_moments), cudaMemcpyDeviceToHost, stream_.get()));
    }
    if (waits_ != 0) {
      LULL_CUDA(cudaMemcpyAsync(stamps.data(), wait_stamps_.get(), waits_ * sizeof(trainer::stamps),
                                cudaMemcpyDeviceToHost, stream_.get()));
    }
    LULL_CUDA(cudaStreamSynchronize(stream_.get()));
    for (std::size_t w = 0; w < waits_; ++w) {  // the gap begins before a kernel that comes late
      double const mhz = static_cast<double>(stamps[w].khz) / 1e3;
      found.waits.push_back({stamps[w].first - (late_[w] ? late_arrival_ns : 0), stamps[w].end,
                             mhz > 0 ? std::optional{mhz} : std::nullopt});
    }
    return found;
  }

 private:
  iteration_moments* iteration_stamp() const {
    return static_cast<iteration_moments*>(iteration_stamps_.get()) + std::min(iteration_, iterations_ - 1);
  }

  /// Mean time of a product among many, when the clocks are up.
  std::chrono::nanoseconds time_of_product() {
    stream_timer timer;
    double ms = 0;
    double per_product_ns = 0;
    for (int count = 8; ms < 50 && count < 100'000; count *= 4) {
      ms = timer.ms(stream_.get(), [&] {
        for (int i = 0; i < count; ++i) product_->enqueue();
      });
      per_product_ns = ms * 1e6 / count;
    }
    return std::chrono::nanoseconds{static_cast<std::int64_t>(per_product_ns)};
  }

  /// The largest product of which a forward holds some, and how many of it.
  void calibrate(std::chrono::nanoseconds forward) {
    for (int const size : sizes) {
      int const before = product_->size();
      int const products_before = products_;
      product_->use_size(size);
      auto const each = time_of_product();
      products_ =
          std::max(1, static_cast<int>(std::lround(static_cast<double>(forward.count()) /
                                                   static_cast<double>(std::max<std::int64_t>(1, each.count())))));
      if (products_ < min_products && before != 0) {
        product_->use_size(before);
        products_ = products_before;
        break;
      }
    }
    product_->enqueue();
    LULL_CUDA(cudaStreamSynchronize(stream_.get()));
  }

  cuda_stream stream_;
  std::optional<trainer::square_products> product_;  // made on the device
  std::vector<cuda_event> events_;
  device_buffer iteration_stamps_;
  device_buffer wait_stamps_;
  std::size_t iteration_capacity_ = 0;
  std::size_t wait_capacity_ = 0;
  std::size_t iterations_ = 0;
  std::size_t iteration_ = 0;
  std::size_t waits_ = 0;
  std::vector<bool> late_;  // (waits_,)
  std::size_t marks_ = 0;
  std::chrono::nanoseconds const forward_;
  int products_ = 1;  // of a forward
};

}  // namespace

std::unique_ptr<stage_trainer> make_cuda_trainer(int device, std::chrono::nanoseconds forward) {
  return std::make_unique<cuda_trainer>(device, forward);
}

}  // namespace lull
