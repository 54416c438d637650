// SPDX-License-Identifier: Apache-2.0
#include <dlfcn.h>

#include <array>

#include <lull/apps/lull/machine.hpp>

namespace lull {
namespace {

// What is used of NVML's C interface (NVIDIA, NVML API Reference Manual), so that its header is not needed.
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

// Each pointer is null where this driver has no such function.
struct gpu_monitor::library {
  void* handle = nullptr;
  nvml_device device = nullptr;
  int (*shutdown)() = nullptr;
  int (*driver_version)(char*, unsigned) = nullptr;
  int (*name)(nvml_device, char*, unsigned) = nullptr;
  int (*clock)(nvml_device, int, unsigned*) = nullptr;
  int (*max_clock)(nvml_device, int, unsigned*) = nullptr;
  int (*power)(nvml_device, unsigned*) = nullptr;
  int (*power_limit)(nvml_device, unsigned*) = nullptr;
  int (*temperature)(nvml_device, int, unsigned*) = nullptr;
  int (*throttle_reasons)(nvml_device, unsigned long long*) = nullptr;

  library() = default;
  library(library const&) = delete;
  library& operator=(library const&) = delete;
  ~library() {
    if (shutdown != nullptr) shutdown();
    if (handle != nullptr) ::dlclose(handle);
  }

  template <class Function>
  bool find(Function*& function, char const* symbol) const {
    function = reinterpret_cast<Function*>(::dlsym(handle, symbol));
    return function != nullptr;
  }

  bool open(std::string const& path, std::string const& pci_bus_id) {
    handle = ::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (handle == nullptr) return false;
    int (*init)() = nullptr;
    int (*by_index)(unsigned, nvml_device*) = nullptr;
    int (*by_bus_id)(char const*, nvml_device*) = nullptr;
    int (*end)() = nullptr;
    if (!find(init, "nvmlInit_v2") || !find(end, "nvmlShutdown") || init() != nvml_success) return false;
    shutdown = end;  // owed from here on only
    if (pci_bus_id.empty()) {
      if (!find(by_index, "nvmlDeviceGetHandleByIndex_v2") || by_index(0, &device) != nvml_success) return false;
    } else if (!find(by_bus_id, "nvmlDeviceGetHandleByPciBusId_v2") ||
               by_bus_id(pci_bus_id.c_str(), &device) != nvml_success) {
      return false;
    }
    find(driver_version, "nvmlSystemGetDriverVersion");
    find(name, "nvmlDeviceGetName");
    find(clock, "nvmlDeviceGetClockInfo");
    find(max_clock, "nvmlDeviceGetMaxClockInfo");
    find(power, "nvmlDeviceGetPowerUsage");
    find(power_limit, "nvmlDeviceGetEnforcedPowerLimit");
    find(temperature, "nvmlDeviceGetTemperature");
    find(throttle_reasons, "nvmlDeviceGetCurrentClocksThrottleReasons");
    return true;
  }

  // A getter's last argument, in `unit`s; nothing if there is no such getter or it fails.
  template <class Getter, class... Arguments>
  static std::optional<double> number(double unit, Getter get, Arguments... arguments) {
    unsigned value = 0;
    if (get == nullptr || get(arguments..., &value) != nvml_success) return std::nullopt;
    return value * unit;
  }

  template <class Getter, class... Arguments>
  static std::optional<std::string> text(Getter get, Arguments... arguments) {
    std::array<char, text_bytes> buffer{};
    if (get == nullptr || get(arguments..., buffer.data(), text_bytes) != nvml_success) return std::nullopt;
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
  state.sm_mhz = library::number(1, nvml.clock, nvml.device, clock_sm);
  state.memory_mhz = library::number(1, nvml.clock, nvml.device, clock_memory);
  state.power_w = library::number(per_thousand, nvml.power, nvml.device);
  state.temperature_c = library::number(1, nvml.temperature, nvml.device, temperature_gpu);
  unsigned long long reasons = 0;
  if (nvml.throttle_reasons != nullptr && nvml.throttle_reasons(nvml.device, &reasons) == nvml_success) {
    state.power_capped = (reasons & (reason_sw_power_cap | reason_hw_power_brake)) != 0;
  }
  return state;
}

std::optional<gpu_description> gpu_monitor::describe() const {
  if (!available()) return std::nullopt;
  library const& nvml = *library_;
  gpu_description gpu;
  gpu.name = library::text(nvml.name, nvml.device);
  gpu.driver = library::text(nvml.driver_version);
  gpu.sm_max_mhz = library::number(1, nvml.max_clock, nvml.device, clock_sm);
  gpu.memory_max_mhz = library::number(1, nvml.max_clock, nvml.device, clock_memory);
  gpu.power_limit_w = library::number(per_thousand, nvml.power_limit, nvml.device);
  gpu.state = sample();
  return gpu;
}

}  // namespace lull
