// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string>

#include <cublas_v2.h>

namespace lull::trainer {

/// The names that cuBLAS of this build's version may have, in the order in which they are tried: as the loader finds
/// it, in $CUDA_HOME, in /usr/local/cuda, and in the toolkit of the build.
std::span<std::string const> cublas_names();

/// The calls of cuBLAS that a replay makes, from a library that is opened at run time: only a replay on a GPU needs
/// it, so machines without it start the program, too. It stays open, because it registers itself with CUDA.
struct cublas_library {
  /// Throws usage_error where none of the names can be opened.
  explicit cublas_library(std::span<std::string const> names = cublas_names());

  decltype(&::cublasCreate_v2) create;
  decltype(&::cublasDestroy_v2) destroy;
  decltype(&::cublasSetStream_v2) set_stream;
  decltype(&::cublasSetWorkspace_v2) set_workspace;
  // as <cublas_api.h> declares cublasGemmEx, which has a second form in C++
  cublasStatus_t (*gemm_ex)(cublasHandle_t, cublasOperation_t, cublasOperation_t, int, int, int, void const*,
                            void const*, cudaDataType, int, void const*, cudaDataType, int, void const*, void*,
                            cudaDataType, int, cublasComputeType_t, cublasGemmAlgo_t);
  decltype(&::cublasGetStatusName) status_name;
};

}  // namespace lull::trainer
