// SPDX-License-Identifier: Apache-2.0
// Training and asking a perceptron through its owners, on CPU threads.
#include <algorithm>
#include <filesystem>
#include <limits>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include <lull/host/error.hpp>
#include <lull/host/executor.hpp>
#include <lull/host/io/atomic_file.hpp>
#include <lull/host/io/checkpoint_file.hpp>
#include <lull/host/solo/solo_run.hpp>
#include <lull/tasks/mlp/mlp_file.hpp>
#include <lull/tasks/mlp/mlp_owner.hpp>
#include <lull/tasks/mlp/program.hpp>
#include <lull/tasks/mlp/reference.hpp>
#include <lull/tasks/mlp/shuffled.hpp>
#include <lull/tests/support/test_folder.hpp>

namespace lull {
namespace {

namespace fs = std::filesystem;

std::string phases_of(mlp_program const& program) {
  std::string found;
  for (std::uint64_t round = 0; round < program.phases(); ++round) {
    mlp_point const at = program.at(round);
    found += "lfLbuj"[static_cast<int>(at.what)];
    if (at.what == mlp_phase::forward || at.what == mlp_phase::backward) found += std::to_string(at.layer);
    if (at.what == mlp_phase::update || at.what == mlp_phase::judge)
      found += std::to_string(at.epoch) + std::to_string(at.step) + ' ';
  }
  return found;
}

TEST(mlp_program_table, says_each_phase_of_two_epochs) {
  EXPECT_EQ(phases_of({.layers = 3, .train_steps = 2, .judge_steps = 1, .epochs = 2}),
            "lf0f1Lb1u00 f0f1Lb1u01 f0f1j02 f0f1Lb1u10 f0f1Lb1u11 f0f1j12 ");
}

TEST(mlp_program_table, goes_back_through_all_layers_but_the_first_and_the_last) {
  EXPECT_EQ(phases_of({.layers = 1, .train_steps = 1, .judge_steps = 1, .epochs = 1}), "lLu00 j01 ");
  EXPECT_EQ(phases_of({.layers = 2, .train_steps = 1, .judge_steps = 1, .epochs = 1}), "lf0Lu00 f0j01 ");
  EXPECT_EQ(phases_of({.layers = 5, .train_steps = 1, .judge_steps = 0, .epochs = 1}), "lf0f1f2f3Lb3b2b1u00 ");
}

TEST(shuffled_places, are_each_thing_once_and_others_for_another_key) {
  for (std::uint32_t const count : {1U, 2U, 3U, 4U, 5U, 17U, 256U, 257U, 1438U}) {
    shuffled const one{1, count};
    shuffled const other{2, count};
    std::set<std::uint32_t> seen;
    std::uint32_t alike = 0;
    for (std::uint32_t place = 0; place < count; ++place) {
      seen.insert(one.at(place));
      alike += one.at(place) == other.at(place) ? 1 : 0;
    }
    EXPECT_EQ(seen.size(), count);
    EXPECT_EQ(*seen.rbegin(), count - 1);
    EXPECT_LE(alike, 2 + count / 10);
  }
}

class mlp : public testing::Test {
 protected:
  using given = std::vector<std::pair<std::string, std::string>>;
  std::unique_ptr<task_owner> owner(task_entry const& entry, given const& more) const {
    option_values values{entry.options};
    for (auto const& [name, text] : more) values.set(name, text);
    return entry.make(values);
  }
  std::vector<std::string> run(task_owner& job) {
    job.prepare(*executor_);
    EXPECT_TRUE(run_to_end(job, *executor_).finished);
    return write_result(job);
  }
  std::string file(char const* name) const { return (folder_ / name).string(); }
  std::string text(char const* name) const { return read_file(folder_ / name, 1 << 24); }

