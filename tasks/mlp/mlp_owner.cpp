// SPDX-License-Identifier: Apache-2.0
#include <lull/tasks/mlp/mlp_owner.hpp>

#include <algorithm>
#include <cmath>
#include <cstdio>

#include <lull/host/error.hpp>
#include <lull/host/io/atomic_file.hpp>
#include <lull/host/io/shipped_file.hpp>
#include <lull/host/task/array_owner.hpp>
#include <lull/host/task/dialect_rows.hpp>
#include <lull/host/task/learning_curve.hpp>
#include <lull/tasks/mlp/mlp_file.hpp>
#include <lull/tasks/mlp/reference.hpp>

namespace lull {
namespace {

constexpr option label_row{"label", option_kind::text, "", "",
                           "column of labels, a name or a number from 1; default: the first that is there of one "
                           "called label, labels, target, class or outcome, the only one of text, a first one called "
                           "y, the last"};
constexpr option known_label_row{"label", option_kind::text, "", "",
                                 "column of labels, a name or a number from 1; default: as of mlp, but first one "
                                 "called as the model's, and after the only one of text the one at its place"};
constexpr option drop_row{"drop", option_kind::text, "", "",
                          "columns to leave out: names or numbers from 1, 'a,b', -1 is the last, or none; default: row "
                          "numbers (columns that count up, called index, id, row or nothing), R's row names"};

constexpr option mlp_options[] = {
    {"data", option_kind::path, "", "",
     "table with numbers and a label in each row, also .gz; default: 1,797 handwritten digits"},
    label_row,
    drop_row,
    header_row,
    delimiter_row,
    decimal_row,
    {"scale", option_kind::choice, "", "columns|all",
     "columns: each to mean 0 and standard deviation 1, as the model keeps them; all: by the largest number; default: "
     "columns, and all for the shipped digits, whose columns are alike"},
    {"layers", option_kind::integer, "2", "[1, 8]", "number of hidden layers"},
    {"hidden", option_kind::integer, "256", "[1, 65536]", "width of each hidden layer"},
    {"epochs", option_kind::integer, "", "[1, 100000]",
     "passes over the training rows; default: 30, or 40,000 divided by the training rows if that is more, at most "
     "1,000"},
    {"batch", option_kind::integer, "64", "[1, 65536]", "rows in a training step"},
    {"rate", option_kind::real, "0.001", "(0, inf)", "AdamW learning rate"},
    {"precision", option_kind::choice, "auto", "auto|bf16|fp32",
     "number format of the products; auto: bf16 on a GPU, fp32 on CPU threads"},
    {"seed", option_kind::integer, "1", "[0, inf)",
     "random seed of the first weights, the held-out rows and the shuffles"},
    {"model", option_kind::path, "", "", "file for the trained perceptron, .safetensors"},
    {"losses", option_kind::path, "", "", "file for loss and accuracy of each epoch, CSV"},
    {"plot", option_kind::path, "", "", "file for a picture of both, SVG"},
};

constexpr option classify_options[] = {
    {"model", option_kind::path, "", "", "perceptron from the task mlp, .safetensors"},
    {"data", option_kind::path, "", "",
     "table with numbers in each row, with a label or not, also .gz; default: 1,797 handwritten digits"},
    known_label_row,
    drop_row,
    header_row,
    delimiter_row,
    decimal_row,
    {"out", option_kind::path, "", "", "file for the answers: row, tab, class, tab, probability a line"},
    {"batch", option_kind::integer, "256", "[1, 65536]", "rows in a batch"},
    {"precision", option_kind::choice, "auto", "auto|bf16|fp32",
     "number format of the products; auto: bf16 on a GPU, fp32 on CPU threads"},
};

constexpr std::uint32_t max_classes = 1024;  // a thread goes through them one by one

/// AdamW moves a parameter by about the learning rate a step at most, and first weights are as large as 60 such steps.
/// 30 passes over 150 rows are hardly more steps than that: a small table needs more passes.
std::uint32_t default_epochs(std::size_t training_rows) {
  constexpr std::size_t trained_rows = 40'000;  // 625 steps of 64 rows; the shipped digits come to 43,140
  return static_cast<std::uint32_t>(std::clamp<std::size_t>(trained_rows / training_rows, 30, 1000));
}

mlp_precision precision_of(option_values const& values, executor_kind kind) {
  std::string const& asked = values.choice("precision");
  bool const rounds = asked == "auto" ? kind == executor_kind::cuda : asked == "bf16";
  return rounds ? mlp_precision::bf16 : mlp_precision::fp32;
}

char const* name_of(mlp_precision precision) { return precision == mlp_precision::bf16 ? "bf16" : "fp32"; }

/// Returns the unit roundoff: of 8 significant bits, or 24.
double roundoff_of(mlp_precision precision) { return precision == mlp_precision::bf16 ? 0x1p-8 : 0x1p-24; }

/// How far the first epoch's loss may be from the one in double precision, as a share of it.
///
/// fp32: a sum of `depth` terms errs by √depth·2⁻²⁴ or so, and steps carry it on; 10⁻³ is far above.
/// bf16: an operand errs by u = 2⁻⁸ of itself at most, evenly within that: a standard deviation of u/√3; a product of
/// two, and a sum of such products, √2·u/√3 of what it is a sum of, whatever the depth; n layers, one after the other,
/// √(2n/3)·u. What fp32 sums add, depth·2⁻²⁴, is nothing beside it. The loss moves by √2 times that, for its gradient
/// by the logits, softmax less label, is no longer than √2. So a row's loss has a standard deviation of √(4n/3)·u for
/// logits of the order of the loss; the mean over an epoch's rows, whose errors have either sign, stays well below, and
/// leaves room for what steps carry on. Source: Higham, Mary, "A new approach to probabilistic rounding error
/// analysis", SIAM J. Sci. Comput. 41, 2019.
double loss_tolerance(mlp_precision precision, std::size_t layers) {
  return precision == mlp_precision::bf16 ? std::sqrt(4.0 / 3.0 * static_cast<double>(layers)) * roundoff_of(precision)
                                          : 1e-3;
}

/// Allows for rows that rounding may decide, and one row in a thousand of all.
bool agree(std::uint64_t right, reference_answers const& expected, std::size_t rows) {
  std::uint64_t const apart = right > expected.right ? right - expected.right : expected.right - right;
  return apart <= 1 + rows / 1000 + expected.unsure;
}

std::string data_file(option_values const& values) {
  return values.has("data") ? values.path("data").string() : shipped_file("digits.csv.gz", "data=FILE").string();
}

table_options table_from(option_values const& values) {
  return {.label = values.has("label") ? values.text("label") : "",
          .drop = values.has("drop") ? values.text("drop") : "",
          .dialect = dialect_from(values)};
}

/// How the columns of the user's table were read.
std::vector<std::string> notes_of(option_values const& values, std::string const& taken) {
  return values.has("data") ? std::vector{"data: " + taken} : std::vector<std::string>{};
}

void check_classes(option_values const& values, std::uint64_t classes) {
  if (classes <= max_classes) return;
  throw input_error(
      data_file(values), 0,
      "has " + std::to_string(classes) + " classes; a perceptron here has " + std::to_string(max_classes) + " at most");
}

/// The results of an epoch.
struct epoch_result {
  double loss;      // mean over the training rows
  double accuracy;  // share of the held-out rows
};

std::string drawn(std::span<epoch_result const> epochs) {
  epoch_curve loss{"training loss", curve_axis::logarithmic, {}};
  epoch_curve accuracy{"held-out accuracy", curve_axis::share, {}};
  for (epoch_result const& each : epochs) {
    loss.values.push_back(each.loss);
    accuracy.values.push_back(each.accuracy);
  }
  return learning_curve_svg("Training loss and held-out accuracy of each epoch", loss, accuracy);
}

/// Returns the scale that makes the greatest feature 1.
float scale_of(row_table const& rows) {
  float greatest = 0;
  for (float const each : rows.values) greatest = std::max(greatest, std::abs(each));
  return greatest > 0 ? 1 / greatest : 1.0f;
}

class mlp_owner final : public array_owner<mlp_arrays> {
 public:
  explicit mlp_owner(option_values const& values) : array_owner("mlp", values, {"model", "losses", "plot"}) {
    if (values_.has("model") && values_.path("model").extension() == ".npz") {
      throw usage_error(
          "mlp: model=" + values_.path("model").string() +
          " is a name for NumPy's format, but models are safetensors files: give it the ending .safetensors");
    }
    settings_.batch = static_cast<std::uint32_t>(values_.integer("batch"));
    settings_.seed = static_cast<std::uint64_t>(values_.integer("seed"));
    settings_.rate = static_cast<float>(values_.real("rate"));
  }

