// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <lull/host/attach/page.hpp>
#include <lull/host/io/process_descriptor.hpp>

namespace lull::attach {

/// The trainer's page: memory without a file. Other processes have its descriptor and can only read it.
class owned_page {
 public:
  /// Throws device_error.
  owned_page();
  ~owned_page();
  owned_page(owned_page const&) = delete;
  owned_page& operator=(owned_page const&) = delete;

  shared_page& page() noexcept { return *page_; }
  int descriptor_of() const noexcept { return file_.get(); }

 private:
  process_descriptor file_;
  shared_page* page_ = nullptr;
};

/// Another process's page, for reading alone.
class seen_page {
 public:
  /// Throws usage_error if the file is no whole page, or may still change its size.
  explicit seen_page(process_descriptor const& file);
  ~seen_page();
  seen_page(seen_page const&) = delete;
  seen_page& operator=(seen_page const&) = delete;

  shared_page const& page() const noexcept { return *page_; }

 private:
  shared_page const* page_ = nullptr;
};

}  // namespace lull::attach
