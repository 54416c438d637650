// SPDX-License-Identifier: Apache-2.0
// `lull choose`, and what `lull harvest` makes of a profile.
#include <fstream>
#include <string>
#include <vector>

#include <lull/tests/apps/lull/program.hpp>
#include <lull/tests/host/profile/profile_files.hpp>

namespace lull {
namespace {

class chosen : public program {
 protected:
  std::string written(std::string const& name, json const& what) const {
    std::ofstream{file(name)} << what.dump();
    return file(name);
  }
  std::string profiles() const {
    json large = profiled("mlp", "512", {measured("1ms", 0.9, std::vector{3.0, 4.0}, 3.5)});
    large["machine_bytes"] = 64 << 20;
    large["alone_items_per_s"] = 2000;
    return written("profiles.json", profiles_of({profiled("mlp", "64", {measured("1ms", 0.9, {})}), large}));
  }
  std::string bubbles() const {
    json const site{{"site", "recv"}, {"p50_us", 1000.0}, {"share", 0.5}, {"min_free_bytes", 100 << 20}};
    return written("bubbles.json", {{"schema", "lull.bubbles/2"}, {"gates", {{{"sites", {site}}}}}});
  }
};

TEST_F(chosen, the_best_is_named_behind_a_table) {
  outcome const found = ask("choose " + profiles() + " " + bubbles());
  EXPECT_EQ(found.code, 0);
  EXPECT_EQ(found.text, R"(  harvest     items/s    a job in      memory  slowdown  task
   90.0 %         900           -    64.0 MiB    4.00 %  mlp:batch=512
   90.0 %         450           -     3.0 MiB         -  mlp:batch=64
The device had 100.0 MiB free at the least.
Best: mlp:batch=512
)");
}

TEST_F(chosen, a_bound_and_a_reserve_are_kept) {
  json const bounded = json::parse(ask("choose " + profiles() + " " + bubbles() + " --max-slowdown 1% --json").text);
  EXPECT_EQ(bounded["schema"], "lull.choice/1");
  EXPECT_EQ(bounded["tasks"][0]["task"], "mlp:batch=64");
  EXPECT_DOUBLE_EQ(bounded["tasks"][1]["items_per_s"], 900.0 / 4);
  json const reserved = json::parse(ask("choose " + profiles() + " " + bubbles() + " --reserve 50MiB --json").text);
  EXPECT_EQ(reserved["tasks"][0]["task"], "mlp:batch=64");
  EXPECT_EQ(reserved["tasks"][1]["fits"], false);
  outcome const none = ask("choose " + profiles() + " " + bubbles() + " --reserve 99MiB");
  EXPECT_EQ(none.code, 1);
  EXPECT_NE(none.text.find("(does not fit)"), std::string::npos);
  EXPECT_NE(none.text.find("None fits"), std::string::npos) << none.text;
}

TEST_F(chosen, what_cannot_be_is_refused) {
  for (auto const& [arguments, why] : std::vector<std::pair<std::string, std::string>>{
           {"", "PROFILES is required"},
           {profiles() + " " + file("none.json"), "none.json: it is no file that can be read"},
           {bubbles() + " " + bubbles(), "schema is lull.bubbles/2"},
           {profiles() + " " + bubbles() + " --reserve much", "--reserve: "},
           {profiles() + " " + bubbles() + " --max-slowdown 1", "--max-slowdown: \"1\" is no share"}}) {
    outcome const found = ask("choose " + arguments);
    EXPECT_EQ(found.code, 2) << found.text;
    EXPECT_NE(found.text.find(why), std::string::npos) << found.text;
  }
}

TEST_F(chosen, a_harvest_is_told_what_was_profiled_and_says_where_it_is_not) {
  std::string const harvest =
      "harvest --executor threads --task compute:items=64,rounds=64 --segment 500us --pairs 1 --iterations 10 "
      "--profile " +
      file("profiles.json");
  profiles();
  EXPECT_NE(ask(harvest).text.find("--profile needs --max-slowdown"), std::string::npos);
  EXPECT_EQ(ask(harvest + " --max-slowdown 5%").text.find("is not used"), std::string::npos);
  written("profiles.json", profiles_of({profiled("mlp", "64", {measured("1ms", 0.9, {})})}, "0.1.0"));
  EXPECT_NE(ask(harvest + " --max-slowdown 5%").text.find("--profile is not used: the profiles are of Lull 0.1.0"),
            std::string::npos);
  std::ofstream{file("profiles.json")} << "no JSON";
  outcome const refused = ask(harvest + " --max-slowdown 5%");
  EXPECT_EQ(refused.code, 2) << refused.text;
  EXPECT_NE(refused.text.find("profiles.json: it is not JSON"), std::string::npos) << refused.text;
}

}  // namespace
}  // namespace lull