  std::uint64_t max_rounds() const override { return arrays_->rounds(); }
  std::vector<std::filesystem::path> inputs() const override { return {data_file(values_)}; }

  verification verify() override {
    double const loss = arrays_->epoch_loss().front() / static_cast<double>(training_.labels.size());
    double const expected = reference_first_loss(first_, training_, settings_);
    std::uint64_t const right = arrays_->epoch_right().back();
    reference_answers const found = reference_right(arrays_->layers(), held_out_, static_cast<double>(settings_.scale),
                                                    roundoff_of(settings_.precision));
    char text[300];
    std::snprintf(text, sizeof text,
                  "in %s the first epoch's loss is %.6f, in double precision by another implementation %.6f; of %zu "
                  "held out %llu right, by the other %llu, of "
                  "which %llu within rounding",
                  name_of(settings_.precision), loss, expected, held_out_.labels.size(),
                  static_cast<unsigned long long>(right), static_cast<unsigned long long>(found.right),
                  static_cast<unsigned long long>(found.unsure));
    bool const close = std::abs(loss - expected) <= loss_tolerance(settings_.precision, first_.size()) * expected;
    return {!arrays_->stopped() && close && agree(right, found, held_out_.labels.size()), text};
  }

  std::vector<std::string> write() override {
    std::vector<epoch_result> epochs = results();
    epochs.erase(
        std::find_if(epochs.begin(), epochs.end(), [](epoch_result const& each) { return !std::isfinite(each.loss); }),
        epochs.end());
    std::vector<std::string> lines;
    if (arrays_->stopped())
      lines.push_back("stopped: the loss is no longer a number; try a lower rate than " + values_.spelling("rate"));
    std::string csv = "epoch,loss,accuracy\n";
    for (std::size_t at = 0; at < epochs.size(); ++at) {
      char text[96];
      std::snprintf(text, sizeof text, "%zu,%.9g,%.6f\n", at + 1, epochs[at].loss, epochs[at].accuracy);
      csv += text;
      if (at % ((epochs.size() + 9) / 10) != 0 && at + 1 != epochs.size()) continue;  // ten lines or so
      std::snprintf(text, sizeof text, "epoch %4zu  loss %.5f  held-out accuracy %.2f %%", at + 1, epochs[at].loss,
                    100 * epochs[at].accuracy);
      lines.push_back(text);
    }
    // the model first, because it took longest to make
    if (!arrays_->stopped()) {
      write_asked("model", lines, [&](std::filesystem::path const& path) {
        write_mlp(path, {arrays_->layers(), settings_.scale, columns_, names_});
      });
    }
    write_asked("losses", lines, [&](std::filesystem::path const& path) { write_file(path, csv); });
    write_asked("plot", lines, [&](std::filesystem::path const& path) { write_file(path, drawn(epochs)); });
    return lines;
  }
  /// Returns the last epoch's figures; `losses` has all epochs.
  std::vector<task_figure> figures() const override {
    epoch_result const last = results().back();
    return {{"loss", last.loss}, {"accuracy", last.accuracy}};
  }
  std::uint64_t failures() const override { return arrays_ && arrays_->stopped() ? 1 : 0; }
  std::vector<std::string> notes() const override { return notes_of(values_, taken_); }

