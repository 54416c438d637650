// SPDX-License-Identifier: Apache-2.0
#include <lull/host/cuda/executor.hpp>

#include <algorithm>
#include <array>
#include <atomic>
#include <optional>
#include <string>

#include <lull/host/cuda/captured.hpp>
#include <lull/host/cuda/copy_lane.hpp>
#include <lull/host/cuda/device_guard.hpp>
#include <lull/host/cuda/kernel_handle.hpp>
#include <lull/host/cuda/kernels.hpp>
#include <lull/host/cuda/marks.hpp>

namespace lull {

namespace {

constexpr std::size_t sm_ids = 1024;

/// Blocks of NCCL's send/receive kernel that may have to run inside the workers' set. The kernel holds 16 whole SMs (16
/// blocks × 640 threads × 96 registers).
constexpr int trainer_blocks_inside = 16;

/// The most threads of a side task on an SM: half of what an SM holds, so that a trainer's kernel fits next to it.
constexpr int threads_per_sm = 1024;

// Measured on an H200 (docs/decisions/closing.md): the time from the first sight of a close to the first block of the
// next kernel, less two steps, because a late block costs a wave; and the time of a
// stream's wait for a word that already holds the value.
constexpr std::chrono::nanoseconds gap_after_close{600};
constexpr std::chrono::nanoseconds step{240};
constexpr std::size_t max_steps = 15;

/// The longest that a stream waits for blocks to begin to leave: longer than any block takes whose chunks have bounded
/// length.
constexpr std::uint64_t max_wait_ns = 50'000;

cudaStream_t stream_of(stream_handle stream) { return static_cast<cudaStream_t>(stream); }

void launch_worker(void const* kernel, unsigned blocks, team_shape const& shape, cudaStream_t stream,
                   void** arguments) {
  LULL_CUDA(cudaLaunchKernel(kernel, dim3(blocks), dim3(static_cast<unsigned>(shape.threads)), arguments,
                             shape.shared_bytes, stream));
}

CUstreamBatchMemOpParams writing(std::uint32_t* word, std::uint32_t value) {
  CUstreamBatchMemOpParams made{};
  made.writeValue.operation = CU_STREAM_MEM_OP_WRITE_VALUE_32;
  made.writeValue.address = reinterpret_cast<CUdeviceptr>(word);
  made.writeValue.value = value;
  return made;
}

}  // namespace

std::string why_no_cuda(int device) {
  int count = 0;
  cudaError_t const code = cudaGetDeviceCount(&count);
  if (code != cudaSuccess) {
    cudaGetLastError();
    return std::string{"no CUDA device answers: "} + cudaGetErrorString(code);
  }
  if (device < 0 || device >= count) {
    return "there is no CUDA device " + std::to_string(device) + ": this machine has " + std::to_string(count);
  }
  return {};
}

cuda_executor::cuda_executor(executor_options const& options)
    : device_(options.device),
      solo_(options.solo),
      green_context_(options.green_context),
      place_(device_, options.reserved_groups, options.processors, options.green_context),
      memory_(device_, options.memory_limit_bytes, options.reserve_bytes),
      control_(priorities().highest),
      own_(priorities().lowest),
      inside_(static_cast<std::uint32_t*>(memory_.allocate(sm_ids * sizeof(std::uint32_t)))),
      relay_(memory_.allocate(detail::relay_bytes())) {
  detail::load_kernels(control_.get());
  LULL_CUDA(cudaStreamSynchronize(control_.get()));
}

cuda_executor::~cuda_executor() {
  destroy_on(device_, [this] {
    conductor_.reset();
    buried_.clear();
    captures_.clear();
    graphs_.reset();
    memory_.release(relay_);
    memory_.release(inside_);
    control_ = {};
    own_ = {};
  });
}

worker_grid cuda_executor::choose(worker_kernel const& kernel, int blocks_per_processor) const {
  int fit = 0;
  void const* const code = detail::launchable(kernel, kernel.resident);
  LULL_CUDA(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&fit, code, kernel.shape.threads, kernel.shape.shared_bytes));
  // Half of what fits leaves registers for other kernels, and the share can be enforced.
  int const fitting = std::max(1, std::min(threads_per_sm / kernel.shape.threads, fit / 2));
  int const share = std::min(blocks_per_processor > 0 ? blocks_per_processor : fitting, fit);
  if (share < 1)
    throw usage_error{"a team of this side task does not fit an SM: lower its threads or its shared memory"};
  worker_grid chosen;
  chosen.code = code;
  chosen.sms = place_.plan();
  if (solo_ && place_.has_all()) {
    chosen.blocks = static_cast<std::uint64_t>((blocks_per_processor > 0 ? share : fit) * place_.processors());
    return chosen;
  }
  chosen.sms.inside = inside_;
  // Where twice its share fits, blocks might double up on an SM, so the share is enforced, and no block is ever left
  // pending.
  bool const fills = fit < 2 * share;
  chosen.sms.share = fills ? detail::any_share : static_cast<std::uint32_t>(share);
  int const sms = fills            ? place_.owned_at_start() - trainer_blocks_inside
                  : place_.by_id() ? place_.processors()
                                   : place_.owned_at_start();
  if (sms < 1)
    throw usage_error{
        "too few SMs are left for a side task that fills them: lower reserved groups, or raise processors"};
  chosen.blocks = static_cast<std::uint64_t>(share * sms);
  return chosen;
}

