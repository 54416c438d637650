// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include <cuda_runtime_api.h>

#include <lull/host/error.hpp>

namespace lull {

/// A CUDA call that failed. The runtime's sticky error is cleared, so that the trainer's next check does not find it.
class cuda_error : public device_error {
 public:
  cuda_error(cudaError_t code, char const* call, char const* file, int line)
      : device_error(static_cast<int>(code), std::string{cudaGetErrorName(code)} + ": " + cudaGetErrorString(code),
                     call, std::string{file} + ":" + std::to_string(line)) {}
};

namespace detail {

inline void check_cuda(cudaError_t code, char const* call, char const* file, int line) {
  if (code == cudaSuccess) return;
  cudaGetLastError();
  throw cuda_error{code, call, file, line};
}

}  // namespace detail
}  // namespace lull

/// Throws cuda_error with the call's text and place.
#define LULL_CUDA(call) ::lull::detail::check_cuda((call), #call, __FILE__, __LINE__)

namespace lull {

/// Returns whether what a query asked about is done. Clears "not ready", which is no error, so that a trainer that asks
/// for its last error does not find it. Throws cuda_error for every other code, with the caller's place.
inline bool is_done(cudaError_t queried, char const* file = __builtin_FILE(), int line = __builtin_LINE()) {
  if (queried == cudaErrorNotReady) {
    if (cudaPeekAtLastError() == cudaErrorNotReady) cudaGetLastError();
    return false;
  }
  detail::check_cuda(queried, "a query", file, line);
  return true;
}

}  // namespace lull