 private:
  memory_need need(executor_kind kind) override {
    read_inputs(kind);
    return mlp_arrays::needs(sizes_, training_.labels.size(), held_out_.labels.size(), settings_);
  }
  mlp_arrays make(executor& executor) override {
    if (sizes_.empty()) read_inputs(executor.kind());
    first_ = first_layers(sizes_, settings_.seed);
    return {executor, first_, training_, held_out_, settings_};
  }

  void read_inputs(executor_kind kind) {
    labelled_rows const all = read_labelled_rows(data_file(values_), {}, table_from(values_));
    check_classes(values_, all.classes);
    row_split const split = split_rows(all.rows, settings_.seed);
    if (split.held_out.empty())
      throw input_error(data_file(values_), 0, "has fewer than 5 rows: nothing could be held out");
    training_ = table_of(all, split.training);
    held_out_ = table_of(all, split.held_out);
    settings_.epochs = values_.has("epochs") ? static_cast<std::uint32_t>(values_.integer("epochs"))
                                             : default_epochs(training_.labels.size());
    taken_ = all.taken;
    names_ = all.names;
    settings_.scaled_columns = values_.has("scale") ? values_.choice("scale") == "columns" : values_.has("data");
    if (settings_.scaled_columns) {
      columns_ = scaling_of(training_, all.features);
      apply(columns_, training_);
      apply(columns_, held_out_);
    }
    settings_.scale = settings_.scaled_columns ? 1 : scale_of(training_);
    settings_.precision = precision_of(values_, kind);
    sizes_ = {all.features};
    sizes_.insert(sizes_.end(), static_cast<std::size_t>(values_.integer("layers")),
                  static_cast<std::uint32_t>(values_.integer("hidden")));
    sizes_.push_back(all.classes);
  }

