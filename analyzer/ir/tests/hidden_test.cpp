// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The names of state that has no name in C++.
#include "analyzer/ir/hidden.h"

#include <gtest/gtest.h>

namespace streamsan::analyzer::ir {
namespace {

TEST(Hidden, PlacesAreKnownByTheirNames) {
  Place place{.name = name(Hidden::Data)};
  EXPECT_TRUE(is(place, Hidden::Data));
  EXPECT_FALSE(is(place, Hidden::Stream));
  place.name = "data";
  EXPECT_FALSE(is(place, Hidden::Data));
}

TEST(Hidden, AnOperandIsTheValueOfOneOnly) {
  Function function;
  const PlaceId block = function.add(Place{.name = name(Hidden::Data)});
  const Operand held{.kind = Operand::Kind::Value, .place = block};
  EXPECT_TRUE(is_value_of(function, held, Hidden::Data));
  EXPECT_FALSE(is_value_of(function, held, Hidden::Size));
  EXPECT_FALSE(is_value_of(function, {.kind = Operand::Kind::Address, .place = block}, Hidden::Data));
  EXPECT_FALSE(is_value_of(function, {.kind = Operand::Kind::Null}, Hidden::Data));
}

TEST(Hidden, APartOfAnExpressionIsFound) {
  const auto part = hidden_part("(*handle).$stream");
  ASSERT_TRUE(part.has_value());
  EXPECT_EQ(part->at, 10U);
  EXPECT_EQ(part->hidden, Hidden::Stream);
  EXPECT_EQ(hidden_part("$current_stream")->hidden, Hidden::CurrentStream);
  EXPECT_EQ(hidden_part("v.$data + n")->hidden, Hidden::Data);
  EXPECT_EQ(hidden_part("$streams")->hidden, std::nullopt);
  EXPECT_EQ(hidden_part("stream"), std::nullopt);
}

TEST(Hidden, ABlockKnowsItsClass) {
  EXPECT_EQ(class_of_block("at::Tensor::$data"), "at::Tensor");
  EXPECT_EQ(class_of_block("handle::$stream"), std::nullopt);
  EXPECT_EQ(class_of_block("C::data"), std::nullopt);
  EXPECT_EQ(class_of_block("$data"), std::nullopt);
  EXPECT_EQ(class_of_block(block_of("C::v_")), std::nullopt) << "that is a field, by the name of the container";
  EXPECT_EQ(block_of("C::v_"), "C::v_.$data");
}

}  // namespace
}  // namespace streamsan::analyzer::ir
