// SPDX-License-Identifier: Apache-2.0
// Who may not attach, where nothing may be shared, and what a worker cannot do.
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include <cstring>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <lull/host/attach/attachment.hpp>
#include <lull/host/attach/observer.hpp>
#include <lull/host/attach/share_server.hpp>
#include <lull/host/error.hpp>
#include <lull/tests/host/attach/attached_process.hpp>
#include <lull/tests/support/message_of.hpp>

namespace lull {
namespace {

using namespace std::chrono_literals;
using attach::attachment;
using test::attached_job;
using test::attached_options;
using test::process_of;
using test::sharing_trainer;

constexpr uid_t nobody = 65'534;

class attached_refused : public test::attached {
 protected:
  std::string why_not_shared(std::string const& where) {
    return message_of<usage_error>([&] { sharing_trainer const refused{where}; });
  }
  std::string why_not_attached() {
    return message_of<error>([&] {
      if (attachment::to(socket(), {.name = "test"}) == nullptr) throw usage_error{"nobody answered"};
    });
  }
  static attach::connection connected(std::string const& path) {
    auto found = attach::connect_to(path);
    if (!found) throw std::runtime_error{"no connection"};
    return std::move(*found);
  }
};

TEST_F(attached_refused, another_version_is_named_by_both_sides) {
  sharing_trainer trainer{address()};
  attach::connection other = connected(socket());
  attach::introduction said;
  said.from.number = attach::protocol + 1;
  said.from.version = attach::short_text<52>{"9.8.7"};
  ASSERT_TRUE(other.send(said));
  attach::answer reply;
  await_that([&] { return other.receive(reply) == attach::connection::outcome::received; });
  EXPECT_EQ(reply.what, attach::answer::other_version);
  EXPECT_TRUE(has_said(trainer, "refused a worker of Lull 9.8.7"));
}

TEST_F(attached_refused, a_trainer_of_another_version_is_named) {
  attach::listening_socket trainer{socket()};
  std::thread answers{[&] {
    std::optional<attach::connection> worker;
    std::optional<uid_t> refused;
    await_that([&] { return (worker = trainer.accept(refused)).has_value(); });
    attach::introduction said;
    await_that([&] { return worker->receive(said) == attach::connection::outcome::received; });
    attach::answer reply;
    reply.from.number = attach::protocol + 1;
    reply.from.version = attach::short_text<52>{"9.8.7"};
    worker->send(reply);
  }};
  std::string const why = why_not_attached();
  answers.join();
  EXPECT_NE(why.find("9.8.7"), std::string::npos) << why;
  EXPECT_NE(why.find("use the same version"), std::string::npos) << why;
}

TEST_F(attached_refused, a_worker_on_another_kind_of_machine) {
  sharing_trainer trainer{address()};
  std::string const why = message_of<usage_error>(
      [&] { attachment::to(socket(), {.name = "test", .kind = executor_kind::cuda, .device = "0000:01:00.0"}); });
  EXPECT_NE(why.find("harvests CPU threads, and this worker was made for CUDA device 0000:01:00.0"), std::string::npos)
      << why;
}

TEST_F(attached_refused, more_workers_than_fit) {
  sharing_trainer trainer{address()};
  std::vector<std::unique_ptr<attachment>> all;
  for (std::size_t i = 0; i < attach::share_server::max_workers; ++i)
    all.push_back(attachment::to(socket(), {.name = "test"}));
  EXPECT_NE(why_not_attached().find("has 16 workers already"), std::string::npos);
  all.pop_back();
  EXPECT_TRUE(within_time([&] { return why_not_attached().empty(); }));
}

TEST_F(attached_refused, where_no_trainer_shares) {
  EXPECT_EQ(attachment::to(socket(), {.name = "test"}), nullptr);
  folder_.write("socket", "a file");
  EXPECT_EQ(attachment::to(socket(), {.name = "test"}), nullptr);
}

TEST_F(attached_refused, another_user) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root may become another user";
  test::value_pipe trains;
  pid_t const off = process_of([&] {  // forked while there is one thread: it makes some
    trains.read<bool>();
    if (::setuid(nobody) != 0 || ::setenv("LULL", "off", 1) != 0) return 10;
    return runtime{attached_options(address())}.mode() == runtime_mode::off ? 0 : 1;
  });
  sharing_trainer trainer{address()};
  auto const as_nobody = [&] {
    return process_of([&] {
      if (::setuid(nobody) != 0) return 10;
      std::string const why = message_of<error>([&] { attachment::to(socket(), {.name = "test"}); });
      return why.find("may attach") != std::string::npos ? 0 : 1;
    });
  };
  EXPECT_EQ(test::status_of(as_nobody()), 0) << "the folder and the socket are this user's alone";
  EXPECT_EQ(test::status_of(process_of([&] {
              if (::setuid(nobody) != 0) return 10;
              runtime_options options = attached_options(address());
              options.executor.device = -1;  // an error, if the executor came first
              options.executor.kind = executor_kind::cuda;
              return message_of<error>([&] { runtime{options}; }).find("may attach") != std::string::npos ? 0 : 1;
            })),
            0)
      << "CUDA must not start";
  trains.write(true);
  EXPECT_EQ(test::status_of(off), 0) << "what is off asks no trainer";
  // … and if somebody opens both to all
  ASSERT_EQ(::chmod(folder_.path().c_str(), 0755), 0);
  ASSERT_EQ(::chmod(socket().c_str(), 0666), 0);
  EXPECT_EQ(test::status_of(as_nobody()), 0);
  EXPECT_TRUE(has_said(trainer, "refused to share bubbles with user 65534"));
  EXPECT_TRUE(trainer.side().mode() == runtime_mode::on);
}

TEST_F(attached_refused, a_socket_that_nobody_else_can_open) {
  sharing_trainer trainer{address()};
  struct stat about {};
  ASSERT_EQ(::stat(socket().c_str(), &about), 0);
  EXPECT_EQ(about.st_mode & 0777U, 0600U);
}

TEST_F(attached_refused, a_folder_that_others_may_write_to) {
  EXPECT_NE(why_not_shared("unix:/tmp/lull-socket").find("mkdir -m 700"), std::string::npos);
  ASSERT_EQ(::chmod(folder_.path().c_str(), 0770), 0);
  EXPECT_NE(why_not_shared(address()).find("mkdir -m 700"), std::string::npos);
  EXPECT_NE(why_not_shared("unix:" + folder_.at("missing/socket")).find("cannot be used: No such file"),
            std::string::npos);
}

TEST_F(attached_refused, a_path_that_is_taken_or_too_long) {
  {
    sharing_trainer trainer{address()};
    EXPECT_NE(why_not_shared(address()).find("another process shares its bubbles at"), std::string::npos);
    EXPECT_TRUE(std::filesystem::exists(socket())) << "the first one's";
  }
  EXPECT_FALSE(std::filesystem::exists(socket()));
  folder_.write("socket", "a file");
  EXPECT_NE(why_not_shared(address()).find("is no socket"), std::string::npos);
  EXPECT_TRUE(std::filesystem::exists(socket())) << "it is somebody's file";
  EXPECT_NE(why_not_shared(address() + std::string(100, 'x')).find("it must have at most 107"), std::string::npos);
}

TEST_F(attached_refused, a_socket_that_a_killed_trainer_left_is_taken_over) {
  test::value_pipe shares;
  pid_t const killed = process_of([&] {
    sharing_trainer trainer{address()};
    shares.write(true);
    ::pause();
    return 0;
  });
  EXPECT_TRUE(shares.read<bool>());
  test::kill_child(killed);
  EXPECT_TRUE(std::filesystem::exists(socket()));
  sharing_trainer next{address()};
  EXPECT_EQ(why_not_attached(), "");
}

TEST_F(attached_refused, a_page_that_is_torn_or_may_still_change) {
  auto const why = [](std::size_t bytes, int seals) {
    auto file = process_descriptor::opened_by([] { return ::memfd_create("page", MFD_CLOEXEC | MFD_ALLOW_SEALING); });
    EXPECT_EQ(::ftruncate(file.get(), static_cast<off_t>(bytes)), 0);
    EXPECT_EQ(::fcntl(file.get(), F_ADD_SEALS, seals), 0);
    return message_of<usage_error>([&] { attach::seen_page const page{file}; });
  };
  constexpr int fixed = F_SEAL_SHRINK | F_SEAL_GROW;
  EXPECT_EQ(why(sizeof(attach::shared_page), fixed), "");
  EXPECT_NE(why(sizeof(attach::shared_page), F_SEAL_GROW).find("must be a sealed page"), std::string::npos);
  EXPECT_NE(why(sizeof(attach::shared_page) - 1, fixed).find("must be a sealed page"), std::string::npos);
  EXPECT_NE(why(0, fixed).find("must be a sealed page"), std::string::npos);
}

TEST_F(attached_refused, a_worker_cannot_write_what_the_trainer_shares) {
  attach::owned_page page;
  EXPECT_EQ(::mmap(nullptr, sizeof(attach::shared_page), PROT_READ | PROT_WRITE, MAP_SHARED, page.descriptor_of(), 0),
            MAP_FAILED);
  EXPECT_EQ(::ftruncate(page.descriptor_of(), 1), -1);
  char const byte = 1;
  EXPECT_EQ(::pwrite(page.descriptor_of(), &byte, 1, 0), -1);
  void* const seen = ::mmap(nullptr, sizeof(attach::shared_page), PROT_READ, MAP_SHARED, page.descriptor_of(), 0);
  ASSERT_NE(seen, MAP_FAILED);
  EXPECT_EQ(::mprotect(seen, sizeof(attach::shared_page), PROT_READ | PROT_WRITE), -1);
  ::munmap(seen, sizeof(attach::shared_page));
}

TEST_F(attached_refused, whatever_a_connection_says_the_trainer_goes_on) {
  pid_t const child = process_of([&] { return attached_job(address()); });
  sharing_trainer trainer{address()};
  std::mt19937 random{1};
  std::vector<char> bytes(4'096);
  for (int i = 0; i < 200; ++i) {
    attach::connection other = connected(socket());
    if (i % 2 == 0) {  // a worker first
      attach::introduction said;
      said.name = attach::short_text<60>{"liar\n\x1b[2J"};
      other.send(said);
    }
    for (int m = 0; m < 50; ++m) {
      std::size_t const length = m % 3 == 0 ? sizeof(attach::report) : 1 + random() % bytes.size();
      for (char& each : bytes) each = static_cast<char>(random());
      if (::send(other.get(), bytes.data(), length, MSG_NOSIGNAL | MSG_DONTWAIT) < 0) break;
    }
    trainer.step();
  }
  EXPECT_EQ(train_until_over(trainer, child), 0);
  EXPECT_TRUE(trainer.is_exact());
  for (std::string const& line : trainer.log().now())
    EXPECT_EQ(line.find('\x1b'), std::string::npos) << "a log is shown on terminals";
}

TEST_F(attached_refused, observers_are_told_the_trainers_state_and_are_few) {
  sharing_trainer trainer{address()};
  std::vector<std::unique_ptr<attach::observer>> all;
  for (std::size_t i = 0; i < attach::share_server::max_observers; ++i) all.push_back(attach::observer::of(socket()));
  for (auto const& each : all) {
    std::string const state = each->state(10s);
    EXPECT_NE(state.find("\"lull.bubbles/2\""), std::string::npos) << state;
    EXPECT_NE(each->state(10s).find("\"workers\": []"), std::string::npos) << "again";
  }
  EXPECT_THROW(attach::observer::of(socket()), limit_error);
  EXPECT_EQ(why_not_attached(), "") << "workers are counted by themselves";
}

TEST_F(attached_refused, a_connection_that_says_nothing_is_closed) {
  sharing_trainer trainer{address()};
  attach::connection silent = connected(socket());
  attach::answer reply;
  EXPECT_TRUE(within_time([&] { return silent.receive(reply) == attach::connection::outcome::gone; }));
}

TEST(announcement, that_is_being_written_or_was_overwritten_is_not_read) {
  attach::shared_bubbles told;
  attach::shared_gate const& gate = told.page().gates[3];
  EXPECT_FALSE(attach::read(gate, 1));
  told.tell(3, {.bubble = 1, .value = 1, .site = 7, .worker = 2, .halved = true});
  auto const first = attach::read(gate, 1);
  ASSERT_TRUE(first);
  EXPECT_EQ(first->value, 1U);
  EXPECT_EQ(first->site, 7U);
  EXPECT_EQ(first->worker, 2U);
  EXPECT_TRUE(first->halved);
  EXPECT_FALSE(first->left);
  told.tell_close(3, 1, std::chrono::steady_clock::time_point{5ns});
  EXPECT_EQ(attach::read(gate, 1)->left, std::chrono::steady_clock::time_point{5ns});
  told.page().gates[3].of(1).version = 2;  // as while it is written
  EXPECT_FALSE(attach::read(gate, 1));
  told.tell(3, {.bubble = 1 + attach::kept_bubbles, .value = 3});
  EXPECT_FALSE(attach::read(gate, 1));
  EXPECT_TRUE(attach::read(gate, 1 + attach::kept_bubbles));
}

TEST(announcement, is_read_whole_or_not_at_all) {
  attach::shared_bubbles told;
  std::atomic<bool> over{false};
  std::thread writes{[&] {
    for (std::uint32_t i = 1; !over; ++i)
      told.tell(0, {.bubble = i, .value = i, .site = i, .worker = i, .halved = i % 2 == 1});
  }};
  int read = 0;
  auto const deadline = deadline_after(long_enough);
  while (read < 20'000 && left_until(deadline).count() != 0 && !HasFailure()) {
    std::uint64_t const next = told.page().gates[0].opened.load();
    for (std::uint64_t back : {std::uint64_t{0}, attach::kept_bubbles - 1}) {
      auto const found = next > back ? attach::read(told.page().gates[0], next - back) : std::nullopt;
      if (!found) continue;
      ++read;
      auto const i = static_cast<std::uint32_t>(next - back);
      EXPECT_TRUE(found->value == i && found->site == i && found->worker == i && found->halved == (i % 2 == 1));
    }
  }
  over = true;
  writes.join();
  EXPECT_GE(read, 20'000);
}

}  // namespace
}  // namespace lull
