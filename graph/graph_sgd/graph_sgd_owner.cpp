// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <lull/graph/graph_sgd/graph_sgd_arrays.hpp>
#include <lull/graph/graph_sgd/graph_sgd_owner.hpp>
#include <lull/graph/graph_sgd/rating_blocks.hpp>
#include <lull/graph/graph_sgd/ratings.hpp>
#include <lull/graph/graph_sgd/verify_graph_sgd.hpp>
#include <lull/host/error.hpp>
#include <lull/host/io/atomic_file.hpp>
#include <lull/host/io/safetensors_writer.hpp>
#include <lull/host/task/array_owner.hpp>
#include <lull/host/task/dialect_rows.hpp>
#include <lull/host/task/learning_curve.hpp>
#include <optional>
#include <string>
#include <utility>

namespace lull {
namespace {

using std::filesystem::path;

constexpr option graph_sgd_options[] = {
    {"ratings", option_kind::path, "", "",
     "file with a rating a row, as delimited text or a Matrix Market matrix, also .gz; default: generate some"},
    {"columns", option_kind::text, "", "",
     "columns of user, item and rating, as names or numbers from 1: 'userId,movieId,rating'; default: known names, or "
     "the first three where no names are"},
    header_row,
    delimiter_row,
    decimal_row,
    {"users", option_kind::integer, "10000", "[1, 134217728]", "users of generated ratings"},
    {"items", option_kind::integer, "2000", "[1, 134217728]", "items of generated ratings"},
    {"count", option_kind::integer, "1000000", "[2, 2147483648]", "number of generated ratings"},
    {"rank", option_kind::integer, "8", "[1, 64]", "rank of the generated matrix without noise"},
    {"noise", option_kind::real, "0.5", "[0, 1000]", "standard deviation of generated ratings around that matrix"},
    {"factors", option_kind::choice, "32", "8|16|32|64", "factors of a user and of an item"},
    {"epochs", option_kind::integer, "20", "[1, 100000]", "passes over the training ratings"},
    {"rate", option_kind::real, "0.05", "(0, 100]", "learning rate of the first epoch"},
    {"decay", option_kind::real, "0.1", "[0, 1000]", "decay of the learning rate: epoch e has rate / (1 + decay * e)"},
    {"l2", option_kind::real, "0.05", "[0, 100]", "L2 penalty on the factors"},
    {"held_out", option_kind::real, "0.1", "[0, 0.9]", "share of the ratings to judge by"},
    {"groups", option_kind::integer, "", "[1, 4096]",
     "groups of users and of items: blocks worked on at a time; default: what suits the ratings"},
    {"seed", option_kind::integer, "1", "[0, inf)",
     "random seed of generated ratings, first factors, held-out ratings and the order of blocks"},
    {"model", option_kind::path, "", "", "file for the factors and the mean, .safetensors"},
    {"losses", option_kind::path, "", "", "file for the errors of each epoch, CSV"},
    {"plot", option_kind::path, "", "", "file for a picture of them, SVG"},
};

constexpr char const* file_options[] = {"columns", "header", "delimiter", "decimal"};
constexpr char const* generator_options[] = {"users", "items", "count", "rank", "noise"};

class graph_sgd_owner final : public array_owner<graph_sgd_arrays> {
 public:
  explicit graph_sgd_owner(option_values const& values)
      : array_owner("graph_sgd", values, {"model", "losses", "plot"}) {
    for (char const* each : generator_options) {
      if (values.has("ratings") && values.given(each))
        throw usage_error(std::string{"graph_sgd: "} + each + " is for generated ratings: leave it or ratings out");
    }
    for (char const* each : file_options) {
      if (!values.has("ratings") && values.given(each))
        throw usage_error(std::string{"graph_sgd: "} + each + " is for ratings from a file: give ratings=FILE");
    }
    settings_ = {.factors = static_cast<std::uint32_t>(std::stoul(values.choice("factors"))),
                 .epochs = static_cast<std::uint32_t>(values.integer("epochs")),
                 .rate = static_cast<float>(values.real("rate")),
                 .decay = static_cast<float>(values.real("decay")),
                 .l2 = static_cast<float>(values.real("l2")),
                 .seed = static_cast<std::uint64_t>(values.integer("seed"))};
  }

  std::uint64_t max_rounds() const override { return arrays_.value().rounds(); }
  std::vector<path> inputs() const override {
    return values_.has("ratings") ? std::vector<path>{values_.path("ratings")} : std::vector<path>{};
  }

