// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "analyzer/ir/links.h"

#include <gtest/gtest.h>

namespace streamsan::analyzer::ir {
namespace {

using Units = std::vector<Links>;
using Answers = std::vector<bool>;

/// Uses and tells of the same.
Links::Uses both(const std::string& name) { return {{name}, {name}}; }

TEST(Links, WhoCallsAFunctionOfAnotherDependsOnIt) {
  EXPECT_EQ(depend_on_others(Units{{{{"use", {}}}, {"fill"}}, {{{"fill", {}}}, {}}}), (Answers{true, false}));
  EXPECT_EQ(depend_on_others(Units{{{{"use", {}}}, {"printf"}}, {{{"fill", {}}}, {}}}), (Answers{false, false}));
}

TEST(Links, WhoUsesAFieldDependsOnOtherFunctionsThatTellOfIt) {
  const Links uses{{{"run", {{"Lane::stream"}, {}}}}, {}};
  EXPECT_EQ(depend_on_others(Units{uses, {{{"wait", both("Lane::stream")}}, {}}}), (Answers{true, false}));
  EXPECT_EQ(depend_on_others(Units{uses, {{{"wait", both("Ring::stream")}}, {}}}), (Answers{false, false}));
  EXPECT_EQ(depend_on_others(Units{uses, {{{"launch", {{"Lane::stream"}, {}}}}, {}}}), (Answers{false, false}));
}

TEST(Links, FunctionsOfACommonHeaderTellNothingNew) {
  const Links one{{{"inline_wait", both("Lane::stream")}, {"main", {}}}, {}};
  EXPECT_EQ(depend_on_others(Units{one, one}), (Answers{false, false}));
  Links other = one;
  other.functions["reset"] = both("Lane::stream");
  EXPECT_EQ(depend_on_others(Units{one, other}), (Answers{true, false}))
      << "the second one knows all that the first does";
}

TEST(Links, WorkAloneTellsOnlyOtherMethodsOfTheClass) {
  const auto linked = [](Place::Kind base, OpKind kind) {
    Function function;
    function.usr = "f";
    const PlaceId object = function.add(Place{.kind = base, .type = TypeKind::Object, .name = "lane"});
    const PlaceId field = function.add(
        Place{.kind = Place::Kind::Field, .type = TypeKind::Stream, .name = "stream", .owner = "Lane", .base = object});
    function.blocks.push_back({.ops = {Op{.kind = kind, .stream = {.kind = Operand::Kind::Value, .place = field}}}});
    Program program;
    program.functions.emplace("f", std::move(function));
    return links_of(program).functions.at("f");
  };
  EXPECT_EQ(linked(Place::Kind::Parameter, OpKind::Enqueue).told.size(), 0U);
  EXPECT_EQ(linked(Place::Kind::Parameter, OpKind::Enqueue).used, std::set<std::string>{"Lane::stream"});
  EXPECT_EQ(linked(Place::Kind::Parameter, OpKind::Wait).told.size(), 1U);
  EXPECT_EQ(linked(Place::Kind::This, OpKind::Enqueue).told.size(), 1U);
}

}  // namespace
}  // namespace streamsan::analyzer::ir
