// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "analyzer/ir/links.h"

#include <gtest/gtest.h>

namespace streamsan::analyzer::ir {
namespace {

using Units = std::vector<std::size_t>;

/// Uses and tells of the same.
Links::Uses both(const std::string& name) { return {.used = {name}, .changed = {name}}; }
Links::Uses uses(const std::string& name) { return {.used = {name}}; }
Links::Uses calls(const std::string& usr) { return {.calls = {usr}}; }

/// Of which of the others does the unit need a function?
Units needed(const Links& unit, const std::vector<Links>& others) {
  const Neighbours::Needed found = Neighbours(others).of(unit, others.size());
  return {found.units.begin(), found.units.end()};
}

TEST(Links, WhoCallsAFunctionNeedsTheUnitThatDefinesIt) {
  const Links fill{.functions = {{"fill", {}}}}, other{.functions = {{"other", {}}}};
  EXPECT_EQ(needed({.functions = {{"use", calls("fill")}}}, {other, fill}), Units{1});
  EXPECT_EQ(needed({.functions = {{"use", calls("printf")}}}, {other, fill}), Units{});
}

TEST(Links, WhatTheyCallInTurnIsNeededToo) {
  const Links fill{.functions = {{"fill", calls("wait")}, {"unrelated", calls("other")}}};
  const Links wait{.functions = {{"wait", {}}}}, other{.functions = {{"other", {}}}};
  EXPECT_EQ(needed({.functions = {{"use", calls("fill")}}}, {fill, other, wait}), (Units{0, 2}));
}

TEST(Links, WhoUsesAFieldNeedsOtherFunctionsThatTellOfIt) {
  const Links unit{.functions = {{"run", uses("Lane::stream")}}};
  EXPECT_EQ(needed(unit, {{.functions = {{"wait", both("Lane::stream")}}}}), Units{0});
  EXPECT_EQ(needed(unit, {{.functions = {{"wait", both("Ring::stream")}}}}), Units{});
  EXPECT_EQ(needed(unit, {{.functions = {{"launch", uses("Lane::stream")}}}}), Units{});
}

TEST(Links, FunctionsOfACommonHeaderTellNothingNew) {
  const Links one{.functions = {{"inline_wait", both("Lane::stream")}, {"main", {}}}};
  EXPECT_EQ(needed(one, {one, one}), Units{});
  Links other = one;
  other.functions["reset"] = both("Lane::stream");
  EXPECT_EQ(needed(one, {other}), Units{0});
  EXPECT_EQ(needed(other, {one}), Units{}) << "it knows all that the first does";
}

TEST(Links, AFunctionOfAHeaderThatNobodyCallsIsTheFirstOnesMatter) {
  Links unit{.functions = {{"run", {}}, {"inline_help", calls("fill")}}};
  unit.functions["inline_help"].of_header = true;
  const std::vector<Links> all{{.functions = {{"fill", {}}}}, unit, unit};
  const Neighbours neighbours(all);
  EXPECT_EQ(neighbours.of(unit, 1).units, std::set<std::size_t>{0});
  EXPECT_EQ(neighbours.of(unit, 2).units, std::set<std::size_t>{});
  unit.functions["run"] = calls("inline_help");
  EXPECT_EQ(neighbours.of(unit, 2).units, std::set<std::size_t>{0});
}

TEST(Links, WhatOthersUseIsNotTheUnitsMatter) {
  const Links fill{.functions = {{"fill", uses("Lane::stream")}}}, wait{.functions = {{"wait", both("Lane::stream")}}};
  EXPECT_EQ(needed({.functions = {{"use", calls("fill")}}}, {fill, wait}), Units{0});
}

TEST(Links, WhatATellerCallsCountsInItsOwnUnit) {
  const Links unit{.functions = {{"run", uses("Lane::stream")}}}, far{.functions = {{"far", {}}}};
  Links teller{.functions = {{"tell", both("Lane::stream")}, {"near", calls("far")}}};
  teller.functions["tell"].calls = {"near", "far"};
  const std::vector<Links> others{teller, far};
  const Neighbours::Needed found = Neighbours(others).of(unit, others.size());
  EXPECT_EQ(found.units, std::set<std::size_t>{0});
  EXPECT_EQ(found.functions, (std::set<std::string>{"near", "tell"}));
}

TEST(Links, ProgramsTellEachOtherNothing) {
  const Links program{.functions = {{"main", uses("stream")}}, .is_program = true};
  Links part{.functions = {{"wait", both("stream")}}};
  EXPECT_EQ(needed(program, {part}), Units{0});
  part.is_program = true;
  EXPECT_EQ(needed(program, {part}), Units{});
}

TEST(Links, ReadsWhatItPrints) {
  const Links links{
      .functions = {{"f", {.used = {"A::s", "g"}, .changed = {"g"}, .calls = {"h"}}}, {"h", {.of_header = true}}},
      .is_program = true};
  const std::string text = print(links);
  Links read;
  ASSERT_TRUE(read_links(text, read));
  EXPECT_EQ(print(read), text);
  EXPECT_EQ(text, "streamsan-links 1\nmain\nf f\nu A::s\nu g\nt g\nc h\nh h\n");
}

TEST(Links, RefusesWhatIsDamagedOrOfAnotherVersion) {
  for (const char* const text : {"streamsan-links 2\n", "streamsan-links 1\nu field\n", "streamsan-links 1\nx y\n",
                                 "streamsan-links 1\nf us", "f f\n", "", "streamsan-links 1"}) {
    Links read;
    EXPECT_FALSE(read_links(text, read)) << text;
  }
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
    return links_of(program, "").functions.at("f");
  };
  EXPECT_EQ(linked(Place::Kind::Parameter, OpKind::Enqueue).changed.size(), 0U);
  EXPECT_EQ(linked(Place::Kind::Parameter, OpKind::Enqueue).used, std::set<std::string>{"Lane::stream"});
  EXPECT_EQ(linked(Place::Kind::Parameter, OpKind::Wait).changed.size(), 1U);
  EXPECT_EQ(linked(Place::Kind::This, OpKind::Enqueue).changed.size(), 1U);
  EXPECT_EQ(linked(Place::Kind::Local, OpKind::Wait).changed.size(), 0U) << "an object of the function's own";
  EXPECT_EQ(linked(Place::Kind::Local, OpKind::Wait).used.size(), 0U);
}

}  // namespace
}  // namespace streamsan::analyzer::ir
