// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What the schema of an ATen operator says, and the sizes of what it returns.
#include <gtest/gtest.h>

#include <map>
#include <string>

#include "analyzer/interpreter/torch_schema.h"
#include "analyzer/interpreter/torch_shapes.h"

namespace streamsan::analyzer::interpreter {
namespace {

using Type = Schema::Type;

Schema schema(std::string_view text) {
  const auto result = parse_schema(text);
  EXPECT_TRUE(result.has_value()) << text;
  return result.value_or(Schema{});
}

TEST(Schema, SaysWhatIsWritten) {
  const Schema add = schema("add_.Tensor(Tensor(a!) self, Tensor other, *, Scalar alpha=1) -> Tensor(a!)");
  EXPECT_EQ(add.name, "add_");
  ASSERT_EQ(add.arguments.size(), 3U);
  EXPECT_TRUE(add.arguments[0].written);
  EXPECT_FALSE(add.arguments[1].written);
  EXPECT_EQ(add.arguments[2].type, Type::Scalar);
  EXPECT_EQ(add.arguments[2].name, "alpha");
  ASSERT_EQ(add.results.size(), 1U);
  EXPECT_EQ(add.marked(add.results[0].mark), 0U);
}

TEST(Schema, TellsViewsFromNewTensors) {
  const Schema view = schema("select.int(Tensor(a) self, int dim, SymInt index) -> Tensor(a)");
  EXPECT_EQ(view.results[0].mark, 'a');
  EXPECT_FALSE(view.results[0].written);
  const Schema split = schema("split.Tensor(Tensor(a -> *) self, SymInt split_size, int dim=0) -> Tensor(a)[]");
  EXPECT_EQ(split.results[0].type, Type::Tensors);
  EXPECT_EQ(split.marked(split.results[0].mark), 0U);
  EXPECT_EQ(schema("relu(Tensor self) -> Tensor").results[0].mark, 0);
}

TEST(Schema, ReadsTypesAndTuples) {
  const Schema sum =
      schema("sum.dim_IntList(Tensor self, int[1]? dim, bool keepdim=False, *, ScalarType? dtype=None) -> Tensor");
  EXPECT_EQ(sum.arguments[1].type, Type::OptionalIntegers);
  EXPECT_EQ(sum.arguments[3].type, Type::OptionalElementType);
  EXPECT_EQ(sum.argument("dtype"), 3U);
  EXPECT_FALSE(sum.argument("other").has_value());
  const Schema topk = schema("topk(Tensor self, SymInt k, int dim=-1) -> (Tensor values, Tensor indices)");
  EXPECT_EQ(topk.results.size(), 2U);
  EXPECT_TRUE(schema("record_stream(Tensor(a!) self, Stream s) -> ()").results.empty());
  EXPECT_EQ(schema("index.Tensor(Tensor self, Tensor?[] indices) -> Tensor").arguments[1].type, Type::OptionalTensors);
  EXPECT_FALSE(parse_schema("no schema").has_value());
}

struct Arguments {
  std::map<std::string, std::int64_t, std::less<>> numbers;
  std::map<std::string, Sizes, std::less<>> lists;
  std::map<std::string, Shape, std::less<>> tensors;

  [[nodiscard]] Given given() const {
    Given result;
    result.integer = [this](std::string_view name) {
      const auto found = numbers.find(name);
      return found == numbers.end() ? std::nullopt : std::optional(found->second);
    };
    result.integers = [this](std::string_view name) {
      const auto found = lists.find(name);
      return found == lists.end() ? std::nullopt : std::optional(found->second);
    };
    result.tensor = [this](std::string_view name) {
      const auto found = tensors.find(name);
      return found == tensors.end() ? nullptr : &found->second;
    };
    for (const auto& [name, shape] : tensors) result.all.push_back(&shape);
    return result;
  }
};

std::optional<Shape> view(const std::string& name, const Shape& of, Arguments arguments) {
  Schema schema;
  schema.name = name;
  arguments.tensors["self"] = of;
  return view_of(schema, arguments.given(), of);
}

TEST(Shapes, PartsBeginWhereTheyDo) {
  const Shape whole = contiguous({4, 6});
  const auto row = view("select", whole, {.numbers = {{"dim", 0}, {"index", 2}}});
  ASSERT_TRUE(row.has_value());
  EXPECT_EQ(row->sizes, Sizes({6}));
  EXPECT_EQ(row->offset, 12);
  const auto columns = view("narrow", whole, {.numbers = {{"dim", -1}, {"start", 2}, {"length", 3}}});
  ASSERT_TRUE(columns.has_value());
  EXPECT_EQ(columns->sizes, Sizes({4, 3}));
  EXPECT_EQ(columns->offset, 2);
  EXPECT_FALSE(columns->is_contiguous());
  const auto rest = view("slice", whole, {.numbers = {{"dim", 0}, {"start", -1}}});
  ASSERT_TRUE(rest.has_value());
  EXPECT_EQ(rest->offset, 18);
}

TEST(Shapes, ViewsThatWouldHaveToBeCopiedAreNone) {
  const Shape whole = contiguous({4, 6});
  EXPECT_EQ(view("view", whole, {.lists = {{"size", {-1}}}})->sizes, Sizes({24}));
  const Shape turned = *view("t", whole, {});
  EXPECT_EQ(turned.sizes, Sizes({6, 4}));
  EXPECT_FALSE(view("reshape", turned, {.lists = {{"shape", {-1}}}}).has_value());
  EXPECT_EQ(view("expand", contiguous({1, 6}), {.lists = {{"size", {8, -1}}}})->strides, Sizes({0, 1}));
}

TEST(Shapes, NewTensorsHaveTheirRules) {
  const auto sizes = [](const std::string& name, const Arguments& arguments) {
    Schema schema;
    schema.name = name;
    return sizes_of_new(schema, arguments.given());
  };
  EXPECT_EQ(sizes("mul", {.tensors = {{"other", contiguous({6})}, {"self", contiguous({4, 1})}}}), Sizes({4, 6}));
  EXPECT_EQ(sizes("mm", {.tensors = {{"mat2", contiguous({6, 5})}, {"self", contiguous({4, 6})}}}), Sizes({4, 5}));
  EXPECT_EQ(
      sizes("sum", {.numbers = {{"keepdim", 1}}, .lists = {{"dim", {-1}}}, .tensors = {{"self", contiguous({4, 6})}}}),
      Sizes({4, 1}));
  EXPECT_EQ(sizes("sum", {.tensors = {{"self", contiguous({4, 6})}}}), Sizes{});
  EXPECT_EQ(sizes("zeros", {.lists = {{"size", {3, 3}}}}), Sizes({3, 3}));
  EXPECT_EQ(sizes("empty_like", {.tensors = {{"self", contiguous({4, 6})}}}), Sizes({4, 6}));
}

}  // namespace
}  // namespace streamsan::analyzer::interpreter
