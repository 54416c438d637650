// SPDX-License-Identifier: Apache-2.0
#include <cstdlib>
#include <filesystem>
#include <ostream>
#include <string>
#include <vector>

#include <lull/apps/lull/commands.hpp>
#include <lull/apps/lull/cuda_facts.hpp>
#include <lull/apps/lull/finding.hpp>
#include <lull/apps/lull/report/machine.hpp>
#include <lull/host/detail/environment.hpp>
#include <lull/host/error.hpp>
#include <lull/host/executor.hpp>

namespace lull {
namespace {

std::string environment(char const* name) {
  char const* const text = std::getenv(name);
  return text == nullptr ? "" : text;
}

std::string version_text(int version) {
  return std::to_string(version / 1000) + "." + std::to_string(version % 1000 / 10);
}

finding check_driver(cuda_facts const& facts, std::optional<gpu_description> const& gpu) {
  if (!facts.driver_version) {
    return {"driver", health::stops, "no CUDA driver answers",
            "install NVIDIA's driver, 525 or later; the threads executor runs without it"};
  }
  std::string found = "supports CUDA " + version_text(*facts.driver_version);
  if (gpu && gpu->driver) found = *gpu->driver + ", " + found;
  return {"driver", health::good, found, ""};
}

finding check_runtime(cuda_facts const& facts) {
  if (!facts.built) return {"cuda", health::stops, "this build has no CUDA", "build Lull where nvcc is found"};
  std::string const built = "built with CUDA " + version_text(facts.runtime_version);
  bool const too_new = facts.driver_version && *facts.driver_version / 1000 < facts.runtime_version / 1000;
  if (too_new)
    return {"cuda", health::stops, built + ", newer than the driver",
            "update the driver, or build with an older toolkit"};
  return {"cuda", health::good, built, ""};
}

finding check_device(cuda_facts const& facts, int device) {
  if (!facts.built) return {"device", health::stops, "not checked", "see the line cuda"};
  if (!facts.device_name)
    return {"device", health::stops, why_no_cuda(device), "check nvidia-smi and CUDA_VISIBLE_DEVICES"};
  std::string const found = *facts.device_name + ", sm_" + std::to_string(facts.capability) + ", " +
                            std::to_string(facts.processors) + " SMs";
  if (!facts.stream_memory_operations) {
    return {"device", health::stops, found + ", no stream memory operations",
            "update the driver: the closing edge needs them"};
  }
  return {"device", health::good, found, ""};
}

finding check_reserved_groups(cuda_facts const& facts, device_settings const& asked) {
  std::string const what = "reserved groups";
  if (!facts.device_name) return {what, health::stops, "not known without a device", ""};
  try {
    placement const where =
        make_executor({.kind = executor_kind::cuda, .device = asked.device, .reserved_groups = asked.reserved_groups})
            ->place();
    std::string const found = std::to_string(where.owned_processors) + " of " + std::to_string(where.processors) +
                              " SMs are for workers, by " + where.how;
    if (asked.reserved_groups != 0 && where.how != "green context") {
      return {what, health::worth_a_look, found, "green contexts fail here: install a driver for CUDA 12.5 or later"};
    }
    return {what, health::good, found, ""};
  } catch (error const& problem) {
    return {what, health::stops, problem.what(), "see the message"};
  }
}

finding check_lazy_loading(cuda_facts const& facts) {
  std::string const asked = environment("CUDA_MODULE_LOADING");
  std::string const found = asked.empty() ? "CUDA_MODULE_LOADING is not set" : "CUDA_MODULE_LOADING=" + asked;
  bool const lazy = facts.lazy_loading.value_or(asked != "EAGER");
  if (!lazy) return {"lazy loading", health::good, "off: " + found, ""};
  return {"lazy loading", health::worth_a_look, "on: " + found,
          "the first use of a trainer's kernel may wait for a worker, once, as long as a bubble; EAGER avoids it"};
}

finding check_connections() {
  std::string const asked = environment("CUDA_DEVICE_MAX_CONNECTIONS");
  if (asked.empty()) return {"connections", health::good, "CUDA_DEVICE_MAX_CONNECTIONS is not set", ""};
  std::string const found = "CUDA_DEVICE_MAX_CONNECTIONS=" + asked;
  if (auto const few = detail::too_few_connections())
    return {"connections", health::stops, found, *few + "; LULL=on harvests nevertheless"};
  if (!detail::one_connection()) return {"connections", health::good, found, ""};
  return {"connections", health::worth_a_look, found,
          "all streams share one queue, so workers are launched at open; set 8 or more to launch them at close"};
}

finding check_mps() {
  std::string pipe = environment("CUDA_MPS_PIPE_DIRECTORY");
  if (pipe.empty()) pipe = "/tmp/nvidia-mps";
  std::error_code ignored;
  if (!std::filesystem::exists(std::filesystem::path{pipe} / "control", ignored))
    return {"MPS", health::good, "no MPS daemon, which side work in a process of its own needs", ""};
  return {"MPS", health::worth_a_look, "an MPS daemon listens in " + pipe,
          "a fault of another MPS client ends this process, too; stop the daemon if you need isolation"};
}

/// Of what should not be there: `problem`, or else `fine`.
finding check_absent(char const* what, std::optional<std::string> const& problem, char const* fine, char const* to_do) {
  return problem ? finding{what, health::stops, *problem, to_do} : finding{what, health::good, fine, ""};
}

finding check_lull() {
  std::string const asked = environment("LULL");
  if (asked.empty() || asked == "on") return {"LULL", health::good, asked.empty() ? "not set: on" : "on", ""};
  return {"LULL", health::stops, "LULL=" + asked, "unset it, or set LULL=on, to harvest"};
}

finding check_power(std::optional<gpu_description> const& gpu) {
  if (!gpu || !gpu->power_limit_w)
    return {"power cap", health::worth_a_look, "NVML gives no power limit", "reports then have no clocks"};
  std::string found = std::to_string(static_cast<int>(*gpu->power_limit_w)) + " W";
  if (gpu->state.power_w) found += ", " + std::to_string(static_cast<int>(*gpu->state.power_w)) + " W now";
  if (gpu->state.power_capped.value_or(false)) {
    return {"power cap", health::worth_a_look, found + ", and the limit lowers the clocks",
            "side work uses power, too, and may lower training's clocks; compare the slowdown in reports"};
  }
  return {"power cap", health::good, found, ""};
}

}  // namespace

exit_code doctor_command(device_settings const& asked, std::ostream& out) {
  cuda_facts const facts = ask_cuda(asked.device);
  std::optional<gpu_description> const gpu =
      facts.device_name ? gpu_monitor{pci_bus_id(asked.device)}.describe() : std::nullopt;
  std::vector<finding> const all{
      check_driver(facts, gpu),
      check_runtime(facts),
      check_device(facts, asked.device),
      check_reserved_groups(facts, asked),
      check_lazy_loading(facts),
      check_connections(),
      check_waiting(measure_waiting(asked.device), environment("CUDA_DEVICE_MAX_CONNECTIONS")),
      check_mps(),
      check_absent("profilers", detail::injected_tool(), "none is injected",
                   "such a tool may run one kernel at a time, so no worker runs beside training; LULL=on harvests "
                   "nevertheless"),
      check_absent("blocking", detail::launches_that_block(), "launches do not block",
                   "unset it: the host would wait for each kernel, inside bubbles too"),
      check_lull(),
      check_power(gpu)};
  out << (asked.json ? findings_json(all, LULL_VERSION) : findings_text(all));
  out.flush();
  return any_stops(all) ? exit_code::failed : exit_code::done;
}

}  // namespace lull
