// SPDX-License-Identifier: Apache-2.0
#include <lull/host/measure/cuda/blas.hpp>

#include <lull/host/error.hpp>
#include <lull/host/measure/cuda/kernels.hpp>

namespace lull::trainer {
namespace {

constexpr std::size_t workspace_bytes = std::size_t{32} << 20;

}  // namespace

blas::blas(cudaStream_t stream) : workspace_(workspace_bytes), handle_(nullptr, destroy{cublas_.destroy}) {
  cublasHandle_t handle = nullptr;
  check(cublas_.create(&handle), "cublasCreate");
  handle_.reset(handle);
  check(cublas_.set_stream(handle, stream), "cublasSetStream");
  // After the stream, which resets it.
  check(cublas_.set_workspace(handle, workspace_.get(), workspace_bytes), "cublasSetWorkspace");
}

void blas::check(cublasStatus_t status, char const* call) const {
  if (status != CUBLAS_STATUS_SUCCESS)
    throw device_error{static_cast<int>(status), cublas_.status_name(status), call, "cuBLAS"};
}

void blas::multiply(blas_product const& what, void const* a, void const* b, void* c) const {
  check(cublas_.gemm_ex(handle_.get(), what.left, what.right, what.rows, what.columns, what.depth, &what.scale, a,
                        what.type, what.stride, b, what.type, what.stride, &what.keep, c, what.type, what.stride,
                        CUBLAS_COMPUTE_32F, CUBLAS_GEMM_DEFAULT),
        "cublasGemmEx");
}

void square_products::use_size(int size) {
  size_ = size;
  std::uint64_t const count = static_cast<std::uint64_t>(size) * static_cast<std::uint64_t>(size);
  for (std::uint64_t m = 0; m < matrices_.size(); ++m) {
    matrices_[m] = device_buffer{count * 2};
    fill_random_bf16(stream_, matrices_[m].get(), count, m * count);
  }
}

void square_products::enqueue() const {
  blas_.multiply({.rows = size_, .columns = size_, .depth = size_, .stride = size_}, matrices_[0].get(),
                 matrices_[1].get(), matrices_[2].get());
}

}  // namespace lull::trainer
