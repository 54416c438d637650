// SPDX-License-Identifier: Apache-2.0
#include <fstream>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include <lull/host/error.hpp>
#include <lull/host/profile/machine_profiles.hpp>
#include <lull/tests/host/profile/profile_files.hpp>
#include <lull/tests/support/test_folder.hpp>

namespace lull {
namespace {

using namespace std::chrono_literals;

class machine_profiles_read : public testing::Test {
 protected:
  std::string written(std::string const& text) const {
    std::ofstream{folder_.at("profiles.json")} << text;
    return folder_.at("profiles.json");
  }
  machine_profiles read(json const& file) const { return read_profiles(written(file.dump())); }
  std::string refusal_of(std::string const& text) const {
    try {
      read_profiles(written(text));
    } catch (error const& why) {
      return why.what();
    }
    return "not refused";
  }

 private:
  test::test_folder folder_;
};

TEST_F(machine_profiles_read, a_file_is_read_back) {
  json small = profiled("mlp", "64", {measured("10ms", 0.9, std::vector{0.1, 0.3}, 0.2), measured("1ms", 0.8, {})});
  small["alone_jobs_per_s"] = 0.5;
  json other = profiled("images", "1", {measured("1ms", 0.7, {})});
  other["machine_bytes"] = nullptr;
  small["taken_bytes"] = 4 << 20;
  machine_profiles const found = read(profiles_of({small, profiled("mlp", "512", {measured("1ms", 0.7, {})}), other}));
  EXPECT_EQ(found.executor, "threads");
  EXPECT_EQ(found.gpu, "");
  ASSERT_EQ(found.works.size(), 3U);
  EXPECT_EQ(found.works[0].task, "mlp");
  EXPECT_EQ(found.works[0].label, "mlp:batch=64");
  EXPECT_EQ(found.works[1].label, "mlp:batch=512");
  EXPECT_EQ(found.works[2].label, "images");
  EXPECT_EQ(found.works[0].machine_bytes, 4U << 20) << "more than it says";
  EXPECT_EQ(found.works[1].machine_bytes, 3U << 20);
  EXPECT_FALSE(found.works[2].machine_bytes);
  EXPECT_EQ(found.works[0].items_per_s, 1000);
  EXPECT_EQ(found.works[0].jobs_per_s, 0.5);
  EXPECT_FALSE(found.works[1].jobs_per_s);
  ASSERT_EQ(found.works[0].lengths.size(), 2U);
  EXPECT_EQ(found.works[0].lengths[0].longest, 1ms) << "the shortest is the first";
  EXPECT_FALSE(found.works[0].lengths[0].slowdown);
  EXPECT_DOUBLE_EQ(found.works[0].lengths[1].slowdown->high, 0.003);
  EXPECT_DOUBLE_EQ(found.works[0].lengths[1].slowdown->estimate, 0.002);
}

TEST_F(machine_profiles_read, what_is_no_such_file_is_refused) {
  for (char const* const none : {"/no/such/file", "/tmp", "/dev/zero"}) EXPECT_THROW(read_profiles(none), input_error);
  EXPECT_NE(refusal_of("no JSON").find("it is not JSON of schema lull.profile/2"), std::string::npos);
  EXPECT_NE(refusal_of("[1]").find("schema is not told"), std::string::npos);
  EXPECT_NE(refusal_of(R"({"schema": "lull.report/2"})").find("schema is lull.report/2"), std::string::npos);
  EXPECT_NE(refusal_of(profiles_of({}).dump()).find("there is no profile in it"), std::string::npos);
  EXPECT_NE(refusal_of(profiles_of({profiled("mlp", "1", {})}).dump()).find("no lengths"), std::string::npos);
  json broken = profiles_of({profiled("mlp", "1", {measured("1ms", 0.7, {})})});
  broken["profiles"][0]["lengths"][0]["longest_bubble"] = "long";
  EXPECT_NE(refusal_of(broken.dump()).find("\"long\" is not a duration"), std::string::npos)
      << refusal_of(broken.dump());
  broken["profiles"][0].erase("lengths");
  EXPECT_NE(refusal_of(broken.dump()).find("lengths"), std::string::npos);
  EXPECT_NE(refusal_of(std::string(4'000'001, ' ')).find("is larger than 4000000 bytes"), std::string::npos);
  std::string const unlike = refusal_of("{\"schema\": \"\xff" + std::string(1'000, 'x') + "\"}");
  EXPECT_LT(unlike.size(), 500U) << unlike;
  EXPECT_EQ(unlike.find('\xff'), std::string::npos);
}

TEST_F(machine_profiles_read, a_number_with_a_point_or_an_exponent_may_be_whole) {
  json one = profiles_of({profiled("mlp", "1", {measured("1ms", 0.7, {})})});
  one["profiles"][0]["machine_bytes"] = "HERE";
  std::string const text = one.dump();
  auto const put = [&](std::string const& number) {
    return std::string{text}.replace(text.find("\"HERE\""), 6, number);
  };
  for (char const* const number : {"3000", "3000.0", "3e3", "0.3E+4", "300000e-2"})
    EXPECT_EQ(read_profiles(written(put(number))).works[0].machine_bytes, 3000U) << number;
  for (char const* const number : {"0.5", "-1.0", "1e300", "9007199254740993.0"})
    EXPECT_NE(refusal_of(put(number)).find("machine_bytes is no count"), std::string::npos) << number;
  EXPECT_EQ(refusal_of("\xef\xbb\xbf" + put("3")), "not refused") << "a byte order mark may come first";
  EXPECT_NE(refusal_of("\n\xef\xbb\xbf" + put("3")).find("it is not JSON"), std::string::npos);
  for (std::string const rest : {"", "\n", "{}", "garbage"})
    EXPECT_NE(refusal_of(put("3") + '\0' + rest).find("it holds a zero byte"), std::string::npos) << rest;
}

TEST_F(machine_profiles_read, numbers_that_cannot_be_are_refused) {
  json const good = profiles_of({profiled("mlp", "1", {measured("1ms", 0.7, std::vector{0.1, 0.3}, 0.2)})});
  EXPECT_EQ(refusal_of(good.dump()), "not refused");
  for (auto const& [at, value] : std::vector<std::pair<std::string, json>>{{"/machine_bytes", -1},
                                                                           {"/machine_bytes", 1e30},
                                                                           {"/machine_bytes", "3"},
                                                                           {"/alone_items_per_s", -1},
                                                                           {"/alone_jobs_per_s", 1e308},
                                                                           {"/lengths", {{"a", 1}}},
                                                                           {"/lengths/0/longest_bubble", "0"},
                                                                           {"/lengths/0/harvest_ratio", 1e300},
                                                                           {"/lengths/0/training/ci95_pct", {90, -50}},
                                                                           {"/lengths/0/training/ci95_pct", {0.1}},
                                                                           {"/lengths/0/training/slowdown_pct", -101},
                                                                           {"/task/name", 1}}) {
    json bad = good;
    bad[json::json_pointer{"/profiles/0" + at}] = value;
    EXPECT_NE(refusal_of(bad.dump()), "not refused") << at << " " << value;
  }
}

TEST_F(machine_profiles_read, names_are_printable) {
  json one = profiled("mlp", "1\x1b[31m", {measured("1ms", 0.7, {})});
  machine_profiles const found = read(profiles_of({one, profiled("mlp", "2", {measured("1ms", 0.7, {})})}));
  EXPECT_EQ(found.works[0].label, "mlp:batch=1?[31m");
}

TEST_F(machine_profiles_read, a_slowdown_that_noise_hides_is_not_supposed) {
  auto const assumed = [&](std::vector<json> lengths) {
    return slowdown_to_assume(read(profiles_of({profiled("mlp", "1", std::move(lengths))})).works.front());
  };
  EXPECT_FALSE(assumed({measured("1ms", 0.7, {})}));
  EXPECT_FALSE(assumed({measured("1ms", 0.7, std::vector{-45.0, 130.0}, 12)}));
  EXPECT_DOUBLE_EQ(*assumed({measured("1ms", 0.7, std::vector{5.0, 30.0}, 14)}), 0.05) << "no less, for all the noise";
  EXPECT_DOUBLE_EQ(*assumed({measured("1ms", 0.7, std::vector{-0.3, 0.4}, 0.1)}), 0.004) << "tame, whatever the noise";
  EXPECT_DOUBLE_EQ(
      *assumed({measured("1ms", 0.7, std::vector{2.0, 4.0}, 3), measured("10ms", 0.9, std::vector{0.1, 0.3}, 0.2)}),
      0.04)
      << "of all lengths the most";
}

TEST_F(machine_profiles_read, a_runtime_of_this_machine_and_version_is_told) {
  runtime side{{.executor = {.kind = executor_kind::threads, .processors = 1}, .max_slowdown = 0.01}};
  json const one = profiled("mlp", "1", {measured("1ms", 0.7, std::vector{0.1, 0.3}, 0.2)});
  EXPECT_EQ(assume_slowdown(side, read(profiles_of({one, one}))), "");
  EXPECT_EQ(assume_slowdown(side, read(profiles_of({one}, "0.1.0"))),
            "the profiles are of Lull 0.1.0, and this is 0.2.0; profile the tasks again");
  json many = profiles_of({});
  for (int name = 0; name < 65; ++name) many["profiles"].push_back(profiled(std::to_string(name), "1", one["lengths"]));
  EXPECT_NE(assume_slowdown(side, read(many)).find("more than 64 names"), std::string::npos);
  json named = profiles_of({one});
  named["machine"]["gpu"] = {{"name", "NVIDIA H200"}};
  EXPECT_NE(assume_slowdown(side, read(named)), "");
  json gpu = profiles_of({one});
  gpu["executor"] = "cuda";
  gpu["machine"]["gpu"] = {{"name", "NVIDIA H200"}};
  EXPECT_EQ(assume_slowdown(side, read(gpu)),
            "the profiles are of an NVIDIA H200, and this is CPU threads; profile the tasks here");
}

}  // namespace
}  // namespace lull