  verification verify() override {
    if (arrays_.value().stopped()) return {false, "an error is no longer a number"};
    std::optional<double> noise;
    if (!values_.has("ratings")) noise = values_.real("noise");
    std::vector<float> const user = arrays_->user_factors();
    std::vector<float> const item = arrays_->item_factors();
    std::vector<epoch_errors> const errors = arrays_->errors();
    ratings training = all_ratings();
    hold_out(training, values_.real("held_out"), settings_.seed);
    blocks_.ordered = arrays_->ordered();
    verification made = verify_graph_sgd({training, held_out_, blocks_, mean_, settings_, noise}, {user, item, errors});
    blocks_.ordered = host_array<placed_rating>{};
    return made;
  }

  std::vector<std::string> write() override {
    std::vector<epoch_errors> const epochs = reached();
    std::vector<std::string> lines{sum_up()};
    std::string csv = "epoch,training_rmse,held_out_rmse\n";
    for (std::size_t at = 0; at < epochs.size(); ++at) {
      char text[112];
      std::snprintf(text, sizeof text, "%zu,%.9g,%.9g\n", at + 1, epochs[at].training, epochs[at].held_out);
      csv += text;
      if (at % ((epochs.size() + 9) / 10) != 0 && at + 1 != epochs.size()) continue;  // ten lines or so
      std::snprintf(text, sizeof text, "epoch %4zu  error (RMSE) %.5f while training, %.5f held out", at + 1,
                    epochs[at].training, epochs[at].held_out);
      lines.push_back(text);
    }
    if (arrays_->stopped())
      lines.push_back("stopped: an error is no longer a number; try a lower rate than " + values_.spelling("rate"));
    if (!arrays_->stopped()) write_asked("model", lines, [&](std::filesystem::path const& path) { write_model(path); });
    write_asked("losses", lines, [&](std::filesystem::path const& path) { write_file(path, csv); });
    write_asked("plot", lines, [&](std::filesystem::path const& path) { write_file(path, drawn(epochs)); });
    return lines;
  }

  /// Of the last epoch; `losses` has all of them.
  std::vector<task_figure> figures() const override {
    epoch_errors const last = arrays_.value().errors().back();
    return {{"training_rmse", last.training}, {"held_out_rmse", last.held_out}};
  }
  std::uint64_t failures() const override { return arrays_ && arrays_->stopped() ? 1 : 0; }
  std::vector<std::string> notes() const override {
    return training_.taken.empty() ? std::vector<std::string>{} : std::vector{"ratings: " + training_.taken};
  }

 private:
  /// Ratings in a file are read, so that their number is known.
  memory_need need(executor_kind) override {
    bool const from_file = values_.has("ratings");
    if (from_file) read_inputs();
    std::uint64_t const count = from_file ? training_.all.size() + held_out_.size() : number("count");
    std::uint64_t const rows =
        from_file ? std::uint64_t{training_.users} + training_.items : number("users") + number("items");
    // Of generated ratings: by four standard deviations more than expected.
    auto const at_most = [&](double share) {
      double const all = static_cast<double>(count);
      return std::min(count, static_cast<std::uint64_t>(all * share + 2 * std::sqrt(all)));
    };
    std::uint64_t const held_out = from_file ? held_out_.size() : at_most(values_.real("held_out"));
    std::uint64_t const training = from_file ? training_.all.size() : at_most(1 - values_.real("held_out"));
    // The most popular of generated items has one rating in √items.
    rating_spread const spread =
        from_file ? spread_
                  : rating_spread{training,
                                  static_cast<std::uint64_t>(static_cast<double>(training) /
                                                             std::sqrt(static_cast<double>(number("items")))) +
                                      1,
                                  std::min(number("users"), number("items"))};
    auto const groups = values_.has("groups") ? static_cast<std::uint32_t>(number("groups")) : suitable_groups(spread);
    std::uint64_t const blocks = groups * expected_phases(spread, groups);
    // The ratings go when they are in blocks, and the blocks when they are on the machine.
    std::uint64_t const on_the_way = std::max(from_file ? 0 : count * sizeof(rating), training * sizeof(placed_rating));
    return {.machine_bytes = graph_sgd_arrays::bytes(training, held_out, groups, blocks, rows, settings_),
            .host_bytes = (from_file ? 0 : held_out * sizeof(rating)) + blocks * sizeof(std::uint64_t),
            .preparing_bytes =
                on_the_way + rows * std::max(number("rank") * sizeof(double), settings_.factors * sizeof(float) + 24),
            .smaller = from_file ? "" : "count, users or items"};
  }

