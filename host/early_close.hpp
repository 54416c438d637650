// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace lull {

/// Names the bubbles of one site of a runtime (runtime::early_close_of). Plain bytes: send it to the process of the
/// peer that ends them, on the same machine.
struct early_close_handle {
  std::uint64_t process = 0;           // that made it; 0: it names nothing
  std::uint64_t address = 0;           // there
  std::uint64_t offset = 0;            // in the memory that is shared, in bytes
  std::int32_t device = -1;            // there; less than 0: CPU threads
  std::uint32_t is_shared = 0;         // 0: another process cannot reach it
  std::array<std::byte, 64> memory{};  // cudaIpcMemHandle_t
};
static_assert(sizeof(early_close_handle) == 96 && std::is_trivially_copyable_v<early_close_handle>);

/// Ends another rank's bubble a moment before its wait is over: what a peer enqueues in front of the message that the
/// bubble waits for. Then the side work there leaves while the message is on its way, and not after it. A hint: it
/// moves no data, orders nothing, and changes no result. It ends the bubble that is open at that site, or else the next
/// one; the closing edge forgets it.
///
/// Copies are cheap. They may outlive the runtime that the handle is of: then they do nothing, or end a bubble of
/// another one early.
class early_close {
 public:
  /// `of`: of this process or another one on this machine, for a GPU that the current device can address, or for CPU
  /// threads of this process. Blocks; the first one of a process may wait for the device. Thread-safe. Throws
  /// usage_error where it cannot be reached, device_error where CUDA refuses.
  explicit early_close(early_close_handle const& of);

  /// Enqueues it on a stream of the device that was current above, a cudaStream_t or threads_stream*; under capture
  /// adds a node. Costs the stream about a microsecond. Does not block. Thread-safe for different streams. Throws
  /// device_error.
  void send(void* stream) const;

 private:
  std::uint32_t* word_;
  bool on_gpu_;
};

}  // namespace lull
