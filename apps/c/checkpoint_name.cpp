// SPDX-License-Identifier: Apache-2.0
#include <lull/apps/c/checkpoint_name.hpp>

#include <filesystem>
#include <map>
#include <mutex>
#include <new>
#include <set>
#include <system_error>

#include <pthread.h>

#include <lull/host/error.hpp>
#include <lull/host/io/folder_lock.hpp>

namespace lull::c {

namespace {

constexpr std::size_t max_name = 240;  // a number and an ending follow: then it is a file's

struct held_folder {
  explicit held_folder(std::string const& path) : lock(path) {}

  folder_lock lock;
  std::set<std::string> names;
};

std::mutex guard;

/// Reachable for as long as a job may be left alone.
std::map<std::string, held_folder>& folders() {
  static auto* const held = new std::map<std::string, held_folder>;
  return *held;
}

/// A forked child has no part in its parent's folders. Called after the first lock is made: the handlers of locks are
/// registered by then, so both mutexes are taken in the order in which the constructor takes them.
void leave_folders_to_parent_at_fork() {
  static int const registered = ::pthread_atfork([] { guard.lock(); }, [] { guard.unlock(); },
                                                 [] {
                                                   folders().clear();
                                                   guard.unlock();
                                                 });
  if (registered != 0) throw std::bad_alloc{};
}

}  // namespace

checkpoint_name::checkpoint_name(std::string const& folder, std::string const& name, if_taken otherwise) {
  if (folder.empty()) throw usage_error{"the checkpoint folder has no name: leave it out, or name one"};
  if (name.find('/') != std::string::npos)
    throw usage_error{"the job's name '" + name + "' has a '/': its checkpoint is a file of that name"};
  if (name.size() > max_name)
    throw usage_error{"the job's name '" + name + "' has more than " + std::to_string(max_name) +
                      " bytes: its checkpoint is a file of that name"};
  std::error_code why;
  std::error_code why_not_found;
  std::filesystem::create_directories(folder, why);
  std::string const whole = std::filesystem::canonical(folder, why_not_found).string();
  if (why_not_found)
    throw usage_error{"checkpoint folder " + folder + " cannot be made: " + (why ? why : why_not_found).message()};
  std::lock_guard const lock{guard};
  held_folder& held = folders().try_emplace(whole, whole).first->second;
  leave_folders_to_parent_at_fork();
  name_ = name;
  for (int number = 2; !held.names.insert(name_).second; ++number) {
    if (otherwise == if_taken::refuse)
      throw usage_error{"another job is saved in " + folder + " as '" + name +
                        "': give them different names or folders"};
    name_ = name + "-" + std::to_string(number);
  }
  folder_ = whole;
}

checkpoint_name::~checkpoint_name() {
  std::lock_guard const lock{guard};
  auto const held = folders().find(folder_);
  if (held == folders().end()) return;  // in a forked child
  held->second.names.erase(name_);
  if (held->second.names.empty()) folders().erase(held);
}

}  // namespace lull::c