bool cuda_executor::reserve_group() {
  auto group = solo_ ? std::nullopt : place_.give_up_group();
  if (!group) return false;
  group->inside = inside_;
  detail::launch_keep_off(control_.get(), *group);
  return true;
}

worker_grid cuda_executor::load(worker_kernel const& kernel, int blocks_per_processor) {
  if (!kernel) {
    throw usage_error{
        "this side task was built without CUDA code: build Lull where nvcc is found and enable CUDA in the project "
        "that builds the task, or use the threads executor"};
  }
  cuda_device_guard const here{device_};
  std::lock_guard const lock{loaded_mutex_};
  if (kernel.conducts) {
    if (conductor_ == nullptr)
      conductor_ = std::make_unique<conductor_graph>(find_place_of_graphs().context(), relay_, place_.stream());
    return {.blocks = 1};
  }
  if (loaded_.contains(kernel.resident)) return choose(kernel, blocks_per_processor);
  void const* const code = detail::launchable(kernel, kernel.resident);
  detail::prepare_code(code, kernel.shape);
  worker_params nowhere;
  void* arguments[] = {&nowhere};
  launch_worker(code, 1, kernel.shape, place_.stream(), arguments);  // the first launch loads the code
  loaded_.insert(kernel.resident);
  return choose(kernel, blocks_per_processor);
}

std::unique_ptr<copy_lane> cuda_executor::make_copy_lane() { return std::make_unique<cuda_copy_lane>(device_); }

std::unique_ptr<copy_lane> cuda_executor::make_control_lane() {
  return std::make_unique<cuda_copy_lane>(device_, control_.get());
}

std::unique_ptr<bubble_mark> cuda_executor::make_mark() { return std::make_unique<cuda_mark>(device_); }

stream_found cuda_executor::look_at(stream_handle stream, thread_state from) {
  bool const here = from.device == device_;
  if (auto const capture = capture_of(stream)) {
    // Asking a stream for its device during its capture would spoil the capture.
    return here ? stream_found{stream_found::captured, *capture} : stream_found{stream_found::foreign};
  }
  // The default streams are those of the caller's device.
  bool const a_default = stream == nullptr || stream == cudaStreamLegacy || stream == cudaStreamPerThread;
  int device = from.device;
  if (!a_default) LULL_CUDA(cudaStreamGetDevice(stream_of(stream), &device));
  if (device != device_) return {stream_found::foreign};
  // By its id: a handle may be that of a destroyed stream, and the per-thread stream differs in each thread.
  unsigned long long id = 0;
  LULL_DRIVER(driver().stream_id(stream_of(stream), &id));
  return {.is = stream_found::plain, .id = id + 1};
}

