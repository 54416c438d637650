// SPDX-License-Identifier: Apache-2.0
#include <lull/host/attach/shared_memory.hpp>

#include <new>
#include <string>

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <lull/host/attach/system_error.hpp>
#include <lull/host/error.hpp>

namespace lull::attach {

namespace {

constexpr int fixed_size = F_SEAL_SHRINK | F_SEAL_GROW;

}  // namespace

owned_page::owned_page()
    : file_(process_descriptor::opened_by([] { return ::memfd_create("lull", MFD_CLOEXEC | MFD_ALLOW_SEALING); })) {
  if (!file_) throw system_error("memfd_create");
  if (::ftruncate(file_.get(), sizeof(shared_page)) != 0) throw system_error("ftruncate");
  void* const memory = ::mmap(nullptr, sizeof(shared_page), PROT_READ | PROT_WRITE, MAP_SHARED, file_.get(), 0);
  if (memory == MAP_FAILED) throw system_error("mmap");
  // Only this mapping can be written from now on.
  if (::fcntl(file_.get(), F_ADD_SEALS, fixed_size | F_SEAL_FUTURE_WRITE | F_SEAL_SEAL) != 0) {
    device_error const problem = system_error("fcntl(F_ADD_SEALS)");
    ::munmap(memory, sizeof(shared_page));
    throw problem;
  }
  page_ = new (memory) shared_page{};
}

owned_page::~owned_page() { ::munmap(page_, sizeof(shared_page)); }

seen_page::seen_page(process_descriptor const& file) {
  struct stat about {};
  if (::fstat(file.get(), &about) != 0) throw system_error("fstat");
  int const seals = ::fcntl(file.get(), F_GET_SEALS);
  if (about.st_size != static_cast<off_t>(sizeof(shared_page)) || seals < 0 || (seals & fixed_size) != fixed_size)
    throw usage_error{"what the trainer shares has " + std::to_string(about.st_size) +
                      " bytes, or may still change its size: it must be a sealed page of " +
                      std::to_string(sizeof(shared_page)) + " bytes, from the same version of Lull"};
  void* const memory = ::mmap(nullptr, sizeof(shared_page), PROT_READ, MAP_SHARED, file.get(), 0);
  if (memory == MAP_FAILED) throw system_error("mmap");
  page_ = static_cast<shared_page const*>(memory);
}

seen_page::~seen_page() { ::munmap(const_cast<shared_page*>(page_), sizeof(shared_page)); }

}  // namespace lull::attach
