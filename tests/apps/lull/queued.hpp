// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <lull/tests/apps/lull/program.hpp>
#include <lull/tests/support/effort.hpp>

namespace lull {

/// Commands about a spool of its own.
class queued : public program {
 protected:
  queued() {
    outcome const made = ask("queue init --lease 2s --queue " + address());
    EXPECT_EQ(made.code, 0) << made.text;
  }
  std::string address() const { return "spool:" + file("spool"); }
  outcome in(std::string const& command, std::string const& rest = "") const {
    return ask(command + " --queue " + address() + " " + rest, "cd " + folder_.path().string() + " && ");
  }
  std::string submit(std::string const& rest) const {
    outcome const found = in("submit", rest);
    EXPECT_EQ(found.code, 0) << found.text;
    return found.text.substr(0, found.text.find('\n'));
  }
  std::vector<std::string> agent_on_threads() const {
    return {LULL_PROGRAM, "agent", "--queue", address(), "--executor", "threads"};
  }
  outcome work_off(std::string const& rest = "") const {
    return in("agent", "--executor threads --until-empty " + rest);
  }
  json job(std::string const& id) const { return json::parse(in("show", id).text)[0]; }
  static std::string training(std::string const& model) {
    std::string const epochs = is_sanitized ? "6" : "40";
    return "--task mlp:epochs=" + epochs + ",hidden=64,seed=3,model=" + model;
  }
};

}  // namespace lull
