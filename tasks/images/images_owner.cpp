// SPDX-License-Identifier: Apache-2.0
#include <lull/tasks/images/images_owner.hpp>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <limits>
#include <memory>
#include <optional>
#include <thread>

#include <lull/host/error.hpp>
#include <lull/tasks/images/codec/image_limits.hpp>
#include <lull/tasks/images/image_manifest.hpp>
#include <lull/tasks/images/image_pipeline.hpp>
#include <lull/tasks/images/logo.hpp>
#include <lull/tasks/images/picture_folder.hpp>
#include <lull/tasks/images/psnr.hpp>
#include <lull/tasks/images/reference_blend.hpp>
#include <lull/tasks/images/reference_resize.hpp>

namespace lull {
namespace {

using std::filesystem::path;

constexpr option images_options[] = {
    {"in", option_kind::path, "", "",
     "folder with PNG and JPEG files; its subfolders and what is no picture are left out"},
    {"out", option_kind::path, "", "", "folder for the results, under the same names; created if missing"},
    {"width", option_kind::integer, "", "[1, 32768]", "width of the results; default: from the height, or unchanged"},
    {"height", option_kind::integer, "", "[1, 32768]", "height of the results; default: from the width, or unchanged"},
    {"filter", option_kind::choice, "lanczos3", "lanczos3|area", "resampling filter"},
    {"logo", option_kind::path, "", "",
     "picture to lay over each result, in its own size; with colours, grey pictures become RGB"},
    {"opacity", option_kind::real, "0.6", "[0, 1]", "opacity of the logo"},
    {"corner", option_kind::choice, "bottom_right", "top_left|top_right|bottom_left|bottom_right",
     "corner of the logo"},
    {"margin", option_kind::integer, "16", "[0, 32768]", "pixels between the logo and the edges"},
    {"threads", option_kind::integer, "", "[1, 256]", "threads that decode and encode; default: one for each core"},
    {"buffer", option_kind::size, "256MiB", "",
     "memory of the machine for a batch, of three; the computer pins as much"},
};

constexpr std::uint32_t buffers = 3;  // one is worked on while the next is filled and the last is taken
constexpr std::size_t judged = 4;     // results that the verifier looks at
constexpr double min_psnr = 50;       // dB

image_filter filter_of(std::string const& name) { return name == "area" ? image_filter::area : image_filter::lanczos3; }

image_corner corner_of(std::string const& name) {
  if (name == "top_left") return image_corner::top_left;
  if (name == "top_right") return image_corner::top_right;
  return name == "bottom_left" ? image_corner::bottom_left : image_corner::bottom_right;
}

class images_owner final : public task_owner {
 public:
  explicit images_owner(option_values const& values) : values_(values) {
    for (char const* name : {"in", "out"}) {
      if (!values_.has(name))
        throw usage_error(std::string{"images: "} + name + " is missing: give " + name + "=FOLDER");
    }
    filter_ = filter_of(values_.choice("filter"));
    place_ = {corner_of(values_.choice("corner")), static_cast<std::uint32_t>(values_.integer("margin")),
              values_.real("opacity")};
    if (values_.has("width")) width_ = static_cast<std::uint32_t>(values_.integer("width"));
    if (values_.has("height")) height_ = static_cast<std::uint32_t>(values_.integer("height"));
  }

  std::vector<path> inputs() const override {
    std::vector<path> files = files_of(values_.path("in"));
    if (values_.has("logo")) files.push_back(values_.path("logo"));
    return files;
  }
  /// Excludes those that `prepare` refuses, each with its reason.
  std::vector<path> outputs() const override {
    std::vector<path> files;
    for (path const& picture : files_of(values_.path("in"))) {
      path const result = values_.path("out") / picture.filename();
      if (std::error_code none; !std::filesystem::equivalent(picture, result, none)) files.push_back(result);
    }
    return files;
  }

  memory_need needs(executor_kind) override {
    list_inputs();
    std::uint64_t const logo = logo_ ? std::uint64_t{logo_->shape.width} * logo_->shape.height : 1;
    return {.machine_bytes = buffers * (batch_bytes() + sizeof(picture_batch)) + logo * sizeof(logo_ref::pixel),
            .host_bytes = travel_memory::bytes(orders_, batch_bytes()),
            .smaller = "buffer"};
  }

