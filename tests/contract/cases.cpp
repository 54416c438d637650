// SPDX-License-Identifier: Apache-2.0
// Every shipped side task under contract, one line each.
#include <functional>
#include <memory>
#include <string_view>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include <lull/graph/pagerank.hpp>
#include <lull/graph/pagerank_owner.hpp>
#include <lull/tasks/counted_compute.hpp>
#include <lull/tasks/synthetic.hpp>
#include <lull/tasks/synthetic_owner.hpp>
#include <lull/tests/contract/contract.hpp>
#include <lull/tests/contract/images_owner.hpp>
#include <lull/tests/contract/mlp_owner.hpp>
#include <lull/tests/contract/pagerank_owner.hpp>
#include <lull/tests/contract/probe_owner.hpp>

namespace lull {
namespace {

using testing::Values;

/// A task as the command line makes it, with these options.
auto made_by(task_entry (*entry)(), std::vector<std::pair<std::string_view, std::string_view>> given) {
  return [entry, given] {
    task_entry const task = entry();
    option_values values{task.options};
    for (auto const& [name, text] : given) values.set(name, text);
    return task.make(values);
  };
}

auto const a_probe = [] { return std::make_unique<probe_owner>(); };
auto const a_compute = made_by(compute_entry, {{"items", "50"}, {"rounds", "3"}, {"fma", "20"}, {"grain", "2"}});
auto const a_streaming = made_by(streaming_entry, {{"items", "12"}, {"rounds", "4"}});
auto const a_small_mlp = [] { return std::make_unique<small_mlp_owner>(); };
auto const an_images = [] { return std::make_unique<small_images_owner>(); };
auto const a_small_pagerank = [] { return std::make_unique<small_pagerank_owner>(); };
auto const a_pagerank = made_by(pagerank_entry, {{"kronecker", "10"}, {"sweeps", "4"}});

INSTANTIATE_TEST_SUITE_P(probe, contract, Values(under_contract<probe_task>("probe", a_probe)));
INSTANTIATE_TEST_SUITE_P(compute, contract, Values(under_contract<counted_compute_task>("compute", a_compute)));
INSTANTIATE_TEST_SUITE_P(streaming, contract, Values(under_contract<streaming_task>("streaming", a_streaming)));
INSTANTIATE_TEST_SUITE_P(pagerank, contract, Values(under_contract<pagerank>("pagerank", a_pagerank)));
INSTANTIATE_TEST_SUITE_P(small_pagerank, contract,
                         Values(under_contract<small_pagerank>("small_pagerank", a_small_pagerank)));
INSTANTIATE_TEST_SUITE_P(mlp, contract, Values(under_contract<mlp_task>("mlp", a_small_mlp)));
INSTANTIATE_TEST_SUITE_P(images, contract, Values(under_contract<resize_unfed>("images", an_images)));

}  // namespace
}  // namespace lull
