// SPDX-License-Identifier: Apache-2.0
#include <lull/host/measure/cuda/cublas_library.hpp>

#include <dlfcn.h>

#include <cstdlib>
#include <vector>

#include <lull/host/error.hpp>

namespace lull::trainer {
namespace {

void* opened(std::span<std::string const> names) {
  std::string why;
  for (std::string const& name : names) {
    if (void* const library = ::dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL); library != nullptr) return library;
    why += std::string{"\n  "} + ::dlerror();
  }
  throw usage_error{"cuBLAS " + std::to_string(CUBLAS_VER_MAJOR) +
                    ", which a replay on a GPU needs, cannot be opened; install it, name the toolkit in CUDA_HOME, or "
                    "give --executor threads:" +
                    why};
}

template <class Function>
void find(void* library, char const* name, Function& into) {
  into = reinterpret_cast<Function>(::dlsym(library, name));
  if (into == nullptr) throw usage_error{std::string{"this cuBLAS has no "} + name + ": install another version"};
}

}  // namespace

std::span<std::string const> cublas_names() {
  static std::vector<std::string> const names = [] {
    std::string const name = "libcublas.so." + std::to_string(CUBLAS_VER_MAJOR);
    std::vector<std::string> found{name};
    if (char const* const home = std::getenv("CUDA_HOME"); home != nullptr) {
      found.push_back(std::string{home} + "/lib64/" + name);
    }
    found.push_back("/usr/local/cuda/lib64/" + name);
    found.push_back(LULL_CUDA_LIBRARY_DIR "/" + name);
    return found;
  }();
  return names;
}

cublas_library::cublas_library(std::span<std::string const> names) {
  void* const library = opened(names);
  find(library, "cublasCreate_v2", create);
  find(library, "cublasDestroy_v2", destroy);
  find(library, "cublasSetStream_v2", set_stream);
  find(library, "cublasSetWorkspace_v2", set_workspace);
  find(library, "cublasGemmEx", gemm_ex);
  find(library, "cublasGetStatusName", status_name);
}

}  // namespace lull::trainer
