// SPDX-License-Identifier: Apache-2.0
#include <lull/apps/lull/setting.hpp>

#include <array>
#include <iostream>
#include <utility>

#include <lull/apps/lull/cuda_facts.hpp>
#include <lull/host/error.hpp>
#include <lull/host/io/units.hpp>
#include <lull/host/task/options.hpp>

namespace lull {
namespace {

template <std::size_t Count>
std::size_t index_in(std::array<std::string_view, Count> const& known, std::string_view text, std::string_view option) {
  for (std::size_t i = 0; i < Count; ++i) {
    if (known[i] == text) return i;
  }
  throw usage_error{std::string{option} + ": unknown name \"" + std::string{text} +
                    "\"; known: " + list_known(text, known)};
}

constexpr std::array<std::string_view, 2> executors{"threads", "cuda"};
constexpr std::array<std::string_view, 3> modes{"lull", "naive", "none"};

}  // namespace

executor_kind parse_executor(std::string_view text, int device) {
  std::string const why = why_no_cuda(device);
  if (text.empty()) return why.empty() ? executor_kind::cuda : executor_kind::threads;
  auto const kind = static_cast<executor_kind>(index_in(executors, text, "--executor"));
  if (kind == executor_kind::cuda && !why.empty()) {
    throw usage_error{"--executor cuda: " + why + "; run lull doctor, or use --executor threads"};
  }
  return kind;
}

side_mode parse_mode(std::string_view text) { return static_cast<side_mode>(index_in(modes, text, "--mode")); }

std::chrono::nanoseconds duration_of(std::string_view text, std::string_view option) {
  try {
    return parse_duration(text);
  } catch (usage_error const& wrong) {
    throw usage_error{std::string{option} + ": " + wrong.what()};
  }
}

double share_of(std::string_view text, std::string_view option) {
  double percent = 0;
  try {
    if (text.ends_with('%')) percent = parse_real(text.substr(0, text.size() - 1));
  } catch (usage_error const&) {  // told below
  }
  if (!(percent >= 0.001 && percent <= 100)) {
    throw usage_error{std::string{option} + ": \"" + std::string{text} +
                      "\" is no share from 0.001% to 100%, such as 0.5%"};
  }
  return percent / 100;
}

time_limit::time_limit(std::string asked)
    : asked_(std::move(asked)),
      longest_(asked_.empty() ? std::chrono::nanoseconds::max() : duration_of(asked_, "--at-most")) {}

std::string_view name_of(side_mode mode) noexcept { return modes[static_cast<std::size_t>(mode)]; }
std::string_view name_of(executor_kind kind) noexcept { return executors[static_cast<std::size_t>(kind)]; }

report begin_report(std::string_view command, executor_kind kind, side_mode mode, run_settings const& asked) {
  report begun;
  begun.version = LULL_VERSION;
  begun.command = command;
  begun.executor = name_of(kind);
  begun.time = kind == executor_kind::cuda ? "device" : "cpu";
  begun.machine = describe_host();
  if (kind == executor_kind::cuda) begun.machine.gpu = gpu_monitor{pci_bus_id(asked.device)}.describe();
  begun.config.mode = name_of(mode);
  begun.config.reserved_groups = static_cast<std::uint32_t>(asked.reserved_groups);
  begun.config.verify = asked.verify;
  return begun;
}

exit_code conclude(std::ostream& out, run_settings const& asked, report const& found,
                   std::vector<std::string> const& lines, bool good) {
  if (!asked.json || !good) {
    for (std::string const& each : lines) (asked.json ? std::cerr : out) << each << '\n';
  }
  if (std::string const all = closing_sentence(found); !asked.json && !all.empty()) out << all << '\n';
  out.flush();
  if (asked.report) write_report(*asked.report, found);
  if (found.interrupted) return exit_code::interrupted;
  return good ? exit_code::done : exit_code::failed;
}

}  // namespace lull
