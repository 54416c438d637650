// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <lull/host/error.hpp>
#include <lull/host/measure/cuda/cublas_library.hpp>
#include <lull/tests/support/test_folder.hpp>

namespace lull {
namespace {

std::string refusal(std::string const& name) {
  try {
    trainer::cublas_library const library{{&name, 1}};
  } catch (usage_error const& why) {
    return why.what();
  }
  return "it was opened";
}

TEST(cublas_library, one_that_cannot_be_opened_is_named_with_what_to_do) {
  std::string const said = refusal("/nowhere/libcublas.so");
  EXPECT_NE(said.find("/nowhere/libcublas.so: cannot open"), std::string::npos) << said;
  EXPECT_NE(said.find("CUDA_HOME"), std::string::npos) << said;
}

TEST(cublas_library, another_library_is_refused) {
  EXPECT_EQ(refusal("libc.so.6"), "this cuBLAS has no cublasCreate_v2: install another version");
}

TEST(cublas_library, the_toolkits_is_found) {  // without a GPU, too
  try {
    trainer::cublas_library const library;
    EXPECT_STREQ(library.status_name(CUBLAS_STATUS_NOT_SUPPORTED), "CUBLAS_STATUS_NOT_SUPPORTED");
  } catch (usage_error const& why) {
    GTEST_SKIP() << "NOT RUN: " << why.what();
  }
}

}  // namespace
}  // namespace lull
