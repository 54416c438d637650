// SPDX-License-Identifier: Apache-2.0
#include <lull/host/queue/policies/policies.hpp>

#include <array>
#include <charconv>
#include <cmath>

#include <lull/host/error.hpp>

namespace lull::queue {

namespace {

struct named {
  std::string_view name;
  policy (*made)();
};
constexpr std::array<named, 6> all{{{"first-come", [] { return policy{first_come}; }},
                                    {"shortest", [] { return policy{shortest_first}; }},
                                    {"largest", [] { return policy{max_work_first}; }},
                                    {"deadline", [] { return policy{earliest_deadline}; }},
                                    {"fair", [] { return policy{fair_shares}; }},
                                    {"aging", [] { return policy{aging{}}; }}}};

[[noreturn]] void refuse(std::string_view text) {
  std::string names;
  for (named const& each : all) names += (names.empty() ? "" : ", ") + std::string{each.name};
  throw usage_error{"policy \"" + std::string{text} + "\": it must be one of " + names +
                    "; or several with weights above 0, such as shortest:0.7+fair:0.3"};
}

policy made(std::string_view name, std::string_view whole) {
  for (named const& each : all) {
    if (each.name == name) return each.made();
  }
  refuse(whole);
}

}  // namespace

policy policy_named(std::string_view text) {
  if (text.find_first_of(":+") == text.npos) return made(text, text);
  weighted mixture;
  for (std::string_view rest = text;;) {
    std::size_t const end = rest.find('+');
    std::string_view const part = rest.substr(0, end);
    std::size_t const colon = part.find(':');
    if (colon == part.npos) refuse(text);
    std::string_view const number = part.substr(colon + 1);
    double weight = 0;
    auto const read = std::from_chars(number.data(), number.data() + number.size(), weight);
    bool const is_whole = read.ec == std::errc{} && read.ptr == number.data() + number.size();
    if (!is_whole || !std::isfinite(weight) || weight <= 0) refuse(text);
    mixture.parts.emplace_back(made(part.substr(0, colon), text), weight);
    if (end == rest.npos) return mixture;
    rest.remove_prefix(end + 1);
  }
}

double decayed(double used_s, double later_s, double half_s) noexcept { return used_s * std::exp2(-later_s / half_s); }

}  // namespace lull::queue
