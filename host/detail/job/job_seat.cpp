// SPDX-License-Identifier: Apache-2.0
#include <lull/host/detail/job/job_seat.hpp>

#include <algorithm>
#include <utility>

namespace lull::detail {

job_seat::job_seat(std::shared_ptr<lull::executor> executor, std::uint64_t capacity)
    : executor_(std::move(executor)),
      capacity_(capacity),
      cursor_(*executor_, 1),
      ring_(*executor_, groups()),
      line_(*executor_, 1),
      words_(*executor_, 1),
      copied_(*executor_, groups()),
      fed_(*executor_, 1) {}

void job_seat::write(copy_lane& lane, job_image const& image) {
  cursor& now = *words_.data();
  now = image.words;
  now.ring = {image.handed_back.size(), 0};
  now.places = ring_.data();
  now.capacity = capacity_;
  now.progress = line_.device();
  now.reporting = 0;
  *line_.host() = {now.phases, now.round, progress_word{now.round, now.step, tagged_state{now.state}.state()}.word(),
                   now.why};
  if (!is_clean_ || !image.handed_back.empty()) {
    std::fill_n(copied_.data(), groups(), ring_group{});
    for (std::size_t at = 0; at < image.handed_back.size(); ++at) {
      ring_group& group = copied_.data()[at / ring_group::places];
      group.cells[at % ring_group::places] = image.handed_back[at];
      group.taken = group.full |= std::uint64_t{1} << at % ring_group::places;
    }
    lane.copy_in(ring_.data(), copied_.data(), ring_.bytes());
    is_clean_ = false;
  }
  lane.copy_in(cursor_.data(), words_.data(), cursor_.bytes());
}

void job_seat::write_fed(copy_lane& lane, std::uint64_t fed) {
  *fed_.data() = fed;
  lane.copy_in(&cursor_.data()->fed, fed_.data(), sizeof fed);
}

void job_seat::read_words(copy_lane& lane) { lane.copy_out(words_.data(), cursor_.data(), cursor_.bytes()); }

bool job_seat::read_ring(copy_lane& lane) {
  is_clean_ = !has_handed_back();  // a place that was emptied is free
  if (is_clean_) return false;
  lane.copy_out(copied_.data(), ring_.data(), ring_.bytes());
  return true;
}

job_image job_seat::taken() const {
  job_image found{.words = *words_.data()};
  for (std::uint64_t at = 0; has_handed_back() && at < groups() * ring_group::places; ++at) {
    ring_group const& group = copied_.data()[at / ring_group::places];
    if ((group.full >> at % ring_group::places & 1) != 0)
      found.handed_back.push_back(group.cells[at % ring_group::places]);
  }
  return found;
}

}  // namespace lull::detail