  void check_outputs() const override { check_output(values_.path("out")); }

  void prepare(executor& executor) override {
    kind_ = executor.kind();
    if (orders_.empty() && refused_.empty()) list_inputs();
    make_output(values_.path("out"));
    for (image_order const& each : orders_) grain_ = std::min(grain_, each.plan.grain());
    buffers_.emplace(executor, buffers, batch_bytes());
    travel_.emplace(executor, orders_, buffers_->bytes());
    logo_pixels_ = {executor, std::span<logo_ref::pixel const>{logo_ ? weighed(*logo_, place_.opacity)
                                                                     : std::vector<logo_ref::pixel>(1)}};
  }

  job_description describe() const override {
    resize_pictures const task{.batches = buffers_->batches(), .buffers = buffers_->count(), .logo = logo()};
    job_description made = lull::describe(task, "images");
    made.grain = orders_.empty() ? 1 : grain_;
    return made;
  }

  /// A batch holds at least one picture.
  std::uint64_t max_rounds() const override { return orders_.size(); }
  void reset() override { pipeline_.reset(); }
  /// The machine's final content depends on which files were decoded first; the results are in files.
  std::vector<task_array> arrays() const override { return {}; }

  account keep_account(path const& file, bool resume) override {
    manifest_.emplace(settings());
    for (image_order const& each : orders_) manifest_->add(name_of(each), each.listed);
    if (!resume || !std::filesystem::exists(file)) return account::begun;
    auto const before = image_manifest::read(file, settings());
    remove_torn_results(values_.path("out"));
    std::vector<image_order> left;
    for (image_order& each : orders_) {
      auto const found = before.find(name_of(each));
      // A changed picture does not invalidate the other results. The picture is done again, and so is a result that
      // differs from what was written.
      bool const done = found != before.end() && found->second.out && found->second.in == each.listed &&
                        result_of(each.to) == found->second.out;
      if (done) {
        manifest_->finish(name_of(each), *found->second.out);
      } else {
        left.push_back(std::move(each));
      }
    }
    done_before_ = orders_.size() - left.size();
    orders_ = std::move(left);
    return account::resumed;
  }
  void save_account(path const& file) override { manifest_->save(file); }

  void serve(job& fed) override {
    unsigned const cores = std::max(1U, std::thread::hardware_concurrency());
    unsigned const threads = values_.has("threads") ? static_cast<unsigned>(values_.integer("threads")) : cores;
    std::vector<std::size_t> kept;
    for (std::size_t i = 0; i < judged && i < orders_.size(); ++i)
      kept.push_back(i * orders_.size() / std::min(judged, orders_.size()));
    pipeline_ = std::make_unique<image_pipeline>(orders_, *travel_, threads, std::move(kept));
    if (manifest_) {
      pipeline_->tell_written([this](image_order const& order) {
        if (auto const made = result_of(order.to)) manifest_->finish(name_of(order), *made);
      });
    }
    pipeline_->serve(fed, *buffers_);
  }

  verification verify() override {
    if (!pipeline_ && !orders_.empty()) return {false, "no picture was written yet"};
    double worst = std::numeric_limits<double>::infinity();
    std::size_t looked_at = 0;
    for (std::size_t at = 0; at < orders_.size(); ++at) {
      image_order const& order = orders_[at];
      auto pixels = pipeline_->kept(at);
      if (!pixels) continue;
      image const found{order.plan.out, std::move(*pixels), {}};
      image expected = reference_resize(decode(order.from, {}, colours_), order.plan.out.width, order.plan.out.height,
                                        order.plan.filter);
      if (logo_) expected = reference_blend(expected, *logo_, place_);
      worst = std::min(worst, psnr(expected, found));
      ++looked_at;
    }
    if (looked_at == 0) {
      return {orders_.empty() || failures() != 0,
              "no picture was written that could be held against another implementation"};
    }
    char text[160];
    std::snprintf(text, sizeof text,
                  "%zu of %zu pictures held against another implementation: PSNR %.1f dB at least, %.0f wanted",
                  looked_at, orders_.size(), worst, min_psnr);
    return {worst >= min_psnr, text};
  }

