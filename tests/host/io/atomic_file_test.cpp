// SPDX-License-Identifier: Apache-2.0
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include <lull/host/error.hpp>
#include <lull/host/io/atomic_file.hpp>
#include <lull/tests/support/test_folder.hpp>

namespace lull {
namespace {

namespace fs = std::filesystem;

class atomic_files : public testing::Test {
 protected:
  static std::string content(fs::path const& path) {
    std::ifstream in(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
  }
  std::size_t files() const { return static_cast<std::size_t>(std::distance(fs::directory_iterator(folder_), {})); }

  test::test_folder files_;
  fs::path const folder_ = files_.path();
};

// Limits the size of every file of this process while it lives: a full disk that a test can make.
class file_size_limit {
 public:
  explicit file_size_limit(rlim_t bytes) : handler_(std::signal(SIGXFSZ, SIG_IGN)) {
    ::getrlimit(RLIMIT_FSIZE, &old_);
    rlimit const limit{bytes, old_.rlim_max};
    ::setrlimit(RLIMIT_FSIZE, &limit);
  }
  ~file_size_limit() {
    ::setrlimit(RLIMIT_FSIZE, &old_);
    std::signal(SIGXFSZ, handler_);
  }

 private:
  void (*handler_)(int);
  rlimit old_{};
};

TEST_F(atomic_files, nothing_is_there_before_commit) {
  fs::path const path = folder_ / "out.txt";
  atomic_file file(path);
  file.write("one ");
  file.write("two");
  EXPECT_FALSE(fs::exists(path));
  file.commit();
  EXPECT_EQ(content(path), "one two");
  EXPECT_EQ(files(), 1u);
}

TEST_F(atomic_files, without_commit_the_old_file_stays) {
  fs::path const path = folder_ / "out.txt";
  write_file(path, "old");
  {
    atomic_file file(path);
    file.write(std::string(300'000, 'x'));  // more than any buffer
    EXPECT_EQ(content(path), "old");
    EXPECT_EQ(files(), 2u);
  }
  EXPECT_EQ(content(path), "old");
  EXPECT_EQ(files(), 1u);
}

TEST_F(atomic_files, large_and_small_writes_keep_their_order) {
  fs::path const path = folder_ / "out.txt";
  std::string expected;
  atomic_file file(path);
  for (std::size_t length : {1u, 70'000u, 3u, 65'536u, 65'535u, 1u, 1u, 200'000u, 2u}) {
    std::string const text(length, static_cast<char>('a' + length % 26));
    file.write(text);
    expected += text;
  }
  file.commit();
  EXPECT_EQ(content(path), expected);
}

TEST_F(atomic_files, a_full_disk_is_an_error_and_the_old_file_stays) {
  fs::path const path = folder_ / "out.txt";
  write_file(path, "old");
  for (std::size_t const length : {5'000u, 500'000u}) {  // seen at commit, seen at write
    file_size_limit const full(4096);
    try {
      write_file(path, std::string(length, 'x'));
      FAIL() << "no error";
    } catch (device_error const& wrong) {
      EXPECT_EQ(wrong.code(), EFBIG);
      EXPECT_NE(std::string{wrong.what()}.find(path.string() + ": writing it failed: "), std::string::npos);
      EXPECT_NE(std::string{wrong.what()}.find("the old file, if any, is unchanged"), std::string::npos);
    }
  }
  EXPECT_EQ(content(path), "old");
  EXPECT_EQ(files(), 1u);
}

TEST_F(atomic_files, places_that_cannot_be_written_are_known_at_once) {
  EXPECT_THROW(atomic_file{folder_}, usage_error);
  EXPECT_THROW(atomic_file{""}, usage_error);
  EXPECT_THROW(atomic_file{folder_ / "missing" / "out.txt"}, usage_error);
  EXPECT_THROW(atomic_file{folder_ / std::string(300, 'x')}, device_error);
  write_file(folder_ / "file", "text");
  EXPECT_THROW(atomic_file{folder_ / "file" / "out.txt"}, usage_error);
  fs::create_symlink(folder_ / "nowhere", folder_ / "dangling");
  EXPECT_THROW(atomic_file{folder_ / "dangling"}, usage_error);
  EXPECT_EQ(files(), 2u);
}

TEST_F(atomic_files, its_first_bytes_may_be_written_over) {
  fs::path const path = folder_ / "out";
  for (std::size_t const length : {0u, 10u, 200'000u}) {
    atomic_file file(path);
    file.write("....");
    file.write(std::string(length, 'x'));
    file.overwrite_begin("head");
    file.commit();
    EXPECT_EQ(content(path), "head" + std::string(length, 'x'));
    EXPECT_THROW(file.overwrite_begin("head"), usage_error);
  }
}

TEST_F(atomic_files, writing_after_commit_is_an_error) {
  atomic_file file(folder_ / "out.txt");
  file.commit();
  EXPECT_THROW(file.write("more"), usage_error);
  EXPECT_THROW(file.commit(), usage_error);
}

TEST_F(atomic_files, a_link_is_followed_and_permissions_are_kept) {
  fs::path const path = folder_ / "out.txt";
  write_file(path, "old");
  ::chmod(path.c_str(), 0640);
  fs::create_symlink("out.txt", folder_ / "link");
  write_file(folder_ / "link", "new");
  EXPECT_TRUE(fs::is_symlink(folder_ / "link"));
  EXPECT_EQ(content(path), "new");
  struct stat status {};
  ASSERT_EQ(::stat(path.c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 07777u, 0640u);
}

TEST_F(atomic_files, what_a_killed_process_left_is_removed_and_nothing_else) {
  fs::path const path = folder_ / "out.txt";
  write_file(path, "old");
  std::size_t kept = 1;
  for (std::string const name : {".out.txt.tmp", ".out.txt.1.tmp", ".out.txt.1.2.3.tmp", ".out.txt.x.1.tmp",
                                 ".out.txt.1.2.tmpx", ".other.txt.1.2.tmp", "out.txt.1.2.tmp"}) {
    write_file(folder_ / name, "another's");
    ++kept;
  }
  pid_t const child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    atomic_file file(path);
    file.write(std::string(300'000, 'x'));
    ::_exit(0);  // no destructor
  }
  ASSERT_EQ(::waitpid(child, nullptr, 0), child);
  atomic_file open(path);
  ASSERT_EQ(files(), kept + 2);
  remove_leftovers(path);
  EXPECT_EQ(files(), kept + 1);
  open.write("new");
  open.commit();
  EXPECT_EQ(content(path), "new");
  EXPECT_EQ(files(), kept);
  remove_leftovers(folder_ / "missing" / "out.txt");
}

// A pipe and a descriptor of our own, never /dev/null: a mistake in the code under test, run as root, would replace it.
TEST_F(atomic_files, a_pipe_is_written_through) {
  fs::path const path = folder_ / "pipe";
  ASSERT_EQ(::mkfifo(path.c_str(), 0600), 0);
  int const reader = ::open(path.c_str(), O_RDWR | O_NONBLOCK | O_CLOEXEC);  // both ends: neither side waits
  ASSERT_GE(reader, 0);
  write_file(path, "text");
  char got[8] = {};
  EXPECT_EQ(::read(reader, got, sizeof got), 4);
  EXPECT_STREQ(got, "text");
  atomic_file file(path);
  EXPECT_TRUE(file.written_directly());
  EXPECT_THROW(file.overwrite_begin("more"), usage_error);
  ::close(reader);
  EXPECT_TRUE(fs::is_fifo(path));
  EXPECT_EQ(files(), 1u);
}

TEST_F(atomic_files, an_open_descriptor_is_written_through) {
  fs::path const path = folder_ / "out.txt";
  int const descriptor = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  ASSERT_GE(descriptor, 0);
  write_file("/proc/self/fd/" + std::to_string(descriptor), "text");  // what /dev/stdout leads to
  char got[8] = {};
  EXPECT_EQ(::pread(descriptor, got, sizeof got, 0), 4);
  ::close(descriptor);
}

// The one folder under /dev that holds files: checkpoints may be saved there.
TEST_F(atomic_files, a_file_in_shared_memory_is_replaced) {
  if (!fs::is_directory("/dev/shm")) GTEST_SKIP() << "NOT RUN: there is no /dev/shm";
  fs::path const path = "/dev/shm/lull_atomic_file_test." + std::to_string(::getpid());
  write_file(path, "a long text");
  write_file(path, "text");
  EXPECT_EQ(content(path), "text");
  atomic_file{path}.write("more");
  EXPECT_EQ(content(path), "text");
  fs::remove(path);
}

TEST_F(atomic_files, a_name_in_the_current_folder) {
  fs::path const before = fs::current_path();
  fs::current_path(folder_);
  write_file("out.txt", "text");
  fs::current_path(before);
  EXPECT_EQ(content(folder_ / "out.txt"), "text");
}

TEST_F(atomic_files, reading_has_a_limit) {
  fs::path const path = folder_ / "in.txt";
  write_file(path, std::string(100'000, 'x'));
  EXPECT_EQ(read_file(path, 100'000).size(), 100'000u);
  EXPECT_THROW(read_file(path, 99'999), input_error);
  EXPECT_THROW(read_file(folder_, 10), input_error);
  EXPECT_THROW(read_file(folder_ / "missing", 10), input_error);
}

}  // namespace
}  // namespace lull