void cuda_executor::open_edge(stream_handle stream, gate_ref gate, std::uint32_t value, std::uint64_t bubble,
                              bubble_mark& mark, bool timed) {
  detail::launch_open_edge(stream_of(stream), gate, value, bubble);
  if (timed) LULL_CUDA(cudaEventRecord(static_cast<cuda_mark&>(mark).opened(), stream_of(stream)));
}

void cuda_executor::write_word(stream_handle stream, std::uint32_t* word, std::uint32_t value) {
  CUstreamBatchMemOpParams write = writing(word, value);
  LULL_DRIVER(driver().memory_operations(stream_of(stream), 1, &write, 0));
}

void cuda_executor::close_edge(stream_handle stream, gate_ref gate, std::uint32_t value, bubble_mark& mark, bool timed,
                               closing how) {
  std::array<CUstreamBatchMemOpParams, 1 + max_steps> all{};
  unsigned count = 0;
  all[count++] = writing(&gate.line->value, value);
  // Waits for values that are there already: each takes one step of time.
  for (auto left = how.longer; left.count() > 0 && count < all.size(); left -= step) {
    auto& wait = all[count++].waitValue;
    wait.operation = CU_STREAM_MEM_OP_WAIT_VALUE_32;
    wait.address = reinterpret_cast<CUdeviceptr>(&gate.awaited->always_zero);
    wait.value = 0;
    wait.flags = CU_STREAM_WAIT_VALUE_EQ;
  }
  LULL_DRIVER(driver().memory_operations(stream_of(stream), count, all.data(), 0));
  if (how.waits) detail::launch_await_leaving(stream_of(stream), gate.awaited, max_wait_ns);
  if (timed) LULL_CUDA(cudaEventRecord(static_cast<cuda_mark&>(mark).closed(), stream_of(stream)));
}

void cuda_executor::launch(worker_kernel const& kernel, worker_grid const& grid, worker_params const& params,
                           bubble_mark* mark, start_when when) {
  if (when == start_when::opened) {
    CUstreamBatchMemOpParams wait{};
    wait.waitValue.operation = CU_STREAM_MEM_OP_WAIT_VALUE_32;
    wait.waitValue.address =
        reinterpret_cast<CUdeviceptr>(&params.gate.opening->numbers) + opening_numbers::go_bits / 8;
    wait.waitValue.value = static_cast<std::uint32_t>(params.bubble);
    // compares by the sign of the difference, because the number wraps
    wait.waitValue.flags = CU_STREAM_WAIT_VALUE_GEQ;
    LULL_DRIVER(driver().memory_operations(place_.stream(), 1, &wait, 0));
  }
  worker_params with = params;
  with.sms = grid.sms;
  void* arguments[] = {&with};
  if (kernel.conducts) {
    conductor_->launch(place_.stream(), with);
  } else {
    launch_worker(grid.code, static_cast<unsigned>(grid.blocks), kernel.shape, place_.stream(), arguments);
  }
  if (mark != nullptr) LULL_CUDA(cudaEventRecord(static_cast<cuda_mark*>(mark)->left(), place_.stream()));
}

std::chrono::nanoseconds cuda_executor::launch_gap() const noexcept { return gap_after_close; }

std::optional<std::uint64_t> cuda_executor::capture_of(stream_handle stream) {
  auto const found = detail::graph_under_capture(stream_of(stream));
  if (!found) return std::nullopt;
  return driver().add_node != nullptr ? found->id : 0;
}

