// SPDX-License-Identifier: Apache-2.0
#include <lull/host/attach/handshake.hpp>

#include <chrono>
#include <string>
#include <utility>

#include <lull/host/error.hpp>
#include <lull/host/executor.hpp>

namespace lull::attach {

namespace {

constexpr std::chrono::seconds answers_within{1};

std::string machine_text(std::uint32_t kind, std::string const& device) {
  return kind == static_cast<std::uint32_t>(executor_kind::cuda) ? "CUDA device " + device : "CPU threads";
}

/// Says of which process MPS is missing, and what starts it.
std::string why_apart(bool trainer_has_it, bool worker_has_it) {
  std::string const start =
      ": set CUDA_MPS_PIPE_DIRECTORY to one folder in the environment of both processes, and start "
      "nvidia-cuda-mps-control -d there before either";
  if (trainer_has_it) return " works under MPS, and this process does not" + start;
  if (worker_has_it) return " does not work under MPS, as this process does" + start;
  return " and this process work without MPS, so that the GPU would serve them by turns" + start;
}

[[noreturn]] void refuse(std::string const& path, answer const& reply, introduction const& who) {
  std::string const where = "the trainer at " + path;
  switch (reply.what) {
    case answer::other_version:
      throw usage_error{where + " runs Lull " + reply.from.version.text() + " (protocol " +
                        std::to_string(reply.from.number) + "), and this is " LULL_VERSION " (protocol " +
                        std::to_string(protocol) + "): use the same version in both"};
    case answer::other_device:
      throw usage_error{where + " harvests " + machine_text(reply.executor, reply.device.text()) +
                        ", and this worker was made for " + machine_text(who.executor, who.device.text()) +
                        ": choose the trainer's"};
    case answer::full:
      throw limit_error{where + " has " + std::to_string(reply.most) +
                        " workers already, which is the most: end one of them first"};
    case answer::apart:
      throw usage_error{where + why_apart(reply.together != 0, who.together != 0)};
    default:
      throw usage_error{where + " refuses, and this version does not know why"};
  }
}

}  // namespace

std::optional<welcomed> introduce_to(std::string const& path, introduction said) {
  std::optional<connection> trainer = connect_to(path);
  if (!trainer) return std::nullopt;
  said.from.version = short_text<52>{LULL_VERSION};
  if (!trainer->send(said)) return std::nullopt;
  if (!trainer->is_readable_by(std::chrono::steady_clock::now() + answers_within))
    throw limit_error{"the trainer at " + path + " has not answered within a second: it may be stopped"};
  answer reply;
  process_descriptor page;
  if (trainer->receive_greeted(reply, &page) != connection::outcome::received) return std::nullopt;
  if (reply.from.magic != said.from.magic) throw usage_error{path + " is the socket of another program"};
  if (reply.from.number != protocol) reply.what = answer::other_version;
  if (reply.what != answer::welcome) refuse(path, reply, said);
  return welcomed{std::move(*trainer), reply.worker, reply.reserve_bytes, std::move(page)};
}

}  // namespace lull::attach
