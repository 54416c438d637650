// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>
#include <utility>

namespace lull {

/// Base of every error that Lull throws; `what()` says what happened, where, and what to do.
class error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// Bad input: a file (or a line of it) that cannot be used. Nothing was written.
class input_error : public error {
 public:
  /// `line` counts from 1; 0 means that the whole file is meant.
  input_error(std::string file, std::uint64_t line, std::string const& message)
      : error(file + (line != 0 ? ":" + std::to_string(line) : std::string{}) + ": " + message),
        file_(std::move(file)),
        line_(line) {}

  std::string const& file() const noexcept { return file_; }
  std::uint64_t line() const noexcept { return line_; }

 private:
  std::string file_;
  std::uint64_t line_;
};

/// A broken precondition or an impossible setting: the caller must change the call.
class usage_error : public error {
 public:
  using error::error;
};

/// A limit of Lull or of the machine was reached: memory, queue length, time.
class limit_error : public error {
 public:
  using error::error;
};

/// A call to CUDA or the operating system failed. Keeps the code, the text of the call and its place in the source.
class device_error : public error {
 public:
  device_error(int code, std::string const& name, std::string const& call, std::string const& place)
      : error(place + ": " + call + " failed: " + name + " (" + std::to_string(code) + ")"), code_(code) {}

  int code() const noexcept { return code_; }

 private:
  int code_;
};

}  // namespace lull