  std::vector<epoch_result> results() const {
    std::vector<double> const loss = arrays_->epoch_loss();
    std::vector<std::uint64_t> const right = arrays_->epoch_right();
    std::vector<epoch_result> made;
    for (std::size_t at = 0; at < loss.size(); ++at) {
      made.push_back({loss[at] / static_cast<double>(training_.labels.size()),
                      static_cast<double>(right[at]) / static_cast<double>(held_out_.labels.size())});
    }
    return made;
  }

  mlp_settings settings_;
  std::vector<std::uint32_t> sizes_;  // of the features, the hidden layers, the classes; empty: not read yet
  row_table training_;
  row_table held_out_;
  std::vector<layer_values> first_;
  column_scaling columns_;
  table_names names_;
  std::string taken_;
};

class classify_owner final : public array_owner<mlp_arrays> {
 public:
  explicit classify_owner(option_values const& values) : array_owner("classify", values, {"out"}) {
    for (char const* name : {"model", "out"}) {
      if (!values_.has(name))
        throw usage_error(std::string{"classify: "} + name + " is missing: give " + name + "=FILE");
    }
  }

  std::uint64_t max_rounds() const override { return arrays_->rounds(); }
  std::vector<std::filesystem::path> inputs() const override { return {values_.path("model"), data_file(values_)}; }

  verification verify() override {
    std::uint64_t const right = arrays_->epoch_right().front();
    reference_answers const found =
        reference_right(model_.layers, rows_, static_cast<double>(model_.scale), roundoff_of(precision_));
    return {agree(right, found, rows_.labels.size()),
            "in " + std::string{name_of(precision_)} + " " + std::to_string(right) + " of " +
                std::to_string(rows_.labels.size()) + (labelled_ ? " right" : " of class 0") +
                ", in double precision by another implementation " + std::to_string(found.right) + ", of which " +
                std::to_string(found.unsure) + " within rounding"};
  }

