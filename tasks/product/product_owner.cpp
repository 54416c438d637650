// SPDX-License-Identifier: Apache-2.0
#include <lull/tasks/product/product_owner.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <random>
#include <span>
#include <string>
#include <vector>

#include <lull/host/array.hpp>
#include <lull/host/error.hpp>
#include <lull/host/task/counter_random.hpp>
#include <lull/tasks/product/product_operands.hpp>
#include <lull/tasks/product/tile_product.hpp>

namespace lull {
namespace {

constexpr std::array product_options{
    option{"rows", option_kind::integer, "1024", "[1, 65536]", "rows of the result"},
    option{"columns", option_kind::integer, "1024", "[1, 65536]", "columns of the result"},
    option{"depth", option_kind::integer, "1024", "[1, 65536]", "terms of each sum"},
    option{"count", option_kind::integer, "1", "[1, 65536]", "number of products in a round"},
    option{"rounds", option_kind::integer, "1", "[1, 1000000000]", "number of rounds"},
    option{"seed", option_kind::integer, "1", "[0, 9223372036854775807]",
           "random seed of the operands, which are in [-1, 1)"},
    option{"leave", option_kind::choice, "within", "within|saved|behind",
           "how blocks leave a tile: within it, and it is done again; within it, and its saved sums continue; or only "
           "after its end, up to 50 us later, for comparison"},
};

task_type type_by_leaving(option_values const& values) {
  std::string const& leave = values.choice("leave");
  if (leave == "saved") return type_of<saved_product>();
  return leave == "behind" ? type_of<undivided_product>() : type_of<plain_product>();
}

class product_owner final : public task_owner {
 public:
  explicit product_owner(option_values const& values) : values_(values) {}

  memory_need needs(executor_kind kind) override {
    std::uint64_t const numbers = (a().step + b().step + pitch() * shape().rows) * shape().count;
    std::uint64_t bytes = numbers * sizeof(bfloat16) + 2 * sizeof(tensor_map);
    if (values_.choice("leave") == "saved") {
      std::uint64_t const sums = kind == executor_kind::cuda ? large_tiles::rows * large_tiles::columns : 0;
      bytes += large_tiles{shape()}.number() * (saved_sums::parts * sizeof(std::uint32_t) + sums * sizeof(float));
    }
    return {.machine_bytes = bytes, .preparing_bytes = max_piece, .smaller = "rows, columns, depth or count"};
  }

  void prepare(executor& executor) override {
    executor_ = &executor;
    a_ = {executor, a().step * shape().count};
    b_ = {executor, b().step * shape().count};
    result_ = {executor, pitch() * shape().rows * shape().count};
    fill(a_, 0);
    fill(b_, 1);
    work_.of = {shape(), {a_.data(), a().pitch, a().step}, {b_.data(), b().pitch, b().step}, nullptr};
    maps_ = maps_of(executor, work_.of);
    work_.of.maps = maps_.data();
    work_.to = {result_.data(), pitch(), pitch() * shape().rows};
    work_.rounds = static_cast<std::uint64_t>(values_.integer("rounds"));
    if (values_.choice("leave") == "saved") save_tiles(executor);
  }

  bool may_give_way() const override { return true; }

  job_description describe() const override {
    if (executor_ == nullptr) throw usage_error{"the task has no arrays yet: call prepare first"};
    job_description made = described();
    made.draws_power = true;
    return made;
  }

  void reset() override {
    result_.fill_zero();
    if (steps_.size() != 0) steps_.fill_zero();
  }
  std::vector<task_array> arrays() const override {
    return {array_of("result", result_, {shape().count, shape().rows, pitch()})};
  }