  std::vector<std::string> write() override {
    std::uint64_t const written = pipeline_ ? pipeline_->written() : 0;
    std::vector<std::string> lines{"pictures: " + std::to_string(written) + " written to " +
                                   values_.path("out").string() +
                                   (done_before_ != 0 ? ", " + std::to_string(done_before_) + " done before" : "") +
                                   (failures() != 0 ? ", " + std::to_string(failures()) + " failed:" : "")};
    lines.insert(lines.end(), refused_.begin(), refused_.end());
    if (pipeline_) lines.insert(lines.end(), pipeline_->problems().begin(), pipeline_->problems().end());
    return lines;
  }

  std::vector<task_figure> figures() const override {
    return {{"pictures", static_cast<double>(pipeline_ ? pipeline_->written() : 0)},
            {"done_before", static_cast<double>(done_before_)},
            {"left_out", static_cast<double>(left_out_.size())},
            {"notes", static_cast<double>(picture_notes().count())}};
  }

  std::uint64_t failures() const override { return refused_.size() + (pipeline_ ? pipeline_->problems().size() : 0); }

  std::vector<std::string> notes() const override {
    std::vector<std::string> lines = picture_notes().lines();
    if (!left_out_.empty()) lines.push_back(left_out());
    return lines;
  }

 private:
  void list_inputs() {
    check_input(values_.path("in"), values_.path("out"));
    if (values_.has("logo")) {
      logo_ = decode(values_.path("logo").string());
      colours_ = place_.opacity > 0 && has_colours(*logo_) ? image_colours::rgb : image_colours::stored;
    }
    list_orders(values_.size_bytes("buffer"));
  }

  /// Returns the bytes of one buffer: small pictures share a batch.
  std::size_t batch_bytes() const {
    std::size_t largest = 0;
    std::size_t all = 0;
    for (image_order const& each : orders_) {
      largest = std::max(largest, each.plan.bytes());
      all += each.plan.bytes();
    }
    return std::max(largest, std::min<std::size_t>(all, values_.size_bytes("buffer")));
  }

  static std::string name_of(image_order const& order) { return path{order.from}.filename().string(); }

  /// Returns all that determines the results besides the pictures, but no names of files or folders. Executors differ
  /// in the last bit.
  std::string settings() const {
    std::string text = "executor=" + std::string{kind_ == executor_kind::cuda ? "cuda" : "threads"};
    for (std::string const name : {"width", "height", "filter", "opacity", "corner", "margin"}) {
      if (values_.has(name)) text += " " + name + "=" + values_.spelling(name);
    }
    if (logo_) {
      auto const sum = result_of(values_.path("logo"));
      char hex[16];
      std::snprintf(hex, sizeof hex, " logo=%08x", sum ? sum->sum : 0U);
      text += hex;
    }
    return text;
  }

  logo_ref logo() const {
    if (!logo_) return {};
    return {logo_pixels_.data(), logo_->shape.width, logo_->shape.height};
  }

  /// Lists all files that can be resized, by name; notes the others.
  void list_orders(std::size_t max_bytes) {
    for (path const& file : files_of(values_.path("in"))) {
      try {
        // Read before the file's content, so that a later change is noticed.
        image_manifest::input const listed = input_of(file).value_or(image_manifest::input{});
        image_order order{file.string(),
                          (values_.path("out") / file.filename()).string(),
                          read_header(file.string(), colours_),
                          {},
                          {}};
        if (std::error_code none; std::filesystem::equivalent(order.from, order.to, none)) {
          throw input_error(order.from, 0,
                            "and " + order.to + " are one file, and the picture would be lost: remove that link");
        }
        order.plan = plan_of(order.header.shape, order.from);
        order.listed = listed;
        if (order.plan.bytes() > max_bytes) {
          throw input_error(order.from, 0,
                            "takes " + std::to_string(order.plan.bytes()) +
                                " bytes of the machine to resize, more than buffer=" + values_.spelling("buffer") +
                                ": raise that");
        }
        orders_.push_back(std::move(order));
      } catch (input_error const& reason) {
        if (is_no_picture(file.string())) {
          left_out_.push_back(file.filename().string());
        } else {
          refused_.push_back(reason.what());
        }
      }
    }
    if (orders_.empty() && refused_.empty()) {
      throw input_error(values_.path("in").string(), 0,
                        left_out_.empty() ? "holds no file" : "holds no picture: " + left_out());
    }
  }