  std::vector<std::string> write() override {
    std::vector<std::uint32_t> const answers = arrays_->answers();
    std::vector<float> const certainty = arrays_->certainty();
    atomic_file file{values_.path("out")};
    for (std::size_t row = 0; row < answers.size(); ++row) {
      char probability[32];
      std::snprintf(probability, sizeof probability, "%.6f", static_cast<double>(certainty[row]));
      file.write(std::to_string(row) + "\t" + class_text(answers[row]) + "\t" + probability + "\n");
    }
    file.commit();
    if (!labelled_) return {std::to_string(answers.size()) + " rows: " + values_.path("out").string()};
    std::uint64_t const right = arrays_->epoch_right().front();
    char text[96];
    std::snprintf(text, sizeof text, "%zu rows, %.2f %% as labelled: ", answers.size(),
                  100.0 * static_cast<double>(right) / static_cast<double>(answers.size()));
    return {text + values_.path("out").string()};
  }
  std::vector<task_figure> figures() const override {
    if (!labelled_) return {};
    return {
        {"accuracy", static_cast<double>(arrays_->epoch_right().front()) / static_cast<double>(rows_.labels.size())}};
  }
  std::vector<std::string> notes() const override { return notes_of(values_, taken_); }

 private:
  memory_need need(executor_kind kind) override {
    read_inputs(kind);
    std::vector<std::uint32_t> sizes{model_.layers.front().inputs};
    for (layer_values const& each : model_.layers) sizes.push_back(each.outputs);
    memory_need made = mlp_arrays::needs(sizes, 0, rows_.labels.size(), settings());
    made.smaller = "batch";
    return made;
  }

  mlp_arrays make(executor& executor) override {
    if (rows_.labels.empty()) read_inputs(executor.kind());
    return {executor, model_.layers, row_table{}, rows_, settings()};
  }

  void read_inputs(executor_kind kind) {
    model_ = read_mlp(values_.path("model").string());
    table_options table = table_from(values_);
    table.names = model_.names;
    labelled_rows const all = read_rows_to_class(data_file(values_), model_.layers.front().inputs,
                                                 {.max_classes = model_.layers.back().outputs}, table);
    labelled_ = !all.labels.empty();
    rows_ = {all.values, labelled_ ? all.labels : std::vector<std::uint32_t>(all.rows)};
    apply(model_.columns, rows_);
    taken_ = all.taken;
    precision_ = precision_of(values_, kind);
  }

  std::string class_text(std::uint32_t number) const {
    return number < model_.names.classes.size() ? model_.names.classes[number] : std::to_string(number);
  }

  mlp_settings settings() const {
    return {.epochs = 1,
            .batch = static_cast<std::uint32_t>(values_.integer("batch")),
            .scale = model_.scale,
            .precision = precision_};
  }

  mlp_file model_;
  mlp_precision precision_ = mlp_precision::fp32;
  row_table rows_;  // without labels: all 0, so that at least those answers are judged
  bool labelled_ = true;
  std::string taken_;
};

}  // namespace

task_entry mlp_entry() {
  return {.name = "mlp",
          .help = "train a perceptron on labelled rows",
          .example = "mlp:epochs=100,losses=losses.csv,model=mlp.safetensors",
          .options = mlp_options,
          .type = [](option_values const&) { return type_of<mlp_task>(); },
          .make = make_owner<mlp_owner>};
}

task_entry classify_entry() {
  return {.name = "classify",
          .help = "classify rows with a trained perceptron",
          .example = "classify:model=mlp.safetensors,out=answers.tsv",
          .options = classify_options,
          .type = [](option_values const&) { return type_of<mlp_task>(); },
          .make = make_owner<classify_owner>};
}

}  // namespace lull
