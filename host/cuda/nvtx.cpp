// SPDX-License-Identifier: Apache-2.0
#include <lull/host/cuda/nvtx.hpp>

#include <nvtx3/nvToolsExt.h>

namespace lull::detail {

namespace {

nvtxDomainHandle_t domain() noexcept {
  static nvtxDomainHandle_t const ours = nvtxDomainCreateA("lull");
  return ours;
}

}  // namespace

std::uint64_t begin_range(char const* text) noexcept {
  nvtxEventAttributes_t attributes{};
  attributes.version = NVTX_VERSION;
  attributes.size = NVTX_EVENT_ATTRIB_STRUCT_SIZE;
  attributes.messageType = NVTX_MESSAGE_TYPE_ASCII;
  attributes.message.ascii = text;
  return nvtxDomainRangeStartEx(domain(), &attributes);
}

void end_range(std::uint64_t range) noexcept { nvtxDomainRangeEnd(domain(), range); }

}  // namespace lull::detail
