// SPDX-License-Identifier: Apache-2.0
#include <lull/tasks/mlp/mlp_owner.hpp>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <optional>

#include <lull/host/atomic_file.hpp>
#include <lull/host/error.hpp>
#include <lull/host/shipped_file.hpp>
#include <lull/tasks/mlp/learning_curve.hpp>
#include <lull/tasks/mlp/mlp_file.hpp>
#include <lull/tasks/mlp/reference.hpp>

namespace lull {
namespace {

constexpr option mlp_options[] = {
    {"data", option_kind::path, "", "", "CSV of numbers and a label a line, also .gz; without it 1,797 handwritten digits"},
    {"layers", option_kind::integer, "2", "[1, 8]", "hidden ones"},
    {"hidden", option_kind::integer, "256", "[1, 65536]", "width of each of them"},
    {"epochs", option_kind::integer, "30", "[1, 100000]", "passes over the training rows"},
    {"batch", option_kind::integer, "64", "[1, 65536]", "rows a step"},
    {"rate", option_kind::real, "0.001", "(0, inf)", "of learning"},
    {"seed", option_kind::integer, "1", "[0, inf)", "of the first weights, of what is held out, and of the shuffles"},
    {"model", option_kind::path, "", "", "file for the trained perceptron, .npz"},
    {"losses", option_kind::path, "", "", "file for loss and accuracy of each epoch, CSV"},
    {"plot", option_kind::path, "", "", "file for a picture of both, SVG"},
};

constexpr option classify_options[] = {
    {"model", option_kind::path, "", "", "perceptron that task mlp has written"},
    {"data", option_kind::path, "", "", "CSV of numbers and a label a line, also .gz; without it 1,797 handwritten digits"},
    {"out", option_kind::path, "", "", "file for the answers: row, tab, class, tab, probability a line"},
    {"batch", option_kind::integer, "256", "[1, 65536]", "rows at once"},
};

constexpr std::uint32_t most_classes = 1024;  // a thread goes through them one by one
constexpr double loss_tolerance = 1e-3;       // of fp32 against double, over an epoch

std::string data_file(option_values const& values) {
  return values.has("data") ? values.path("data").string() : shipped_file("digits.csv.gz", "data=FILE").string();
}

labelled_rows read_rows(option_values const& values) {
  labelled_rows made = read_labelled_rows(data_file(values));
  if (made.classes > most_classes) {
    throw input_error(data_file(values), 0, "has " + std::to_string(made.classes) + " classes; a perceptron here has " + std::to_string(most_classes) + " at most");
  }
  return made;
}

/// So that the greatest feature is 1.
float scale_of(row_table const& rows) {
  float greatest = 0;
  for (float const each : rows.values) greatest = std::max(greatest, std::abs(each));
  return greatest > 0 ? 1 / greatest : 1.0f;
}

class mlp_owner final : public task_owner {
 public:
  explicit mlp_owner(option_values const& values) : values_(values) {
    settings_.epochs = static_cast<std::uint32_t>(values_.integer("epochs"));
    settings_.batch = static_cast<std::uint32_t>(values_.integer("batch"));
    settings_.seed = static_cast<std::uint64_t>(values_.integer("seed"));
    settings_.rate = static_cast<float>(values_.real("rate"));
  }

  void prepare(executor& machine) override {
    for (char const* name : {"model", "losses", "plot"}) {
      if (values_.has(name)) atomic_file const writable{values_.path(name)};  // better known now than after the work
    }
    labelled_rows const all = read_rows(values_);
    row_split const split = split_rows(all.rows, settings_.seed);
    if (split.held_out.empty()) throw input_error(data_file(values_), 0, "has fewer than 5 rows: nothing could be held out");
    training_ = rows_of(all, split.training);
    held_out_ = rows_of(all, split.held_out);
    settings_.scale = scale_of(training_);
    std::vector<std::uint32_t> sizes{all.features};
    sizes.insert(sizes.end(), static_cast<std::size_t>(values_.integer("layers")), static_cast<std::uint32_t>(values_.integer("hidden")));
    sizes.push_back(all.classes);
    first_ = first_layers(sizes, settings_.seed);
    arrays_.emplace(machine, first_, training_, held_out_, settings_);
  }

  job_description describe() const override { return lull::describe(arrays_->task(), "mlp"); }
  void reset() override { arrays_->reset(); }
  std::vector<task_array> arrays() const override { return arrays_->written(); }
  std::vector<std::filesystem::path> inputs() const override { return {data_file(values_)}; }

  verification verify() override {
    double const loss = arrays_->epoch_loss().front() / static_cast<double>(training_.labels.size());
    double const expected = reference_first_loss(first_, training_, settings_);
    std::uint64_t const right = arrays_->epoch_right().back();
    std::uint64_t const found = reference_right(arrays_->layers(), held_out_, static_cast<double>(settings_.scale));
    std::uint64_t const apart = right > found ? right - found : found - right;
    char text[200];
    std::snprintf(text, sizeof text, "first epoch's loss %.6f, in double precision by another implementation %.6f; of %zu held out %llu right, by the other %llu",
                  loss, expected, held_out_.labels.size(), static_cast<unsigned long long>(right), static_cast<unsigned long long>(found));
    bool const close = std::abs(loss - expected) <= loss_tolerance * expected && apart <= 1 + held_out_.labels.size() / 1000;
    return {!arrays_->stopped() && close, text};
  }