  verification verify() override {
    std::mt19937_64 random{1};
    large_shape const& shape = work_.of.shape;
    std::vector<bfloat16> b(work_.of.b.step);
    std::vector<bfloat16> a(shape.depth);
    std::vector<bfloat16> found(shape.columns);
    double worst = 0;  // share of what rounding allows
    for (int matrix = 0; matrix < matrices_checked; ++matrix) {
      std::uint64_t const count = random() % shape.count;
      executor_->read(b.data(), b_.data() + count * work_.of.b.step, b.size() * sizeof(bfloat16));
      for (int i = 0; i < rows_checked; ++i) {
        std::uint64_t const row = i == 0 ? 0 : i == 1 ? shape.rows - 1 : random() % shape.rows;
        executor_->read(a.data(), a_.data() + count * work_.of.a.step + row * work_.of.a.pitch,
                        a.size() * sizeof(bfloat16));
        executor_->read(found.data(), result_.data() + count * work_.to.step + row * work_.to.pitch,
                        found.size() * sizeof(bfloat16));
        for (std::uint32_t column = 0; column < shape.columns; ++column) {
          double sum = 0;
          double size = 0;
          for (std::uint32_t k = 0; k < shape.depth; ++k) {
            double const term = static_cast<double>(static_cast<float>(a[k])) *
                                static_cast<double>(static_cast<float>(b[column * work_.of.b.pitch + k]));
            sum += term;
            size += std::abs(term);
          }
          // Sums in fp32 in any order, however tensor cores cut their terms off: depth × 2^-23 of all terms' sizes
          // (Higham, "Accuracy and Stability of Numerical Algorithms", section 3.1, with a unit roundoff of 2^-23);
          // then half a unit of bf16.
          double const allowed = shape.depth * std::ldexp(size, -23) + std::ldexp(std::abs(sum), -8);
          double const off = std::abs(static_cast<double>(static_cast<float>(found[column])) - sum);
          if (!(off <= allowed)) {
            return {false, "product " + std::to_string(count) + ", row " + std::to_string(row) + ", column " +
                               std::to_string(column) + " is " + std::to_string(static_cast<float>(found[column])) +
                               ", expected " + std::to_string(sum)};
          }
          if (allowed > 0) worst = std::max(worst, off / allowed);
        }
      }
    }
    return {true, std::to_string(matrices_checked * rows_checked) +
                      " rows are what double precision gives, the worst element off by " + std::to_string(worst) +
                      " of what rounding allows"};
  }

  std::vector<std::string> write() override { return {}; }
  std::vector<task_figure> figures() const override {
    double const of_one = static_cast<double>(shape().rows) * shape().columns * shape().depth;
    return {{"multiply_adds", of_one * shape().count * static_cast<double>(work_.rounds)}};
  }

 private:
  job_description described() const {
    if (values_.choice("leave") == "within") return lull::describe(work_, "product");
    if (values_.choice("leave") == "saved")
      return lull::describe(saved_product{work_.of, work_.to, work_.finish, work_.rounds, saved_}, "product");
    return lull::describe(undivided_product{work_.of, work_.to, work_.finish, work_.rounds}, "product");
  }

  static constexpr int matrices_checked = 4;
  static constexpr int rows_checked = 8;
  static constexpr std::size_t max_piece = std::size_t{2} << 20;  // bytes, of what is filled at once

  large_shape shape() const { return {number("rows"), number("columns"), number("depth"), number("count")}; }
  product_operand a() const { return operand_at(nullptr, minor::depth, shape().rows, shape().depth); }
  product_operand b() const { return operand_at(nullptr, minor::depth, shape().columns, shape().depth); }
  std::uint64_t pitch() const { return (shape().columns + 7U) / 8 * 8; }

  void save_tiles(executor& executor) {
    std::size_t const tiles = large_tiles{work_.of.shape}.number();
    steps_ = {executor, tiles * saved_sums::parts};
    if (executor.kind() == executor_kind::cuda) sums_ = {executor, tiles * large_tiles::rows * large_tiles::columns};
    saved_ = {sums_.data(), steps_.data()};
  }

  std::uint32_t number(std::string_view name) const { return static_cast<std::uint32_t>(values_.integer(name)); }

  void fill(device_array<bfloat16>& array, std::uint64_t stream) const {
    counter_random const random{static_cast<std::uint64_t>(values_.integer("seed")), stream};
    std::vector<bfloat16> piece(std::min(array.size(), max_piece / sizeof(bfloat16)));
    for (std::size_t first = 0; first < array.size(); first += piece.size()) {
      std::size_t const count = std::min(piece.size(), array.size() - first);
      for (std::size_t i = 0; i < count; ++i)
        piece[i] = bfloat16{static_cast<float>(random.at(first + i) >> 40) * 0x1p-23F - 1};
      executor_->write(array.data() + first, piece.data(), count * sizeof(bfloat16));
    }
  }

  option_values values_;
  executor* executor_ = nullptr;
  device_array<bfloat16> a_;
  device_array<bfloat16> b_;
  device_array<bfloat16> result_;
  device_array<tensor_map> maps_;
  device_array<float> sums_;
  device_array<std::uint32_t> steps_;
  saved_sums saved_;
  plain_product work_{};
};

}  // namespace

task_entry product_entry() {
  return {"product",
          "only matrix products in bf16, on tensor cores",
          "product:rows=4096,columns=4096,depth=4096,rounds=10",
          product_options,
          type_by_leaving,
          make_owner<product_owner>};
}

}  // namespace lull
