// SPDX-License-Identifier: Apache-2.0
#include <filesystem>
#include <string>
#include <vector>

#include <sys/stat.h>
#include <unistd.h>

#include <gtest/gtest.h>

#include <lull/apps/lull/queue/allowed_folders.hpp>
#include <lull/host/error.hpp>
#include <lull/tests/support/message_of.hpp>
#include <lull/tests/support/test_folder.hpp>

namespace lull {
namespace {

namespace fs = std::filesystem;

class allowed : public testing::Test {
 protected:
  allowed() {
    for (char const* each : {"code", "code/package", "elsewhere"}) {
      fs::create_directory(folder_.at(each));
      ::chmod(folder_.at(each).c_str(), 0755);
    }
    for (char const* each : {"code/one.py", "code/package/__init__.py", "code/package/two.py", "elsewhere/three.py"}) {
      folder_.write(each, "");
      ::chmod(folder_.at(each).c_str(), 0644);
    }
  }
  bool has_file(std::string const& name) const { return code_.find_file(folder_.at(name)).has_value(); }
  std::string module_file(std::string const& name) const {
    auto const found = code_.find_module(name);
    return found ? fs::relative(found->file, fs::canonical(folder_.path())).string() : "";
  }

  test::test_folder folder_;
  allowed_folders const code_{[this] {
    fs::create_directory(folder_.at("code"));
    ::chmod(folder_.at("code").c_str(), 0755);
    return std::vector{folder_.at("code")};
  }()};
};

TEST_F(allowed, folders_hold_files_and_modules) {
  EXPECT_TRUE(has_file("code/one.py"));
  EXPECT_TRUE(has_file("code/package/two.py"));
  EXPECT_TRUE(has_file("elsewhere/../code/one.py"));
  EXPECT_EQ(module_file("one"), "code/one.py");
  EXPECT_EQ(module_file("package"), "code/package/__init__.py");
  EXPECT_EQ(module_file("package.two"), "code/package/two.py");
}

TEST_F(allowed, folders_hold_nothing_that_is_elsewhere) {
  fs::create_symlink(folder_.at("elsewhere/three.py"), folder_.at("code/link.py"));
  fs::create_directory_symlink(folder_.at("elsewhere"), folder_.at("code/folder"));
  folder_.write("code.py", "");
  for (char const* each : {"elsewhere/three.py", "code/../elsewhere/three.py", "code/link.py", "code/folder/three.py",
                           "code.py", "code/none.py", "code/package"})
    EXPECT_FALSE(has_file(each)) << each;
  for (char const* each :
       {"link", "folder.three", "..elsewhere.three", "package..two", ".one", "", "../elsewhere/three", "one.py"})
    EXPECT_EQ(module_file(each), "") << each;
}

TEST_F(allowed, folders_through_a_link_are_what_it_leads_to) {
  fs::create_directory_symlink(folder_.at("code"), folder_.at("name"));
  allowed_folders const named{{folder_.at("name")}};
  EXPECT_TRUE(named.find_file(folder_.at("name/one.py")));
  EXPECT_TRUE(named.find_file(folder_.at("code/one.py")));
}

TEST_F(allowed, code_that_another_user_can_change_is_refused) {
  fs::path const file = fs::canonical(folder_.at("code/package/two.py"));
  auto const why = [&] { return message_of<usage_error>([&] { refuse_if_others_can_change(file); }); };
  EXPECT_EQ(why(), "");
  for (char const* each : {"code", "code/package", "code/package/two.py"}) {
    for (mode_t const mode : {mode_t{0775}, mode_t{0757}}) {
      ::chmod(folder_.at(each).c_str(), mode);
      EXPECT_NE(why().find(std::string{each} + " could be changed by another user"), std::string::npos) << why();
    }
    ::chmod(folder_.at(each).c_str(), 0755);
  }
  ::chmod(folder_.at("code").c_str(), 01777);  // as /tmp: another user cannot rename what is there
  EXPECT_EQ(why(), "");
  ::chmod(folder_.at("code").c_str(), 0755);
  if (::geteuid() != 0) return;
  ASSERT_EQ(::chown(folder_.at("code/package").c_str(), 65534, 65534), 0);
  EXPECT_NE(why().find("package could be changed"), std::string::npos);
}

TEST_F(allowed, folders_that_are_none_or_that_others_can_change_are_refused) {
  for (char const* each : {"none", "code/one.py"})
    EXPECT_NE(message_of<usage_error>([&] { allowed_folders{{folder_.at(each)}}; }).find("is no folder"),
              std::string::npos);
  ::chmod(folder_.at("elsewhere").c_str(), 0777);
  EXPECT_NE(message_of<usage_error>([&] { allowed_folders{{folder_.at("elsewhere")}}; }).find("could be changed"),
            std::string::npos);
}

}  // namespace
}  // namespace lull
