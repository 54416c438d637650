// SPDX-License-Identifier: Apache-2.0
// Replaces libnvidia-ml.so.1 in gpu_monitor_test: one GPU at a known state, but no function for temperature, and a
// memory clock that cannot be read. Counts inits that were not shut down.
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <thread>

namespace {
int open_count = 0;
char device;
constexpr int not_supported = 3;
constexpr int not_found = 6;
}  // namespace

extern "C" {
int nvmlInit_v2() {
  ++open_count;
  return 0;
}
int nvmlShutdown() {
  --open_count;
  return 0;
}
int fake_nvml_open_count() { return open_count; }
int nvmlSystemGetDriverVersion(char* text, unsigned bytes) {
  std::snprintf(text, bytes, "580.159");
  return 0;
}
int nvmlDeviceGetHandleByIndex_v2(unsigned index, void** handle) {
  *handle = &device;
  return index == 0 ? 0 : not_found;
}
int nvmlDeviceGetHandleByPciBusId_v2(char const* id, void** handle) {
  *handle = &device;
  return std::strcmp(id, "0000:1B:00.0") == 0 ? 0 : not_found;
}
int nvmlDeviceGetName(void* handle, char* text, unsigned bytes) {
  if (handle != &device) return not_found;
  std::snprintf(text, bytes, "Example GPU");
  return 0;
}
int nvmlDeviceGetClockInfo(void*, int type, unsigned* mhz) {
  *mhz = 1700;
  return type == 1 ? 0 : not_supported;
}
int nvmlDeviceGetMaxClockInfo(void*, int type, unsigned* mhz) {
  *mhz = type == 1 ? 1980 : 3201;
  return 0;
}
int nvmlDeviceGetPowerUsage(void*, unsigned* milliwatts) {
  if (std::getenv("FAKE_NVML_HANGS") != nullptr) std::this_thread::sleep_for(std::chrono::seconds{20});
  *milliwatts = 699'500;
  return 0;
}
int nvmlDeviceGetEnforcedPowerLimit(void*, unsigned* milliwatts) {
  *milliwatts = 700'000;
  return 0;
}
int nvmlDeviceGetCurrentClocksThrottleReasons(void*, unsigned long long* reasons) {
  *reasons = 0x4;
  return 0;
}
}
