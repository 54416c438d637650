// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <memory>

#include <lull/host/cuda/owned.hpp>
#include <lull/host/measure/cuda/cublas_library.hpp>

namespace lull::trainer {

/// c (rows, columns) = scale × a × b + keep × c, all stored by columns; a and b transposed as said.
struct blas_product {
  cublasOperation_t left = CUBLAS_OP_N;
  cublasOperation_t right = CUBLAS_OP_N;
  int rows;
  int columns;
  int depth;
  int stride;  // rows of each array
  float scale = 1;
  float keep = 0;
  cudaDataType_t type = CUDA_R_16BF;
};

/// cuBLAS on one stream, with a workspace of its own: otherwise its calls would allocate. Throws device_error;
/// usage_error where there is no cuBLAS.
class blas {
 public:
  explicit blas(cudaStream_t stream);

  /// Enqueues.
  void multiply(blas_product const& what, void const* a, void const* b, void* c) const;

 private:
  struct destroy {
    decltype(&::cublasDestroy_v2) call;
    void operator()(cublasHandle_t handle) const noexcept { call(handle); }
  };
  void check(cublasStatus_t status, char const* call) const;

  cublas_library cublas_;
  device_buffer workspace_;
  std::unique_ptr<std::remove_pointer_t<cublasHandle_t>, destroy> handle_;
};

/// Products of two random square bf16 matrices, on one stream.
class square_products {
 public:
  explicit square_products(cudaStream_t stream) : stream_(stream), blas_(stream) {}

  int size() const noexcept { return size_; }
  /// Makes matrices of that size. Blocks while memory is allocated.
  void use_size(int size);
  /// Enqueues one product.
  void enqueue() const;

 private:
  cudaStream_t stream_;
  blas blas_;
  int size_ = 0;
  std::array<device_buffer, 3> matrices_;
};

}  // namespace lull::trainer
