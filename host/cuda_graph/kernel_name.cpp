// SPDX-License-Identifier: Apache-2.0
#include <lull/host/cuda_graph/kernel_name.hpp>

#include <cstddef>
#include <cstdlib>
#include <memory>
#include <string_view>

#include <cxxabi.h>

namespace lull {

namespace {

constexpr std::size_t max_length = 100;

void without(std::string& name, std::string_view part) {
  for (std::size_t at = 0; (at = name.find(part, at)) != std::string::npos;) name.erase(at, part.size());
}

/// Removes the last pair of parentheses, which ends a function's name.
void without_parameters(std::string& name) {
  if (!name.ends_with(')')) return;
  int open = 0;
  for (std::size_t at = name.size(); at-- > 0;) {
    if (name[at] == ')') ++open;
    if (name[at] == '(' && --open == 0) {
      name.resize(at);
      return;
    }
  }
}

}  // namespace

std::string readable_name(std::string const& mangled) {
  int status = 0;
  std::unique_ptr<char, decltype(&std::free)> const plain{
      abi::__cxa_demangle(mangled.c_str(), nullptr, nullptr, &status), &std::free};
  std::string name = mangled;
  if (plain != nullptr) {
    name = plain.get();
    without_parameters(name);
    without(name, "(anonymous namespace)::");
    if (name.starts_with("void ")) name.erase(0, 5);
  }
  if (name.size() > max_length) name.replace(max_length - 3, std::string::npos, "...");
  return name;
}

bool waits_for_peers(std::string_view name) { return name.starts_with("nccl") || name.starts_with("nvshmem"); }

}  // namespace lull