  task_entry const train_ = mlp_entry();
  task_entry const ask_ = classify_entry();
  std::unique_ptr<executor> executor_ = make_executor({.kind = executor_kind::threads});
  test::test_folder files_;
  fs::path const folder_ = files_.path();
};

TEST_F(mlp, learns_the_shipped_digits_and_answers_as_it_learnt) {
  auto const job = owner(train_, {{"hidden", "64"},
                                  {"epochs", "12"},
                                  {"rate", "0.003"},
                                  {"model", file("m.safetensors")},
                                  {"losses", file("l.csv")},
                                  {"plot", file("l.svg")}});
  run(*job);
  verification const judged = job->verify();
  EXPECT_TRUE(judged.ok) << judged.message;
  std::string const losses = text("l.csv");
  EXPECT_EQ(losses.substr(0, 20), "epoch,loss,accuracy\n");
  EXPECT_EQ(std::count(losses.begin(), losses.end(), '\n'), 13);
  double const accuracy = std::stod(losses.substr(losses.rfind(',') + 1));
  EXPECT_GT(accuracy, 0.95);
  std::string const plot = text("l.svg");
  EXPECT_EQ(plot.substr(0, 5), "<?xml");
  std::size_t const points = plot.find("points=\"") + 8;
  EXPECT_EQ(std::count(plot.begin() + static_cast<std::ptrdiff_t>(points),
                       plot.begin() + static_cast<std::ptrdiff_t>(plot.find("/>", points)), ','),
            12);  // epochs

  auto const question = owner(ask_, {{"model", file("m.safetensors")}, {"out", file("a.tsv")}, {"batch", "100"}});
  run(*question);
  EXPECT_TRUE(question->verify().ok);
  std::string const answers = text("a.tsv");
  EXPECT_EQ(std::count(answers.begin(), answers.end(), '\n'), 1797);
  EXPECT_EQ(answers.substr(0, 2), "0\t");
}

TEST_F(mlp, learns_in_bf16_too) {
  auto const job = owner(train_, {{"hidden", "64"},
                                  {"epochs", "12"},
                                  {"rate", "0.003"},
                                  {"precision", "bf16"},
                                  {"losses", file("l.csv")},
                                  {"model", file("m.safetensors")}});
  run(*job);
  verification const judged = job->verify();
  EXPECT_TRUE(judged.ok) << judged.message;
  EXPECT_EQ(judged.message.substr(0, 7), "in bf16");
  std::string const losses = text("l.csv");
  EXPECT_GT(std::stod(losses.substr(losses.rfind(',') + 1)), 0.95);

  auto const question = owner(ask_, {{"model", file("m.safetensors")}, {"out", file("a.tsv")}, {"precision", "bf16"}});
  run(*question);
  EXPECT_TRUE(question->verify().ok) << question->verify().message;
}

TEST_F(mlp, keeps_to_the_reference_with_any_number_of_layers) {
  for (char const* const precision : {"fp32", "bf16"}) {
    for (char const* const layers : {"1", "3"}) {
      auto const job = owner(
          train_, {{"hidden", "29"}, {"layers", layers}, {"epochs", "2"}, {"batch", "100"}, {"precision", precision}});
      run(*job);
      verification const judged = job->verify();
      EXPECT_TRUE(judged.ok) << layers << ": " << judged.message;
    }
  }
}

TEST_F(mlp, tells_more_classes_than_a_tile_is_wide) {
  std::string rows;
  for (int row = 0; row < 400; ++row) {
    int const label = row * 7 % 40;
    rows += std::to_string(label % 8 - 4) + "," + std::to_string(label / 8 - 2) + "," + std::to_string(row % 3) + "," +
            std::to_string(label) + "\n";
  }
  write_file(folder_ / "forty.csv", rows);
  for (char const* const precision : {"fp32", "bf16"}) {
    auto const job = owner(train_, {{"data", file("forty.csv")},
                                    {"hidden", "64"},
                                    {"epochs", "30"},
                                    {"rate", "0.01"},
                                    {"precision", precision},
                                    {"losses", file("l.csv")}});
    run(*job);
    verification const judged = job->verify();
    EXPECT_TRUE(judged.ok) << judged.message;
    std::string const losses = text("l.csv");
    EXPECT_GT(std::stod(losses.substr(losses.rfind(',') + 1)), 0.9) << precision;
  }
}

TEST(reference, is_unsure_of_rows_that_rounding_decides) {
  std::vector<layer_values> const one{{2, 2, {1, 0, 0, 1}, {0, 0}}};  // the logits are the row
  row_table const rows{{1, 0.99f, 1, 0.9f, 0, 1}, {0, 0, 0}};
  reference_answers const rounded = reference_right(one, rows, 1, 0x1p-8);
  EXPECT_EQ(rounded.right, 2U);
  EXPECT_EQ(rounded.unsure, 1U);
  EXPECT_EQ(reference_right(one, rows, 1, 0x1p-24).unsure, 0U);
}

TEST_F(mlp, answers_for_rows_without_labels_and_says_no_accuracy) {
  write_mlp(folder_ / "m.safetensors", {{{2, 2, {1, 0, 0, 1}, {0, 0}}}, 1});  // the greater of two numbers
  write_file(folder_ / "plain.csv", "1,2\n4,3\n5,6\n");
  write_file(folder_ / "labelled.csv", "1,2,1\n4,3,1\n5,6,1\n");
  auto const answers_to = [&](char const* data) {
    auto const question = owner(ask_, {{"model", file("m.safetensors")}, {"data", file(data)}, {"out", file("a.tsv")}});
    auto const lines = run(*question);
    EXPECT_TRUE(question->verify().ok);
    EXPECT_TRUE(lines.back().starts_with("data: separated by commas")) << lines.back();
    return lines.front();
  };
  EXPECT_EQ(answers_to("plain.csv"), "3 rows: " + file("a.tsv"));
  std::string const plain = text("a.tsv");
  EXPECT_EQ(plain.substr(0, 4), "0\t1\t");
  EXPECT_EQ(answers_to("labelled.csv"), "3 rows, 66.67 % as labelled: " + file("a.tsv"));
  EXPECT_EQ(text("a.tsv"), plain);
}

/// If all features are 0, only biases learn: a row missing from their gradients shows in the fourth digit.
TEST_F(mlp, biases_learn_as_the_reference_says_to_five_digits) {
  std::vector<std::uint32_t> const sizes{5, 20, 3};
  auto const first = first_layers(sizes, 1);
  row_table rows{std::vector<float>(250 * 5), {}};
  for (std::uint32_t row = 0; row < 250; ++row) rows.labels.push_back(row % 11 < 7 ? 0 : row % 5 == 0 ? 2 : 1);
  mlp_settings const settings{.epochs = 1, .batch = 40, .rate = 0.05f};
  mlp_arrays const arrays{*executor_, first, rows, row_table{}, settings};
  EXPECT_TRUE(run_to_end(describe(arrays.task()), *executor_).finished);
  EXPECT_NEAR(arrays.epoch_loss().front() / 250, reference_first_loss(first, rows, settings), 1e-5);
}

TEST_F(mlp, the_same_settings_give_the_same_model_bit_for_bit) {
  given settings{{"hidden", "20"}, {"epochs", "2"}, {"model", file("one.safetensors")}};
  run(*owner(train_, settings));
  settings.back().second = file("two.safetensors");
  run(*owner(train_, settings));
  EXPECT_EQ(text("one.safetensors"), text("two.safetensors"));
  settings.emplace_back("seed", "2");
  run(*owner(train_, settings));
  EXPECT_NE(text("one.safetensors"), text("two.safetensors"));
}

TEST_F(mlp, a_loss_that_is_no_number_ends_the_job_and_says_so) {
  auto const job =
      owner(train_, {{"hidden", "32"}, {"epochs", "5"}, {"rate", "1e30"}, {"model", file("m.safetensors")}});
  auto const lines = run(*job);
  EXPECT_NE(lines.front().find("no longer a number"), std::string::npos);
  for (std::string const& line : lines) EXPECT_EQ(line.find("nan"), std::string::npos) << line;
  EXPECT_LT(lines.size(), 3U);  // of later epochs nothing is known
  EXPECT_EQ(job->failures(), 1U);
  EXPECT_FALSE(job->verify().ok);
  EXPECT_FALSE(fs::exists(file("m.safetensors")));
}

/// The file is as Python's safetensors.numpy.save_file writes it: with another order of the data, and without
/// checksums.
/// Three classes that only the last, small column tells apart, beside a large one.
std::string table_of_scales(bool by_name) {
  std::string rows = ",size,weight,kind\n";
  char const* const names[] = {"ant", "bee", "cat"};
  for (int row = 0; row < 150; ++row) {
    std::string const kind = by_name ? names[row % 3] : std::to_string(row % 3);
    rows += std::to_string(row) + "," + std::to_string(900 + row * 37 % 100) + "," +
            std::to_string(0.001 * (row % 3) + 0.0001 * (row * 7 % 5)) + "," + kind + "\n";
  }
  return rows;
}

TEST_F(mlp, learns_from_columns_of_any_scale_and_keeps_the_scales) {
  auto const accuracy = [&](given more) {
    more.insert(more.end(), {{"hidden", "16"}, {"epochs", "40"}, {"rate", "0.01"}, {"batch", "16"}});
    auto const job = owner(train_, more);
    run(*job);
    EXPECT_TRUE(job->verify().ok) << job->verify().message;
    return job->figures()[1].value;
  };
  write_file(folder_ / "scales.csv", table_of_scales(true));
  EXPECT_GE(accuracy({{"data", file("scales.csv")}, {"model", file("m.safetensors")}}), 0.95);
  EXPECT_LT(accuracy({{"data", file("scales.csv")}, {"scale", "all"}}), 0.9);
  mlp_file const model = read_mlp(file("m.safetensors"));
  EXPECT_EQ(model.names.classes, (std::vector<std::string>{"ant", "bee", "cat"}));
  EXPECT_EQ(model.columns.shift.size(), 2U);

  write_file(folder_ / "some.csv", "weight,size\n0.0001,920\n0.0012,930\n0.0022,940\n");
  auto const question =
      owner(ask_, {{"model", file("m.safetensors")}, {"data", file("some.csv")}, {"out", file("a.tsv")}});
  auto const said = run(*question);
  EXPECT_EQ(
      said.back(),
      "data: separated by commas, names in the first line; 2 numbers a row, no label; numbers by the model's names");
  std::string const answers = text("a.tsv");
  EXPECT_EQ(answers.substr(0, 6), "0\tant\t");
  EXPECT_NE(answers.find("1\tbee\t"), std::string::npos) << answers;
  EXPECT_NE(answers.find("2\tcat\t"), std::string::npos) << answers;
  auto const again =
      owner(ask_, {{"model", file("m.safetensors")}, {"data", file("scales.csv")}, {"out", file("a.tsv")}});
  run(*again);
  EXPECT_GE(again->figures()[0].value, 0.95);
}

TEST_F(mlp, says_how_it_read_the_table) {
  write_file(folder_ / "scales.csv", table_of_scales(false));
  auto const job = owner(train_, {{"data", file("scales.csv")}, {"hidden", "8"}, {"epochs", "1"}});
  EXPECT_EQ(run(*job).back(),
            "data: separated by commas, names in the first line; 2 numbers a row, label is column 4 (kind); left out: "
            "column 1; 3 classes by number");
  auto const by_name =
      owner(train_, {{"data", file("scales.csv")}, {"label", "kind"}, {"drop", "size"}, {"epochs", "1"}});
  EXPECT_NE(run(*by_name).back().find("left out: column 2 (size)"), std::string::npos);
  EXPECT_THROW(owner(train_, {{"data", file("scales.csv")}, {"label", "none"}})->prepare(*executor_), input_error);
}

/// A checkpoint from rows in one scale must not go on with rows in others.
TEST_F(mlp, columns_of_their_own_scales_have_a_state_of_their_own) {
  write_file(folder_ / "scales.csv", table_of_scales(false));
  auto const arrays_of = [&](given more) {
    more.insert(more.end(), {{"hidden", "8"}, {"epochs", "1"}});
    auto const job = owner(train_, more);
    job->prepare(*executor_);
    return job->arrays().size();
  };
  std::size_t const plain = arrays_of({});
  EXPECT_EQ(arrays_of({{"data", file("scales.csv")}, {"scale", "all"}}), plain);
  EXPECT_EQ(arrays_of({{"data", file("scales.csv")}}), plain + 1);
}

/// Before columns had scales of their own, a checkpoint of such a table had one array fewer.
TEST_F(mlp, an_older_checkpoint_of_a_table_is_refused_with_what_to_do) {
  write_file(folder_ / "scales.csv", table_of_scales(false));
  auto const description_of = [&](given more) {
    more.insert(more.end(), {{"data", file("scales.csv")}, {"hidden", "8"}, {"epochs", "30"}});
    auto const job = owner(train_, more);
    job->prepare(*executor_);
    checkpoint_description made{"mlp", "mlp:epochs=30,hidden=8", "0123abcd", 1, {}};
    for (task_array const& each : job->arrays()) made.arrays.push_back(each.array);
    return made;
  };
  std::vector<std::byte> buffer(1 << 16);
  std::uint64_t const cursor = 0;
  auto const path = folder_ / "mlp.safetensors";
  write_checkpoint(
      path, description_of({{"scale", "all"}}), {&cursor, 1},
      [](std::size_t, std::uint64_t, std::span<std::byte> piece) { std::ranges::fill(piece, std::byte{0}); }, buffer);
  try {
    read_checkpoint(
        path, description_of({}), [](std::size_t, std::uint64_t, std::span<std::byte const>) {}, buffer);
    ADD_FAILURE() << "read";
  } catch (input_error const& refused) {
    std::string const said = refused.what();
    EXPECT_NE(said.find("lacks the array scaled_columns"), std::string::npos) << said;
    EXPECT_NE(said.find("written by another version of the task"), std::string::npos) << said;
    EXPECT_NE(said.find("remove the file, or name another folder for checkpoints, to start again"), std::string::npos);
  }
}

TEST_F(mlp, models_of_other_programs_answer_too) {
  write_mlp(folder_ / "ours.safetensors", {{{2, 1, {1, 0.5f}, {3}}}, 2});
  std::string data;
  for (float const each : {3.0f, 2.0f, 1.0f, 0.5f}) data.append(reinterpret_cast<char const*>(&each), sizeof each);
  std::string const header = R"({"bias0":{"dtype":"F32","shape":[1],"data_offsets":[0,4]},)"
                             R"("scale":{"dtype":"F32","shape":[1],"data_offsets":[4,8]},)"
                             R"("weights0":{"dtype":"F32","shape":[2,1],"data_offsets":[8,16]}})";
  write_file(folder_ / "theirs.safetensors", static_cast<char>(header.size()) + std::string(7, '\0') + header + data);
  mlp_file const theirs = read_mlp(file("theirs.safetensors"));
  mlp_file const ours = read_mlp(file("ours.safetensors"));
  EXPECT_EQ(theirs.scale, ours.scale);
  ASSERT_EQ(theirs.layers.size(), 1U);
  EXPECT_EQ(theirs.layers[0].weights, ours.layers[0].weights);
  EXPECT_EQ(theirs.layers[0].bias, ours.layers[0].bias);
}

TEST_F(mlp, models_in_npz_are_refused_with_what_to_do) {
  write_file(folder_ / "m.npz", "PK\x03\x04 and so on");
  try {
    read_mlp(file("m.npz"));
    ADD_FAILURE() << "read";
  } catch (input_error const& wrong) {
    EXPECT_EQ(
        std::string{wrong.what()},
        file("m.npz") +
            ": is a zip archive, as .npz files are, and no safetensors file; train the perceptron again. An .npz "
            "that Lull wrote becomes such a file in Python: safetensors.numpy.save_file(dict(numpy.load(\"old.npz\")"
            "), \"new.safetensors\")");
  }
  try {
    owner(train_, {{"model", file("m.npz")}});
    ADD_FAILURE() << "trained";
  } catch (usage_error const& wrong) {
    EXPECT_EQ(std::string{wrong.what()},
              "mlp: model=" + file("m.npz") +
                  " is a name for NumPy's format, but models are safetensors files: give it the ending .safetensors");
  }
}

TEST_F(mlp, files_that_do_not_fit_are_refused) {
  write_file(folder_ / "few.csv", "1,2,0\n3,4,1\n");
  EXPECT_THROW(owner(train_, {{"data", file("few.csv")}})->prepare(*executor_), input_error);
  EXPECT_THROW(owner(ask_, {}), usage_error);
  EXPECT_THROW(owner(ask_, {{"model", file("few.csv")}, {"out", file("a.tsv")}})->prepare(*executor_), input_error);
  write_mlp(folder_ / "m.safetensors", {{{3, 2, std::vector<float>(6), std::vector<float>(2)}}, 1});
  EXPECT_EQ(read_mlp(file("m.safetensors")).layers.front().inputs, 3U);
  EXPECT_THROW(owner(ask_, {{"model", file("m.safetensors")}, {"out", file("a.tsv")}})->prepare(*executor_),
               input_error);  // 64 features
  write_mlp(folder_ / "m.safetensors", {{{3, 2, std::vector<float>(6), std::vector<float>(2)},
                                         {4, 2, std::vector<float>(8), std::vector<float>(2)}},
                                        1});
  EXPECT_THROW(read_mlp(file("m.safetensors")), input_error);
  for (float const wrong : {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity()}) {
    write_mlp(folder_ / "m.safetensors", {{{3, 2, {0, 0, 0, wrong, 0, 0}, std::vector<float>(2)}}, 1});
    EXPECT_THROW(read_mlp(file("m.safetensors")), input_error);
  }
}

}  // namespace
}  // namespace lull
