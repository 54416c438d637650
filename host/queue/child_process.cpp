// SPDX-License-Identifier: Apache-2.0
#include <lull/host/queue/child_process.hpp>

#include <cerrno>
#include <csignal>
#include <cstring>

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <lull/host/error.hpp>
#include <lull/host/io/process_descriptor.hpp>

namespace lull::queue {

namespace {

[[noreturn]] void fail(char const* call) {
  int const code = errno;
  throw device_error{code, std::strerror(code), call, "starting a job's program"};
}

/// In the child: only calls that are safe after a fork of a program with several threads.
[[noreturn]] void become(char* const* arguments, char const* folder, pid_t parent, int log, int nothing, int tell) {
  ::setpgid(0, 0);
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  bool const orphan = ::getppid() != parent;  // it died before that call
  sigset_t none;
  ::sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
  for (int const each : {SIGINT, SIGTERM, SIGHUP, SIGPIPE, SIGXFSZ, SIGCHLD}) ::signal(each, SIG_DFL);
  bool const is_there = *folder == '\0' || ::chdir(folder) == 0;
  if (!orphan && is_there && ::dup2(nothing, STDIN_FILENO) >= 0 && ::dup2(log, STDOUT_FILENO) >= 0 &&
      ::dup2(log, STDERR_FILENO) >= 0)
    ::execvp(arguments[0], arguments);
  int const code = errno;
  if (::write(tell, &code, sizeof code) < 0) ::_exit(126);
  ::_exit(127);
}

}  // namespace

child_process::child_process(std::vector<std::string> const& arguments, std::filesystem::path const& log,
                             std::string const& folder) {
  auto const opened = [](char const* path, int how) {
    return process_descriptor::opened_by([&] { return ::open(path, how | O_CLOEXEC, S_IRUSR | S_IWUSR); });
  };
  auto const to = opened(log.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_NOFOLLOW);
  if (!to) fail("open");
  auto const nothing = opened("/dev/null", O_RDONLY);
  if (!nothing) fail("open");
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) fail("pipe2");
  std::vector<char*> texts;
  for (std::string const& each : arguments) texts.push_back(const_cast<char*>(each.c_str()));
  texts.push_back(nullptr);
  // Descriptors that belong to one process alone are closed in a forked child, so these are copied before.
  int const kept[] = {::fcntl(to.get(), F_DUPFD_CLOEXEC, 3), ::fcntl(nothing.get(), F_DUPFD_CLOEXEC, 3)};
  pid_t const parent = ::getpid();
  process_ = ::fork();
  if (process_ == 0) become(texts.data(), folder.c_str(), parent, kept[0], kept[1], ends[1]);
  for (int const each : {kept[0], kept[1], ends[1]}) ::close(each);
  int code = 0;
  ssize_t got = process_ < 0 ? -1 : 0;
  while (process_ > 0 && (got = ::read(ends[0], &code, sizeof code)) < 0 && errno == EINTR) {
  }
  ::close(ends[0]);
  if (process_ < 0) fail("fork");
  if (got == 0) return;
  ::waitpid(process_, nullptr, 0);
  bool const is_asked_wrongly = code == ENOENT || code == EACCES || code == ENOEXEC || code == ENOTDIR ||
                                code == E2BIG || code == ELOOP || code == ENAMETOOLONG;
  if (!is_asked_wrongly) throw device_error{code, std::strerror(code), "execvp", "starting a job's program"};
  throw usage_error{"the program " + arguments.front() + " cannot be started" +
                    (folder.empty() ? "" : " in " + folder) + ": " + std::strerror(code)};
}

child_process::~child_process() {
  if (end()) return;
  signal(SIGKILL);
  while (::waitpid(process_, nullptr, 0) < 0 && errno == EINTR) {
  }
}

std::optional<program_end> child_process::end() {
  siginfo_t about{};
  if (end_ || ::waitid(P_PID, static_cast<id_t>(process_), &about, WEXITED | WNOHANG | WNOWAIT) != 0 ||
      about.si_pid != process_)
    return end_;
  signal(SIGKILL);  // what it has started and left; while it is not reaped, no other group has its number
  int status = 0;
  while (::waitpid(process_, &status, 0) < 0 && errno == EINTR) {
  }
  end_ = WIFSIGNALED(status) ? program_end{.signal = WTERMSIG(status)} : program_end{.code = WEXITSTATUS(status)};
  return end_;
}

void child_process::signal(int which) noexcept {
  if (!end_) ::kill(-process_, which);
}

}  // namespace lull::queue