captured_opening cuda_executor::capture_open(stream_handle stream, gate_ref gate, std::uint32_t value,
                                             std::span<captured_worker const> workers) {
  detail::captured_graph const graph = detail::graph_under_capture(stream_of(stream)).value();
  CUgraphNode const opening = detail::add_open_edge(graph, gate, value);
  if (workers.empty()) detail::add_nothing(graph, opening);
  for (captured_worker const& each : workers) {
    worker_grid const& chosen = each.grid;
    worker_params with = each.params;
    with.in_graph = 1;
    with.sms = chosen.sms;
    detail::worker_launch how{each.kernel.resident, static_cast<unsigned>(chosen.blocks), each.kernel.shape,
                              place_.context(), each.kernel.runtime};
    if (chosen.sms.inside != nullptr && chosen.sms.share != detail::any_share) {  // twice its share fits an SM
      // A kernel of another context starts 2 µs later, so SMs are reserved by id.
      std::ranges::copy(place_.plan_in_graphs().kept_off, with.sms.kept_off);
      how.blocks = chosen.sms.share * static_cast<unsigned>(place_.processors());
      if (workers.size() > 1) with.sms.together = chosen.sms.share * static_cast<unsigned>(place_.owned_at_start());
      how.context = nullptr;
    }
    detail::add_worker(graph, opening, how, with);
  }
  return opening;
}

void cuda_executor::capture_close(stream_handle stream, gate_ref gate, std::uint32_t value, std::uint32_t site,
                                  captured_opening opened) {
  detail::captured_graph const graph = detail::graph_under_capture(stream_of(stream)).value();
  detail::add_close_edge(graph, gate, value, site, static_cast<CUgraphNode>(opened));
}

void cuda_executor::capture_keep(stream_handle stream, std::shared_ptr<void const> what) {
  detail::keep_with(detail::graph_under_capture(stream_of(stream)).value(), std::move(what));
}

void cuda_executor::synchronize(stream_handle stream) { LULL_CUDA(cudaStreamSynchronize(stream_of(stream))); }

std::optional<std::chrono::nanoseconds> cuda_executor::length(bubble_mark& mark) {
  auto const& both = static_cast<cuda_mark const&>(mark);
  return time_between(both.opened(), both.closed());
}

std::unique_ptr<stream_moment> cuda_executor::make_moment() { return std::make_unique<cuda_moment>(device_); }

void cuda_executor::note(stream_handle stream, stream_moment& when) {
  LULL_CUDA(cudaEventRecord(static_cast<cuda_moment&>(when).event(), stream_of(stream)));
}

std::optional<std::chrono::nanoseconds> cuda_executor::between(stream_moment& from, stream_moment& to) {
  return time_between(static_cast<cuda_moment&>(from).event(), static_cast<cuda_moment&>(to).event());
}

bool cuda_executor::workers_left(bubble_mark& mark) {
  return is_done(cudaEventQuery(static_cast<cuda_mark const&>(mark).left()));  // one never recorded is done
}

bool cuda_executor::is_lost() noexcept {
  cudaError_t const state = cudaStreamQuery(control_.get());
  if (state == cudaSuccess) return false;
  if (state == cudaErrorNotReady) {
    if (cudaPeekAtLastError() == cudaErrorNotReady) cudaGetLastError();
    return false;
  }
  return true;
}

void cuda_executor::exchange(slot_line* slot, slot_content const& content, std::uint64_t limit_ns, std::uint64_t* done,
                             std::uint64_t id) {
  detail::launch_exchange(control_.get(), slot, content, limit_ns, done, id);
}

std::uint64_t cuda_executor::load_mapped(void const* host_word) const noexcept {
  return std::atomic_ref<std::uint64_t>{*static_cast<std::uint64_t*>(const_cast<void*>(host_word))}.load(
      std::memory_order_acquire);
}

bool cuda_executor::workers_done() { return is_done(cudaStreamQuery(place_.stream())); }

}  // namespace lull
