// SPDX-License-Identifier: Apache-2.0
// A tool like those that a profiler injects: writes the ranges of each NVTX domain to standard error, a line each.
#include <cstdio>

#include <nvtx3/nvToolsExt.h>

namespace {

nvtxDomainHandle_t create(char const* name) {
  std::fprintf(stderr, "nvtx domain %s\n", name);
  return reinterpret_cast<nvtxDomainHandle_t>(1);
}
nvtxRangeId_t start(nvtxDomainHandle_t, nvtxEventAttributes_t const* what) {
  static nvtxRangeId_t ranges = 0;
  std::fprintf(stderr, "nvtx start %llu %s\n", static_cast<unsigned long long>(++ranges), what->message.ascii);
  return ranges;
}
void end(nvtxDomainHandle_t, nvtxRangeId_t range) {
  std::fprintf(stderr, "nvtx end %llu\n", static_cast<unsigned long long>(range));
}

}  // namespace

extern "C" __attribute__((visibility("default"))) int InitializeInjectionNvtx2(NvtxGetExportTableFunc_t get_table) {
  auto const* const callbacks = static_cast<NvtxExportTableCallbacks const*>(get_table(NVTX_ETID_CALLBACKS));
  NvtxFunctionTable table = nullptr;
  unsigned size = 0;
  if (callbacks == nullptr || callbacks->GetModuleFunctionTable(NVTX_CB_MODULE_CORE2, &table, &size) == 0) return 0;
  *table[NVTX_CBID_CORE2_DomainCreateA] = reinterpret_cast<NvtxFunctionPointer>(&create);
  *table[NVTX_CBID_CORE2_DomainRangeStartEx] = reinterpret_cast<NvtxFunctionPointer>(&start);
  *table[NVTX_CBID_CORE2_DomainRangeEnd] = reinterpret_cast<NvtxFunctionPointer>(&end);
  return 1;
}
