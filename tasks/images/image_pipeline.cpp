// SPDX-License-Identifier: Apache-2.0
#include <lull/tasks/images/image_pipeline.hpp>

#include <algorithm>
#include <chrono>
#include <new>
#include <utility>

#include <lull/host/error.hpp>
#include <lull/tasks/images/codec/write_image.hpp>
#include <lull/tasks/images/resize.hpp>

namespace lull {

namespace {

using namespace std::chrono_literals;

constexpr auto look_again = 500us;  // at what the machine has done

std::size_t in_bytes(std::vector<image_order> const& orders, std::size_t batch_bytes) {
  std::size_t largest = 0;
  std::size_t all = 0;
  for (image_order const& each : orders) {
    std::size_t const bytes = pinned_pool::taken_by(each.plan.staged_bytes());
    largest = std::max(largest, bytes);
    all += bytes;
  }
  return std::max(largest, std::min(all, 2 * batch_bytes));
}

std::size_t out_bytes(std::vector<image_order> const& orders, std::size_t batch_bytes) {
  std::size_t all = 0;
  for (image_order const& each : orders) all += pinned_pool::taken_by(each.plan.out.bytes());
  return std::min(all, batch_bytes);
}

/// Returns the problem of one file, because no exception may leave a thread; empty: none.
std::string problem_of(std::string const& file, auto const& work) {
  try {
    work();
    return {};
  } catch (error const& reason) {
    return reason.what();
  } catch (std::bad_alloc const&) {
    return file + ": this computer's memory does not hold it";
  } catch (std::exception const& reason) {
    return file + ": " + reason.what();
  }
}

}  // namespace

travel_memory::travel_memory(executor& executor, std::vector<image_order> const& orders, std::size_t batch_bytes)
    : in(executor, in_bytes(orders, batch_bytes)), out(executor, out_bytes(orders, batch_bytes)) {}

std::size_t travel_memory::bytes(std::vector<image_order> const& orders, std::size_t batch_bytes) {
  return in_bytes(orders, batch_bytes) + out_bytes(orders, batch_bytes);
}

image_pipeline::image_pipeline(std::vector<image_order> const& orders, travel_memory& memory, unsigned threads,
                               std::vector<std::size_t> kept)
    : orders_(orders), kept_orders_(std::move(kept)), memory_(memory) {
  try {
    for (unsigned i = 0; i < threads; ++i) threads_.emplace_back([this] { work(); });
  } catch (...) {
    end();
    throw;
  }
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

/// Encodes before it decodes, because that frees memory.
void image_pipeline::work() {
  std::unique_lock lock{mutex_};
  for (;;) {
    changed_.wait(lock, [this] { return ends_ || !to_encode_.empty() || may_decode(); });
    if (ends_) return;
    to_encode_.empty() ? decode_next(lock) : encode_next(lock);
    changed_.notify_all();
  }
}

/// Returns whether there is memory for a picture, and keeps it.
bool image_pipeline::may_decode() {
  if (!serves_ || next_ == orders_.size()) return false;
  if (!room_) room_ = memory_.in.take(orders_[next_].plan.staged_bytes());
  return room_.has_value();
}

void image_pipeline::decode_next(std::unique_lock<std::mutex>& lock) {
  std::size_t const at = next_++;
  pixels_of made{at, std::move(*room_), {}};
  room_.reset();
  image_order const& order = orders_[at];
  ++decoding_;
  lock.unlock();
  std::string problem = problem_of(order.from, [&] {
    made.extras = decode_to(order.from, order.header, made.bytes.bytes().first(order.plan.in.bytes()));
    order.plan.add_tables(made.bytes.bytes());
  });
  if (!problem.empty()) made.bytes = {};
  lock.lock();
  --decoding_;
  if (problem.empty()) {
    notes_.add(made.extras.notes, order.from);
    ready_.push_back(std::move(made));
  } else {
    problems_.push_back(std::move(problem));
  }
}

void image_pipeline::encode_next(std::unique_lock<std::mutex>& lock) {
  pixels_of made = std::move(to_encode_.front());
  to_encode_.pop_front();
  ++encoding_;
  lock.unlock();
  image_order const& order = orders_[made.order];
  std::string problem = problem_of(order.to, [&] {
    write_image(order.to, order.header.kind, order.plan.out, made.bytes.bytes(), made.extras);
    if (written_to_) written_to_(order);
  });
  made.bytes = {};
  lock.lock();
  --encoding_;
  if (problem.empty()) {
    ++written_;
  } else {
    problems_.push_back(std::move(problem));
  }
}

/// Takes the pictures that are ready and fit a buffer together; a bubble never waits for more.
image_pipeline::batch image_pipeline::take_ready(std::size_t buffer_bytes) {
  std::lock_guard const lock{mutex_};
  batch taken;
  std::size_t bytes = 0;
  while (!ready_.empty() && taken.size() < picture_batch::most) {
    std::size_t const more = orders_[ready_.front().order].plan.bytes();
    if (bytes + more > buffer_bytes) break;
    bytes += more;
    taken.push_back(std::move(ready_.front()));
    ready_.pop_front();
  }
  return taken;
}

void image_pipeline::put(picture_buffers& buffers, batch pictures) {
  std::vector<picture_buffers::given> given;
  for (pixels_of const& each : pictures) given.push_back({orders_[each.order].plan, each.bytes.bytes()});
  arriving_ = std::move(pictures);
  buffers.put(fed_, given);
}

/// Takes a batch if the encoders have left memory for all of its results.
bool image_pipeline::take(picture_buffers& buffers) {
  batch& next = on_machine_.front();
  std::vector<pinned_pool::part> parts;
  std::vector<std::span<unsigned char>> into;
  for (pixels_of const& each : next) {
    auto room = memory_.out.take(orders_[each.order].plan.out.bytes());
    if (!room) return false;
    into.push_back(room->bytes());
    parts.push_back(std::move(*room));
  }
  for (std::size_t i = 0; i < parts.size(); ++i) next[i].bytes = std::move(parts[i]);
  leaving_ = std::move(next);
  on_machine_.pop_front();
  buffers.take(taken_++, into);
  return true;
}

void image_pipeline::to_encoders() {
  {
    std::lock_guard const lock{mutex_};
    for (pixels_of& each : leaving_) {
      if (std::find(kept_orders_.begin(), kept_orders_.end(), each.order) != kept_orders_.end()) {
        auto const bytes = each.bytes.bytes();
        kept_.emplace_back(each.order, std::vector<std::uint8_t>(bytes.begin(), bytes.end()));
      }
      to_encode_.push_back(std::move(each));
    }
  }
  leaving_.clear();
  changed_.notify_all();
}

bool image_pipeline::all_decoded() const {
  std::lock_guard const lock{mutex_};
  return next_ == orders_.size() && decoding_ == 0 && ready_.empty();
}

bool image_pipeline::all_written() const {
  std::lock_guard const lock{mutex_};
  return to_encode_.empty() && encoding_ == 0;
}

void image_pipeline::serve(job& fed, picture_buffers& buffers) {
  {
    std::lock_guard const lock{mutex_};
    serves_ = true;
  }
  changed_.notify_all();
  for (bool closed = false;;) {
    bool const over = fed.wait(0ns);  // read before looking at what is done, so that no result is missed
    bool moved = false;
    if (!arriving_.empty() && buffers.arrived()) {
      if (!over) fed.feed(++fed_);
      for (pixels_of& each : arriving_) each.bytes = {};
      if (!over) on_machine_.push_back(std::move(arriving_));
      arriving_.clear();
      changed_.notify_all();
      moved = true;
    }
    if (!leaving_.empty() && buffers.left()) {
      to_encoders();
      moved = true;
    }
    if (leaving_.empty() && taken_ < std::min(fed.rounds(), fed_)) moved = take(buffers) || moved;
    if (!over && !closed && arriving_.empty() && fed_ - taken_ + (leaving_.empty() ? 0 : 1) < buffers.count()) {
      bool const last = all_decoded();
      if (batch ready = take_ready(buffers.bytes()); !ready.empty()) {
        put(buffers, std::move(ready));
        moved = true;
      } else if (last) {
        fed.feed(fed_ | no_more_batches);
        closed = true;
      }
    }
    if (moved) continue;
    bool const stays =
        !arriving_.empty() || !leaving_.empty() || taken_ < std::min(fed.rounds(), fed_) || !all_written();
    if (over && !stays) break;
    std::unique_lock lock{mutex_};
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
