// SPDX-License-Identifier: Apache-2.0
// The main program is libFuzzer's, which leaves options of two dashes to us: --reader=NAME.
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <span>

#include <lull/tests/fuzz/readers.hpp>

namespace {

lull::fuzz::reader const* chosen = nullptr;

}  // namespace

extern "C" int LLVMFuzzerInitialize(int* count, char*** arguments) {
  constexpr std::string_view option = "--reader=";
  for (std::string_view const each : std::span{*arguments, static_cast<std::size_t>(*count)}) {
    if (each.starts_with(option)) chosen = lull::fuzz::find_reader(each.substr(option.size()));
  }
  if (chosen != nullptr) return 0;
  std::fputs("give --reader=NAME, one of:", stderr);
  for (auto const& each : lull::fuzz::readers()) std::fprintf(stderr, " %s", each.name.data());
  std::fputs("\n", stderr);
  std::exit(2);
}

extern "C" int LLVMFuzzerTestOneInput(std::uint8_t const* data, std::size_t size) {
  lull::fuzz::read(*chosen, {reinterpret_cast<char const*>(data), size});
  return 0;
}
