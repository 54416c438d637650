// SPDX-License-Identifier: Apache-2.0
#include <string>

#include <gtest/gtest.h>

#include <lull/host/error.hpp>
#include <lull/host/queue/open_folder.hpp>
#include <lull/tests/support/test_folder.hpp>

namespace lull::queue {
namespace {

TEST(open_folder, reads_files_as_large_as_its_limit) {
  test::test_folder const folder;
  open_folder const here = open_folder::own(folder.path()).below("own");
  for (std::size_t const bytes : {std::size_t{0}, std::size_t{1}, std::size_t{1'000}}) {
    std::string const text(bytes, 'x');
    std::string const name = "of-" + std::to_string(bytes);
    here.write_new(name, text, open_folder::flushing::later);
    EXPECT_EQ(here.read(name, 1'000), text);
  }
  here.write_new("larger", std::string(1'001, 'x'), open_folder::flushing::later);
  EXPECT_THROW(here.read("larger", 1'000), input_error);
  EXPECT_FALSE(here.read("none", 1'000));
}

}  // namespace
}  // namespace lull::queue