  std::vector<std::string> write() override {
    std::vector<epoch_result> const epochs = results();
    std::vector<std::string> lines;
    if (arrays_->stopped()) lines.push_back("stopped: the loss is no number any more; try a lower rate than " + values_.spelling("rate"));
    std::string csv = "epoch,loss,accuracy\n";
    for (std::size_t at = 0; at < epochs.size(); ++at) {
      char text[96];
      std::snprintf(text, sizeof text, "%zu,%.9g,%.6f\n", at + 1, epochs[at].loss, epochs[at].accuracy);
      csv += text;
      if (at % ((epochs.size() + 9) / 10) != 0 && at + 1 != epochs.size()) continue;  // ten lines or so
      std::snprintf(text, sizeof text, "epoch %4zu  loss %.5f  held-out accuracy %.2f %%", at + 1, epochs[at].loss, 100 * epochs[at].accuracy);
      lines.push_back(text);
    }
    auto const say = [&](char const* name) { lines.push_back(std::string{name} + ": " + values_.path(name).string()); };
    if (values_.has("losses")) {
      write_file(values_.path("losses"), csv);
      say("losses");
    }
    if (values_.has("plot")) {
      write_file(values_.path("plot"), learning_curve_svg(epochs));
      say("plot");
    }
    if (values_.has("model") && !arrays_->stopped()) {
      write_mlp(values_.path("model"), {arrays_->layers(), settings_.scale});
      say("model");
    }
    return lines;
  }
  std::uint64_t failures() const override { return arrays_ && arrays_->stopped() ? 1 : 0; }

 private:
  std::vector<epoch_result> results() const {
    std::vector<double> const loss = arrays_->epoch_loss();
    std::vector<std::uint64_t> const right = arrays_->epoch_right();
    std::vector<epoch_result> made;
    for (std::size_t at = 0; at < loss.size(); ++at) {
      made.push_back({loss[at] / static_cast<double>(training_.labels.size()), static_cast<double>(right[at]) / static_cast<double>(held_out_.labels.size())});
    }
    return made;
  }

  option_values values_;
  mlp_settings settings_;
  row_table training_;
  row_table held_out_;
  std::vector<layer_values> first_;
  std::optional<mlp_arrays> arrays_;
};

class classify_owner final : public task_owner {
 public:
  explicit classify_owner(option_values const& values) : values_(values) {
    for (char const* name : {"model", "out"}) {
      if (!values_.has(name)) throw usage_error(std::string{"classify: "} + name + " is missing: give " + name + "=FILE");
    }
  }

  void prepare(executor& machine) override {
    atomic_file const writable{values_.path("out")};
    model_ = read_mlp(values_.path("model").string());
    labelled_rows const all = read_rows(values_);
    if (all.features != model_.layers.front().inputs) {
      throw input_error(data_file(values_), 0,
                        "has " + std::to_string(all.features) + " numbers a line before the label, and the perceptron takes " +
                            std::to_string(model_.layers.front().inputs));
    }
    rows_ = {all.values, all.labels};
    mlp_settings const settings{.epochs = 1, .batch = static_cast<std::uint32_t>(values_.integer("batch")), .scale = model_.scale};
    arrays_.emplace(machine, model_.layers, row_table{}, rows_, settings);
  }

  job_description describe() const override { return lull::describe(arrays_->task(), "classify"); }
  void reset() override { arrays_->reset(); }
  std::vector<task_array> arrays() const override { return arrays_->written(); }
  std::vector<std::filesystem::path> inputs() const override { return {values_.path("model"), data_file(values_)}; }

  verification verify() override {
    std::uint64_t const right = arrays_->epoch_right().front();
    std::uint64_t const found = reference_right(model_.layers, rows_, static_cast<double>(model_.scale));
    std::uint64_t const apart = right > found ? right - found : found - right;
    return {apart <= 1 + rows_.labels.size() / 1000, std::to_string(right) + " of " + std::to_string(rows_.labels.size()) +
                                                         " right, in double precision by another implementation " + std::to_string(found)};
  }

  std::vector<std::string> write() override {
    std::vector<std::uint32_t> const answers = arrays_->answers();
    std::vector<float> const certainty = arrays_->certainty();
    atomic_file file{values_.path("out")};
    for (std::size_t row = 0; row < answers.size(); ++row) {
      char line[64];
      std::snprintf(line, sizeof line, "%zu\t%u\t%.6f\n", row, answers[row], static_cast<double>(certainty[row]));
      file.write(line);
    }
    file.commit();
    std::uint64_t const right = arrays_->epoch_right().front();
    char text[96];
    std::snprintf(text, sizeof text, "%zu rows, %.2f %% as labelled: ", answers.size(), 100.0 * static_cast<double>(right) / static_cast<double>(answers.size()));
    return {text + values_.path("out").string()};
  }

 private:
  option_values values_;
  mlp_file model_;
  row_table rows_;
  std::optional<mlp_arrays> arrays_;
};

}  // namespace

task_entry mlp_entry() {
  return {.name = "mlp",
          .help = "train a perceptron on labelled rows",
          .options = mlp_options,
          .type = &type_of<mlp_task>,
          .make = [](option_values const& values) -> std::unique_ptr<task_owner> { return std::make_unique<mlp_owner>(values); }};
}

task_entry classify_entry() {
  return {.name = "classify",
          .help = "let a trained perceptron tell the classes of rows",
          .options = classify_options,
          .type = &type_of<mlp_task>,
          .make = [](option_values const& values) -> std::unique_ptr<task_owner> { return std::make_unique<classify_owner>(values); }};
}

}  // namespace lull
