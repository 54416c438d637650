// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace lull::queue {

inline constexpr std::size_t job_id_digits = 20;

/// Returns a new id: 20 letters and digits that no other has. Ids of one machine sort by the time they were made, to a
/// millisecond; within one, as they were made.
std::string make_job_id();
bool is_job_id(std::string_view text) noexcept;
/// Returns when an id was made, in milliseconds since 1970, by the clock of its machine.
std::uint64_t made_ms(std::string_view id) noexcept;

/// Returns 12 random letters and digits, for an agent or a change of a job.
std::string make_token();
bool is_token(std::string_view text) noexcept;

}  // namespace lull::queue