  graph_sgd_arrays make(executor& executor) override {
    if (training_.all.empty()) read_inputs();
    std::uint32_t const groups =
        values_.has("groups") ? static_cast<std::uint32_t>(values_.integer("groups")) : suitable_groups(spread_);
    blocks_ = make_rating_blocks(training_, degrees_, groups);
    training_.all = host_array<rating>{};  // `{}` would only clear it
    degrees_ = {};
    return {executor, std::move(blocks_.ordered), blocks_, held_out_, training_.users, training_.items, mean_,
            settings_};
  }
  limit_error too_large() const override {
    return limit_error{"graph_sgd: this computer's memory does not hold the ratings: take fewer"};
  }

  std::uint64_t number(char const* name) const { return static_cast<std::uint64_t>(values_.integer(name)); }

  ratings all_ratings() const {
    if (values_.has("ratings")) {
      return read_ratings(
          values_.path("ratings").string(), {},
          {.columns = values_.has("columns") ? values_.text("columns") : "", .dialect = dialect_from(values_)});
    }
    return generate_ratings({.users = static_cast<std::uint32_t>(number("users")),
                             .items = static_cast<std::uint32_t>(number("items")),
                             .count = number("count"),
                             .rank = static_cast<unsigned>(number("rank")),
                             .noise = values_.real("noise"),
                             .seed = settings_.seed});
  }

  void read_inputs() {
    training_ = all_ratings();
    held_out_ = hold_out(training_, values_.real("held_out"), settings_.seed);
    if (training_.all.empty()) {
      std::string const advice =
          "no rating is left to learn from: give more, or hold out less than held_out=" + values_.spelling("held_out");
      if (values_.has("ratings")) throw input_error(values_.path("ratings").string(), 0, advice);
      throw usage_error("graph_sgd: " + advice);
    }
    mean_ = static_cast<double>(static_cast<float>(mean_of(training_.all)));
    degrees_ = degrees_of(training_);
    spread_ = spread_of(degrees_);
  }

  /// Epochs before the job stopped.
  std::vector<epoch_errors> reached() const {
    std::vector<epoch_errors> epochs = arrays_.value().errors();
    if (!arrays_->stopped()) return epochs;
    epochs.erase(std::find_if(epochs.begin(), epochs.end(),
                              [](epoch_errors const& each) {
                                return !std::isfinite(each.training) || !std::isfinite(each.held_out);
                              }),
                 epochs.end());
    return epochs;
  }

  std::string sum_up() const {
    char text[200];
    std::snprintf(text, sizeof text,
                  "%zu ratings of %u items by %u users, %zu held out; a pass has %u phases of %u blocks",
                  spread_.count + held_out_.size(), training_.items, training_.users, held_out_.size(), blocks_.phases,
                  blocks_.groups);
    return text;
  }

  void write_model(std::filesystem::path const& path) const {
    std::vector<float> const user = arrays_.value().user_factors();
    std::vector<float> const item = arrays_->item_factors();
    auto const mean = static_cast<float>(mean_);
    std::uint64_t const factors = settings_.factors;
    std::vector<tensor_view> const tensors{
        {{"mean", tensor_type::f32, {1}}, std::as_bytes(std::span{&mean, 1})},
        {{"user_factors", tensor_type::f32, {training_.users, factors}}, std::as_bytes(std::span{user})},
        {{"item_factors", tensor_type::f32, {training_.items, factors}}, std::as_bytes(std::span{item})}};
    write_safetensors(path, tensors);
  }

  static std::string drawn(std::vector<epoch_errors> const& epochs) {
    epoch_curve training{"error while training", curve_axis::linear, {}};
    epoch_curve held_out{"error held out", curve_axis::linear, {}};
    for (epoch_errors const& each : epochs) {
      training.values.push_back(each.training);
      held_out.values.push_back(each.held_out);
    }
    return learning_curve_svg("Root mean square errors of each epoch", training, held_out);
  }

  graph_sgd_settings settings_;
  ratings training_;
  host_array<rating> held_out_;
  double mean_ = 0;
  rating_degrees degrees_;
  rating_spread spread_{};
  rating_blocks blocks_;
};

}  // namespace

task_entry graph_sgd_entry() {
  return {.name = "graph_sgd",
          .help = "factorise a matrix of ratings by stochastic gradient descent",
          .example = "graph_sgd:ratings=ratings.csv,losses=losses.csv,model=factors.safetensors",
          .options = graph_sgd_options,
          .type =
              [](option_values const& values) {
                return with_graph_sgd(static_cast<std::uint32_t>(std::stoul(values.choice("factors"))),
                                      []<class Task>() { return type_of<Task>(); });
              },
          .make = make_owner<graph_sgd_owner>};
}

}  // namespace lull
