// SPDX-License-Identifier: Apache-2.0
#include <lull/bench/yield/stage.hpp>

#include <thread>

#include <lull/host/cuda/check.hpp>

namespace lull::bench {

namespace {

constexpr int gemm_size = 2048;

}  // namespace

bare_edges::bare_edges(executor& executor) : executor_(executor), mark_(executor.make_mark()) {
  gate_.line = static_cast<gate_line*>(executor.allocate(sizeof(gate_line)));
  gate_.records = static_cast<bubble_record*>(executor.allocate(sizeof(bubble_record)));
}

bare_edges::~bare_edges() {
  executor_.release(gate_.line);
  executor_.release(gate_.records);
}

void bare_edges::open(stream_handle stream) { executor_.open_edge(stream, gate_, ++value_, 1, *mark_, false); }
void bare_edges::close(stream_handle stream) {
  executor_.close_edge(stream, gate_, ++value_, *mark_, false, closing{});
}
void bare_edges::capture_open(stream_handle stream) { opening_ = executor_.capture_open(stream, gate_, ++value_, {}); }
void bare_edges::capture_close(stream_handle stream) { executor_.capture_close(stream, gate_, ++value_, 0, opening_); }

trainer_device::trainer_device(std::size_t bubbles) : stamped_memory(bubbles * sizeof(moments)) {
  product.use_size(gemm_size);
  product.enqueue();
  LULL_CUDA(cudaStreamSynchronize(trainer.get()));
  trainer::load();
}

void trainer_device::train(behind what, moments* when) {
  switch (what) {
    case behind::burst_132:
    case behind::burst_264: {
      int const blocks = what == behind::burst_132 ? 132 : 264;
      trainer::burst(trainer.get(), blocks, 512, 4000, &when->training);
      trainer::burst(trainer.get(), blocks, 512, 4000, nullptr);
      break;
    }
    case behind::cublas_2048:
      product.enqueue();
      break;
  }
  trainer::stamp(trainer.get(), &when->done);
}

void add_moments(samples& into, setting const& how, moments const& when, std::uint64_t gap_ns) {
  into.whole.push_back(us(when.begin + gap_ns, when.done));
  if (how.training != behind::cublas_2048) {
    into.first.push_back(us(when.closed, when.training.first));
    into.last_in.push_back(us(when.closed, when.training.last_in));
  }
  if (how.comes != arrival::none) into.delay.push_back(us(when.asked, when.comes.last_in));
}

void add_record(samples& into, moments const& when, bubble_record const& record) {
  into.drain.push_back(us(when.closed, record.last_out_ns));
  if (record.not_saw_ns != 0) {
    into.saw.push_back(us(when.closed, ~record.not_saw_ns));
    into.out.push_back(us(~record.not_saw_ns, record.last_out_ns));
  }
  into.start.push_back(us(record.opened_ns, record.last_in_ns));
  into.period.push_back(static_cast<double>(record.stay_ns) / 1e3 / static_cast<double>(record.chunks));
  into.lease_blocks += record.lease_blocks;
}

void bubble_records::take() {
  for (bubble_report const& one : side_.take_bubbles()) records_[one.record().bubble] = one.record();
}

void bubble_records::take_for(std::chrono::milliseconds time) {
  constexpr std::chrono::milliseconds step{2};
  for (; time.count() > 0; time -= step) {
    std::this_thread::sleep_for(step);
    take();
  }
}

void bubble_records::add_to(samples& into, moments const& when, std::uint64_t bubble) const {
  auto const record = records_.find(bubble);
  if (record == records_.end() || record->second.blocks == 0) {
    ++into.dropped;
  } else {
    add_record(into, when, record->second);
  }
}

}  // namespace lull::bench