  /// Returns a line that counts the files that are no pictures, and names some.
  std::string left_out() const {
    constexpr std::size_t named = 3;
    std::string names;
    for (std::size_t i = 0; i < std::min(named, left_out_.size()); ++i) names += (i != 0 ? ", " : "") + left_out_[i];
    if (left_out_.size() > named) names += " and " + std::to_string(left_out_.size() - named) + " more";
    return "left out: " + std::to_string(left_out_.size()) +
           (left_out_.size() == 1 ? " file that is" : " files that are") + " no picture: " + names;
  }

  image_notes picture_notes() const {
    image_notes all = pipeline_ ? pipeline_->notes() : image_notes{};
    if (logo_) all.add(logo_->extras.notes, values_.path("logo").string());
    return all;
  }

  resize_plan plan_of(image_shape const& in, std::string const& file) const {
    auto const like = [&file](std::uint32_t side, std::uint32_t wanted, std::uint32_t other) {
      double const exact = std::round(static_cast<double>(side) * wanted / other);
      if (exact > max_image_side) {
        throw input_error(file, 0,
                          "would be " + std::to_string(static_cast<std::uint64_t>(exact)) +
                              " pixels on its longer side, more than " + std::to_string(max_image_side) +
                              ": give both width and height, or a smaller one");
      }
      return static_cast<std::uint32_t>(std::max(exact, 1.0));
    };
    image_shape out = in;
    if (width_) out.width = *width_;
    if (height_) out.height = *height_;
    if (width_ && !height_) out.height = like(in.height, *width_, in.width);
    if (height_ && !width_) out.width = like(in.width, *height_, in.height);
    resize_plan made{in, out, filter_, 0, 0};
    if (!logo_) return made;
    bool const left = place_.corner == image_corner::top_left || place_.corner == image_corner::bottom_left;
    bool const top = place_.corner == image_corner::top_left || place_.corner == image_corner::top_right;
    auto const margin = static_cast<std::int32_t>(place_.margin);
    made.logo_x =
        left ? margin : static_cast<std::int32_t>(out.width) - margin - static_cast<std::int32_t>(logo_->shape.width);
    made.logo_y =
        top ? margin : static_cast<std::int32_t>(out.height) - margin - static_cast<std::int32_t>(logo_->shape.height);
    return made;
  }

  option_values values_;
  image_filter filter_ = image_filter::lanczos3;
  logo_place place_;
  std::optional<std::uint32_t> width_;
  std::optional<std::uint32_t> height_;
  std::optional<image> logo_;
  image_colours colours_ = image_colours::stored;  // of pictures
  std::vector<image_order> orders_;
  std::uint32_t grain_ = std::numeric_limits<std::uint32_t>::max();  // of the picture whose items take longest
  executor_kind kind_{};
  std::optional<image_manifest> manifest_;  // where an account is kept
  std::size_t done_before_ = 0;             // pictures, by the run that is taken up again
  std::vector<std::string> refused_;        // a line each
  std::vector<std::string> left_out_;       // names
  std::optional<travel_memory> travel_;
  std::optional<picture_buffers> buffers_;  // destroyed before `travel_`, whose memory its copies use
  device_array<logo_ref::pixel> logo_pixels_;
  std::unique_ptr<image_pipeline> pipeline_;
};

}  // namespace

task_entry images_entry() {
  return {.name = "images",
          .help = "resize the pictures of a folder and lay a logo over them",
          .example = "images:in=pictures,out=small,width=1024",
          .options = images_options,
          .type = [](option_values const&) { return type_of<resize_pictures>(); },
          .make = make_owner<images_owner>};
}

}  // namespace lull
