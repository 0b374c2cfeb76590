// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Names that stand where the program has none.
#include "analyzer/ir/unnamed.h"

#include <gtest/gtest.h>

namespace streamsan::analyzer::ir {
namespace {

TEST(Unnamed, AParameterIsNamedByItsPosition) {
  Place place{.kind = Place::Kind::Parameter, .name = unnamed_parameter(2), .number = 2};
  EXPECT_EQ(place.name, "parameter 3");
  EXPECT_TRUE(is_unnamed_parameter(place));
  place.name = "stream";
  EXPECT_FALSE(is_unnamed_parameter(place));
}

TEST(Unnamed, ALambdasFieldIsCaptured) {
  Place place{.kind = Place::Kind::Field, .name = "s", .owner = kLambda};
  EXPECT_TRUE(is_captured(place));
  place.owner = "Holder";
  EXPECT_FALSE(is_captured(place));
}

TEST(Unnamed, AnElementOfALoopOverARange) {
  Function function;
  const PlaceId array = function.add(Place{.type = TypeKind::Object, .name = "streams"});
  const auto element = [&](const char* index) {
    return function.add(Place{.kind = Place::Kind::Index,
                              .base = array,
                              .index = function.add(Expr{.text = index, .uses = {}, .constant = {}})});
  };
  const PlaceId each = element(kEach);
  EXPECT_TRUE(is_of_each(function, each));
  EXPECT_TRUE(is_of_each(function, function.add(Place{.kind = Place::Kind::Field, .name = "s", .base = each})));
  EXPECT_FALSE(is_of_each(function, element("i")));
  EXPECT_FALSE(is_of_each(function, array));
  EXPECT_FALSE(is_of_each(function, kNoPlace));
}

TEST(Unnamed, ClassesAndDestructorsByTheirNames) {
  EXPECT_TRUE(is_tensor_class("at::TensorBase"));
  EXPECT_FALSE(is_tensor_class("at::TensorIterator"));
  EXPECT_TRUE(is_destructor("c:@S@Holder@F@~Holder#"));
  EXPECT_FALSE(is_destructor("c:@S@Holder@F@Holder#"));
}

}  // namespace
}  // namespace streamsan::analyzer::ir
