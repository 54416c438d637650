// SPDX-License-Identifier: Apache-2.0
#include <lull/host/queue/entry_name.hpp>

#include <array>
#include <charconv>

#include <lull/host/queue/job_id.hpp>

namespace lull::queue {

namespace {

constexpr std::string_view no_agent = "-";
// by entry_state; `in_place` for a job that is done and has its results in place
constexpr std::string_view letters = "qcrsdfxhk";
constexpr char in_place = 'D';

/// As it is written, and so that an entry has one name: otherwise it could not be renamed.
template <class Number>
bool read(std::string_view text, Number& into) {
  std::size_t const sign = text.starts_with('-') ? 1 : 0;
  if (text.size() > 1 && text[sign] == '0') return false;
  auto const [end, wrong] = std::from_chars(text.data(), text.data() + text.size(), into);
  return wrong == std::errc{} && end == text.data() + text.size();
}

}  // namespace

std::string name_of(job_entry const& entry) {
  char const state = entry.in_place ? in_place : letters[static_cast<std::size_t>(entry.state)];
  std::string name = entry.id;
  for (std::string const& part :
       {std::to_string(entry.version), std::string{state}, std::to_string(entry.priority),
        std::to_string(entry.attempt), std::to_string(entry.failures), std::to_string(entry.deaths),
        entry.agent.empty() ? std::string{no_agent} : entry.agent, entry.token})
    name += "," + part;
  return name;
}

std::optional<job_entry> entry_of(std::string_view name) {
  std::array<std::string_view, 9> parts;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    auto const comma = name.find(',');
    if ((comma == name.npos) != (i + 1 == parts.size())) return std::nullopt;
    parts[i] = name.substr(0, comma);
    name.remove_prefix(comma == name.npos ? name.size() : comma + 1);
  }
  auto const& [id, version, state, priority, attempt, failures, deaths, agent, token] = parts;
  if (!is_job_id(id) || state.size() != 1 || !is_token(token) || (agent != no_agent && !is_token(agent)))
    return std::nullopt;
  job_entry found{.id = std::string{id}, .in_place = state[0] == in_place, .token = std::string{token}};
  auto const letter = letters.find(found.in_place ? 'd' : state[0]);
  if (letter == letters.npos || !read(version, found.version) || !read(priority, found.priority) ||
      !read(attempt, found.attempt) || !read(failures, found.failures) || !read(deaths, found.deaths))
    return std::nullopt;
  found.state = static_cast<entry_state>(letter);
  if (agent != no_agent) found.agent = agent;
  return found;
}

}  // namespace lull::queue
