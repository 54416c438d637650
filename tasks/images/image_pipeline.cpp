// SPDX-License-Identifier: Apache-2.0
#include <lull/tasks/images/image_pipeline.hpp>

#include <algorithm>
#include <chrono>
#include <new>
#include <utility>

#include <lull/host/error.hpp>
#include <lull/tasks/images/write_image.hpp>

namespace lull {

namespace {

using namespace std::chrono_literals;

constexpr auto look_again = 500us;  // at what the machine has done

}  // namespace

image_pipeline::image_pipeline(std::vector<image_order> const& orders, unsigned threads, std::vector<std::size_t> kept)
    : orders_(orders), kept_orders_(std::move(kept)) {
  for (unsigned i = 0; i < threads; ++i) threads_.emplace_back([this] { work(); });
}

image_pipeline::~image_pipeline() { end(); }

void image_pipeline::end() {
  {
    std::lock_guard const lock{mutex_};
    ends_ = true;
  }
  changed_.notify_all();
  for (std::thread& each : threads_) each.join();
  threads_.clear();
}

/// Encoding first: it makes room.
void image_pipeline::work() {
  std::unique_lock lock{mutex_};
  for (;;) {
    changed_.wait(lock, [this] { return ends_ || !to_encode_.empty() || may_decode(); });
    if (ends_) return;
    to_encode_.empty() ? decode_next(lock) : encode_next(lock);
    changed_.notify_all();
  }
}

/// One picture at least is always on its way, however large.
bool image_pipeline::may_decode() const {
  if (most_bytes_ == 0 || next_ == orders_.size()) return false;
  return in_bytes_ == 0 || in_bytes_ + orders_[next_].plan.in.bytes() <= most_bytes_;
}

void image_pipeline::decode_next(std::unique_lock<std::mutex>& lock) {
  std::size_t const at = next_++;
  image_order const& order = orders_[at];
  std::size_t const bytes = order.plan.in.bytes();
  in_bytes_ += bytes;
  ++decoding_;
  lock.unlock();
  pixels_of made{at, {}, {}};
  std::string problem;
  try {
    made.pixels.resize(bytes);
    made.extras = decode_to(order.from, order.header, made.pixels);
  } catch (error const& reason) {
    problem = reason.what();
  } catch (std::bad_alloc const&) {
    problem = order.from + ": this computer's memory does not hold it";
  }
  lock.lock();
  --decoding_;
  if (problem.empty()) {
    ready_.push_back(std::move(made));
  } else {
    in_bytes_ -= bytes;
    problems_.push_back(std::move(problem));
  }
}

void image_pipeline::encode_next(std::unique_lock<std::mutex>& lock) {
  pixels_of const made = std::move(to_encode_.front());
  to_encode_.pop_front();
  ++encoding_;
  lock.unlock();
  image_order const& order = orders_[made.order];
  std::string problem;
  try {
    write_image(order.to, order.header.kind, order.plan.out, made.pixels, made.extras);
  } catch (error const& reason) {
    problem = reason.what();
  }
  lock.lock();
  --encoding_;
  out_bytes_ -= made.pixels.size();
  if (problem.empty()) {
    ++written_;
  } else {
    problems_.push_back(std::move(problem));
  }
}

/// As many as stand ready and fit a slot together; a bubble never waits for more.
image_pipeline::batch image_pipeline::take_ready(std::size_t slot_bytes) {
  std::lock_guard const lock{mutex_};
  batch taken;
  std::size_t bytes = 0;
  while (!ready_.empty() && taken.size() < picture_batch::most) {
    std::size_t const more = orders_[ready_.front().order].plan.bytes();
    if (bytes + more > slot_bytes) break;
    bytes += more;
    taken.push_back(std::move(ready_.front()));
    ready_.pop_front();
  }
  return taken;
}

void image_pipeline::feed(job& fed, picture_slots& slots, batch pictures) {
  std::vector<picture_slots::given> given;
  for (pixels_of const& each : pictures) given.push_back({orders_[each.order].plan, each.pixels});
  slots.put(fed_, given);
  fed.feed(++fed_);
  std::size_t bytes = 0;
  for (pixels_of& each : pictures) {
    bytes += each.pixels.size();
    each.pixels = {};
  }
  on_machine_.push_back(std::move(pictures));
  {
    std::lock_guard const lock{mutex_};
    in_bytes_ -= bytes;
  }
  changed_.notify_all();
}

void image_pipeline::drain(picture_slots& slots) {
  batch pictures = std::move(on_machine_.front());
  on_machine_.pop_front();
  std::vector<std::vector<std::uint8_t>> results(pictures.size());
  slots.take(taken_++, results);
  {
    std::lock_guard const lock{mutex_};
    for (std::size_t i = 0; i < pictures.size(); ++i) {
      std::size_t const order = pictures[i].order;
      if (std::find(kept_orders_.begin(), kept_orders_.end(), order) != kept_orders_.end()) kept_.emplace_back(order, results[i]);
      out_bytes_ += results[i].size();
      to_encode_.push_back({order, std::move(results[i]), std::move(pictures[i].extras)});
    }
  }
  changed_.notify_all();
}

bool image_pipeline::all_decoded() const {
  std::lock_guard const lock{mutex_};
  return next_ == orders_.size() && decoding_ == 0 && ready_.empty();
}

void image_pipeline::serve(job& fed, picture_slots& slots) {
  {
    std::lock_guard const lock{mutex_};
    most_bytes_ = 2 * slots.bytes();
  }
  changed_.notify_all();
  for (bool closed = false;;) {
    bool const over = fed.wait(0ns);  // before the look at what is done, so that nothing is left behind
    bool moved = false;
    bool room_to_encode = false;
    {
      std::lock_guard const lock{mutex_};
      room_to_encode = out_bytes_ < most_bytes_;
    }
    if (taken_ < std::min(fed.rounds(), fed_) && (room_to_encode || over)) {
      drain(slots);
      moved = true;
    }
    if (!over && !closed && fed_ - taken_ < slots.count()) {
      bool const last = all_decoded();
      if (batch ready = take_ready(slots.bytes()); !ready.empty()) {
        feed(fed, slots, std::move(ready));
        moved = true;
      } else if (last) {
        fed.feed(fed_ | no_more_batches);
        closed = true;
      }
    }
    if (moved) continue;
    std::unique_lock lock{mutex_};
    if (over && (fed.progress().state != job_state::finished || (to_encode_.empty() && encoding_ == 0))) break;
    changed_.wait_for(lock, look_again);
  }
  end();
}

std::optional<std::vector<std::uint8_t>> image_pipeline::kept(std::size_t order) const {
  std::lock_guard const lock{mutex_};
  auto const found = std::find_if(kept_.begin(), kept_.end(), [&](auto const& each) { return each.first == order; });
  return found != kept_.end() ? std::optional{found->second} : std::nullopt;
}

}  // namespace lull
