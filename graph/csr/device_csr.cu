// SPDX-License-Identifier: Apache-2.0
#include <cuda_runtime_api.h>
#include <thrust/binary_search.h>
#include <thrust/execution_policy.h>
#include <thrust/for_each.h>
#include <thrust/iterator/counting_iterator.h>
#include <thrust/sort.h>
#include <thrust/system/cuda/execution_policy.h>
#include <thrust/system_error.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <lull/device/atomic_integer.hpp>
#include <lull/graph/csr/device_csr.hpp>
#include <lull/host/error.hpp>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace lull::detail {
namespace {

void check(cudaError_t code, char const* call) {
  if (code == cudaSuccess) return;
  cudaGetLastError();  // the trainer's next check must not find it
  throw device_error{static_cast<int>(code), cudaGetErrorName(code), call, __FILE__};
}

/// Some calls of Thrust on one stream, and the memory that they take meanwhile: from the machine, that is from Lull's
/// pool, where Thrust by itself would call cudaMalloc and cudaFree. It goes back when the stream is done, not when
/// Thrust gives it up: the pool knows nothing of this stream, and would hand it out while kernels still write it.
class device_pass {
 public:
  class allocator {
   public:
    using value_type = char;
    explicit allocator(device_pass& pass) : pass_(&pass) {}
    char* allocate(std::ptrdiff_t bytes) { return static_cast<char*>(pass_->take(static_cast<std::size_t>(bytes))); }
    void deallocate(char*, std::size_t) noexcept {}

   private:
    device_pass* pass_;
  };

  device_pass(executor& executor, stream_handle stream)
      : executor_(executor),
        stream_(static_cast<cudaStream_t>(stream != nullptr ? stream : executor.own_stream())),
        allocator_(*this) {}
  ~device_pass() {
    while (cudaStreamQuery(stream_) == cudaErrorNotReady) pause();  // after an error kernels may still be under way
    for (void* memory : taken_) executor_.release(memory);
  }
  device_pass(device_pass const&) = delete;
  device_pass& operator=(device_pass const&) = delete;

  cudaStream_t stream() const noexcept { return stream_; }

  /// Calls work(policy) and waits for the stream, without a call that blocks. Errors: device_error, limit_error.
  template <class Work>
  void run(Work const& work) {
    try {
      work(thrust::cuda::par_nosync(allocator_).on(stream_));
    } catch (thrust::system_error const& reason) {
      cudaGetLastError();
      throw device_error{reason.code().value(), reason.what(), "Thrust", __FILE__};
    }
    cudaError_t state = cudaStreamQuery(stream_);
    for (; state == cudaErrorNotReady; state = cudaStreamQuery(stream_)) pause();
    check(state, "cudaStreamQuery");
  }

 private:
  static void pause() { std::this_thread::sleep_for(std::chrono::microseconds{20}); }

  void* take(std::size_t bytes) {
    taken_.reserve(taken_.size() + 1);  // so that nothing is lost if it fails
    taken_.push_back(executor_.allocate(bytes));
    return taken_.back();
  }

  executor& executor_;
  cudaStream_t stream_;
  allocator allocator_;
  std::vector<void*> taken_;
};

/// `values` (edges,) in the order of their edges' targets, edges of the same target in the order that they had.
/// `keys` (edges,) receives the targets, in that order.
void sort_by_target(executor& executor, csr_ref graph, std::uint32_t* keys, std::uint32_t* values,
                    stream_handle stream) {
  device_pass pass{executor, stream};
  check(cudaMemcpyAsync(keys, graph.targets, graph.edges * sizeof *keys, cudaMemcpyDeviceToDevice, pass.stream()),
        "cudaMemcpyAsync");
  pass.run([&](auto const& policy) { thrust::stable_sort_by_key(policy, keys, keys + graph.edges, values); });
}

using number = thrust::counting_iterator<std::uint64_t>;

struct row_length {
  std::uint64_t const* offsets;
  std::uint64_t* degrees;

  __device__ void operator()(std::uint64_t vertex) const { degrees[vertex] = offsets[vertex + 1] - offsets[vertex]; }
};

struct count_target {
  std::uint64_t* degrees;

  __device__ void operator()(std::uint32_t target) const {
    atomic_integer{degrees[target]}.fetch_add(1);  // the sums are read when the kernel has ended
  }
};

}  // namespace

machine_csr transpose_on_device(executor& executor, machine_csr const& graph, stream_handle stream) {
  csr_ref const in = graph.ref();
  machine_csr out;
  out.offsets = {executor, std::uint64_t{in.vertices} + 1};
  out.targets = {executor, in.edges};
  if (in.edges == 0) return out;  // zeroed is right
  device_array<std::uint32_t> const keys{executor, in.edges};
  {
    device_pass pass{executor, stream};
    // an edge's source is the first row that ends after it
    pass.run([&](auto const& policy) {
      thrust::upper_bound(policy, in.offsets + 1, in.offsets + 1 + in.vertices, number{0}, number{in.edges},
                          out.targets.data());
    });
  }
  sort_by_target(executor, in, keys.data(), out.targets.data(), stream);
  {
    device_pass pass{executor, stream};
    pass.run([&](auto const& policy) {
      thrust::lower_bound(policy, keys.data(), keys.data() + in.edges, number{0},
                          number{std::uint64_t{in.vertices} + 1}, out.offsets.data());
    });
  }
  if (in.weights != nullptr) {
    out.weights = {executor, in.edges};
    // Sorted once more by the same keys, which moves them as it moved the sources. As bits: one kernel serves both.
    auto* const bits = reinterpret_cast<std::uint32_t*>(out.weights.data());
    device_pass pass{executor, stream};
    check(cudaMemcpyAsync(bits, in.weights, out.weights.bytes(), cudaMemcpyDeviceToDevice, pass.stream()),
          "cudaMemcpyAsync");
    sort_by_target(executor, in, keys.data(), bits, stream);
  }
  return out;
}

device_array<std::uint64_t> out_degrees_on_device(executor& executor, machine_csr const& graph, stream_handle stream) {
  csr_ref const in = graph.ref();
  device_array<std::uint64_t> degrees{executor, in.vertices};
  device_pass pass{executor, stream};
  pass.run([&](auto const& policy) {
    thrust::for_each(policy, number{0}, number{in.vertices}, row_length{in.offsets, degrees.data()});
  });
  return degrees;
}

device_array<std::uint64_t> in_degrees_on_device(executor& executor, machine_csr const& graph, stream_handle stream) {
  csr_ref const in = graph.ref();
  device_array<std::uint64_t> degrees{executor, in.vertices};
  device_pass pass{executor, stream};
  pass.run([&](auto const& policy) {
    thrust::for_each(policy, in.targets, in.targets + in.edges, count_target{degrees.data()});
  });
  return degrees;
}

}  // namespace lull::detail
