// SPDX-License-Identifier: Apache-2.0
#include <lull/host/report/gpu_monitor.hpp>

#include <dlfcn.h>

#include <array>

namespace lull {
namespace {

// The used part of NVML's C interface (NVIDIA, NVML API Reference Manual), so that its header is not needed.
using nvml_device = void*;
constexpr int nvml_success = 0;
constexpr int clock_sm = 1;
constexpr int clock_memory = 2;
constexpr int temperature_gpu = 0;
constexpr unsigned long long reason_sw_power_cap = 0x4;
constexpr unsigned long long reason_hw_power_brake = 0x80;
constexpr unsigned text_bytes = 96;  // NVML_DEVICE_NAME_V2_BUFFER_SIZE; the driver's version takes 80

constexpr double per_thousand = 1e-3;

}  // namespace

struct gpu_monitor::library {
  void* handle = nullptr;
  nvml_device device = nullptr;
  bool initialised = false;

  library() = default;
  library(library const&) = delete;
  library& operator=(library const&) = delete;
  ~library() {
    if (initialised) call("nvmlShutdown");
    if (handle != nullptr) ::dlclose(handle);
  }

  // The types of the arguments are those of the function. Returns false if this driver has no such function, or it
  // fails.
  template <class... Arguments>
  bool call(char const* symbol, Arguments... arguments) const {
    auto* const function = reinterpret_cast<int (*)(Arguments...)>(::dlsym(handle, symbol));
    return function != nullptr && function(arguments...) == nvml_success;
  }

  bool open(std::string const& path, std::string const& pci_bus_id) {
    handle = ::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
    initialised = handle != nullptr && call("nvmlInit_v2");
    if (!initialised) return false;
    return pci_bus_id.empty() ? call("nvmlDeviceGetHandleByIndex_v2", 0U, &device)
                              : call("nvmlDeviceGetHandleByPciBusId_v2", pci_bus_id.c_str(), &device);
  }

  // A getter's last argument, in `unit`s.
  template <class... Arguments>
  std::optional<double> number(double unit, char const* getter, Arguments... arguments) const {
    unsigned value = 0;
    return call(getter, arguments..., &value) ? std::optional{value * unit} : std::nullopt;
  }

  template <class... Arguments>
  std::optional<std::string> text(char const* getter, Arguments... arguments) const {
    std::array<char, text_bytes> buffer{};
    if (!call(getter, arguments..., buffer.data(), text_bytes)) return std::nullopt;
    buffer.back() = '\0';
    return std::string{buffer.data()};
  }
};

gpu_monitor::gpu_monitor(std::string const& pci_bus_id, std::string const& library_path)
    : library_(std::make_unique<library>()) {
  if (!library_->open(library_path, pci_bus_id)) library_.reset();
}

gpu_monitor::~gpu_monitor() = default;

gpu_state gpu_monitor::sample() const {
  if (!available()) return {};
  library const& nvml = *library_;
  gpu_state state;
  state.sm_mhz = nvml.number(1, "nvmlDeviceGetClockInfo", nvml.device, clock_sm);
  state.memory_mhz = nvml.number(1, "nvmlDeviceGetClockInfo", nvml.device, clock_memory);
  state.power_w = nvml.number(per_thousand, "nvmlDeviceGetPowerUsage", nvml.device);
  state.temperature_c = nvml.number(1, "nvmlDeviceGetTemperature", nvml.device, temperature_gpu);
  unsigned long long reasons = 0;
  if (nvml.call("nvmlDeviceGetCurrentClocksThrottleReasons", nvml.device, &reasons))
    state.power_capped = (reasons & (reason_sw_power_cap | reason_hw_power_brake)) != 0;
  return state;
}

std::optional<double> gpu_monitor::power_limit_w() const {
  if (!available()) return std::nullopt;
  return library_->number(per_thousand, "nvmlDeviceGetEnforcedPowerLimit", library_->device);
}

std::optional<gpu_description> gpu_monitor::describe() const {
  if (!available()) return std::nullopt;
  library const& nvml = *library_;
  gpu_description gpu;
  gpu.name = nvml.text("nvmlDeviceGetName", nvml.device);
  gpu.driver = nvml.text("nvmlSystemGetDriverVersion");
  gpu.sm_max_mhz = nvml.number(1, "nvmlDeviceGetMaxClockInfo", nvml.device, clock_sm);
  gpu.memory_max_mhz = nvml.number(1, "nvmlDeviceGetMaxClockInfo", nvml.device, clock_memory);
  gpu.power_limit_w = power_limit_w();
  gpu.state = sample();
  return gpu;
}

}  // namespace lull
