// SPDX-License-Identifier: Apache-2.0
#include <lull/tests/support/traced_child.hpp>

#include <sys/ptrace.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <stdexcept>
#include <system_error>
#include <utility>

namespace lull::test {

namespace {

constexpr int call_stop = SIGTRAP | 0x80;  // PTRACE_O_TRACESYSGOOD
constexpr std::size_t max_text_bytes = 4'096;
constexpr int exit_by_exception = 3;

[[noreturn]] void fail(std::string const& what) {
  throw std::runtime_error{what + ": " + std::generic_category().message(errno)};
}

#if defined(__x86_64__)
constexpr bool knows_registers = true;

class registers {
 public:
  explicit registers(pid_t child) : child_(child) {
    if (::ptrace(PTRACE_GETREGS, child_, nullptr, &all_) != 0) fail("reading a child's registers");
  }
  /// A call that is about to be made has this for its result.
  bool is_before_call() const { return result() == -ENOSYS; }
  long number() const { return static_cast<long>(all_.orig_rax); }
  std::int64_t result() const { return static_cast<std::int64_t>(all_.rax); }
  std::array<std::uint64_t, 6> arguments() const { return {all_.rdi, all_.rsi, all_.rdx, all_.r10, all_.r8, all_.r9}; }

  void forget_call() { all_.orig_rax = ~0ULL; }
  void return_from_call(std::int64_t result) { all_.rax = static_cast<unsigned long long>(result); }
  void set_third_argument(std::size_t value) { all_.rdx = value; }
  void write() const {
    if (::ptrace(PTRACE_SETREGS, child_, nullptr, &all_) != 0) fail("writing a child's registers");
  }

 private:
  pid_t child_;
  user_regs_struct all_{};
};
#else
constexpr bool knows_registers = false;

class registers {
 public:
  explicit registers(pid_t) {}
  bool is_before_call() const { return true; }
  long number() const { return -1; }
  std::int64_t result() const { return 0; }
  std::array<std::uint64_t, 6> arguments() const { return {}; }
  void forget_call() {}
  void return_from_call(std::int64_t) {}
  void set_third_argument(std::size_t) {}
  void write() const {}
};
#endif

}  // namespace

bool traced_child::is_possible() {
  if (!knows_registers) return false;
  try {
    traced_child tried{[] {}, [] { ::getppid(); }};
    return tried.next() && tried.make();
  } catch (std::runtime_error const&) {
    return false;
  }
}

traced_child::traced_child(std::function<void()> const& before, std::function<void()> const& watched) {
  child_ = ::fork();
  if (child_ < 0) fail("fork");
  if (child_ == 0) {
    try {
      before();
      if (::ptrace(PTRACE_TRACEME, 0, nullptr, nullptr) != 0) ::_exit(exit_by_exception + 1);
      ::raise(SIGSTOP);
      watched();
    } catch (...) {
      ::_exit(exit_by_exception);
    }
    ::_exit(0);
  }
  while (::waitpid(child_, &status_, 0) < 0 && errno == EINTR) {
  }
  has_ended_ = !WIFSTOPPED(status_);
  if (has_ended_) throw std::runtime_error{"a child that was to be traced has ended before"};
  constexpr long options = PTRACE_O_TRACESYSGOOD | PTRACE_O_EXITKILL;
  if (::ptrace(PTRACE_SETOPTIONS, child_, nullptr, options) != 0) {
    kill();
    fail("tracing a child");
  }
}

traced_child::~traced_child() { kill(); }

void traced_child::kill() {
  if (std::exchange(has_ended_, true)) return;
  ::kill(child_, SIGKILL);
  while (::waitpid(child_, &status_, 0) < 0 && errno == EINTR) {
  }
}

/// Signals in between are the child's.
bool traced_child::to_stop() {
  long signal = 0;
  for (;;) {
    if (::ptrace(PTRACE_SYSCALL, child_, nullptr, signal) != 0) fail("going on with a traced child");
    while (::waitpid(child_, &status_, 0) < 0)
      if (errno != EINTR) fail("waiting for a traced child");
    has_ended_ = !WIFSTOPPED(status_);
    if (has_ended_ || WSTOPSIG(status_) == call_stop) return !has_ended_;
    signal = WSTOPSIG(status_);
  }
}

bool traced_child::next() {
  for (;;) {
    if (!to_stop()) return false;
    registers const now{child_};
    if (!now.is_before_call()) continue;
    call_ = {.number = now.number(), .arguments = now.arguments()};
    return true;
  }
}

bool traced_child::make() {
  if (!to_stop()) return false;
  call_.result = registers{child_}.result();
  return true;
}

bool traced_child::refuse(int error) {
  registers before{child_};
  before.forget_call();
  before.write();
  if (!to_stop()) return false;
  registers after{child_};
  after.return_from_call(-error);
  after.write();
  call_.result = -error;
  return true;
}

void traced_child::shorten(std::size_t bytes) {
  call_.arguments[2] = std::min<std::uint64_t>(call_.arguments[2], bytes);
  registers now{child_};
  now.set_third_argument(call_.arguments[2]);
  now.write();
}

std::string traced_child::bytes(std::uint64_t address, std::size_t size) const {
  std::string found(size, '\0');
  iovec const to{found.data(), size};
  iovec const from{reinterpret_cast<void*>(address), size};
  ssize_t const got = ::process_vm_readv(child_, &to, 1, &from, 1, 0);
  if (got < 0) fail("reading a child's memory");
  found.resize(static_cast<std::size_t>(got));
  return found;
}

/// Reads up to the end of a page, beyond which there may be nothing.
std::string traced_child::text(std::uint64_t address) const {
  std::string all;
  while (all.size() < max_text_bytes) {
    std::size_t const left_in_page = max_text_bytes - (address + all.size()) % max_text_bytes;
    std::string const more = bytes(address + all.size(), left_in_page);
    std::size_t const end = more.find('\0');
    all += more.substr(0, end);
    if (end != more.npos || more.empty()) break;
  }
  return all;
}

std::filesystem::path traced_child::path_of(std::uint64_t descriptor) const {
  std::error_code none;
  return std::filesystem::read_symlink(
      "/proc/" + std::to_string(child_) + "/fd/" + std::to_string(static_cast<int>(descriptor)), none);
}

}  // namespace lull::test
