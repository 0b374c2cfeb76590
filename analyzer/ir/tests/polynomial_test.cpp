// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Texts of offsets as polynomials.
#include "analyzer/ir/polynomial.h"

#include <gtest/gtest.h>

namespace streamsan::analyzer::ir {
namespace {

std::optional<Polynomial> parse(std::string_view text) {
  return Polynomial::parse(text, [](std::string_view word) { return std::string(word); });
}

/// What is left of `left` when `right` is taken from it; absent: not a number.
std::optional<std::int64_t> difference(std::string_view left, std::string_view right) {
  const auto a = parse(left), b = parse(right);
  if (!a || !b) return std::nullopt;
  const auto less = a->plus(*b, -1);
  return less ? less->constant() : std::nullopt;
}

TEST(Polynomial, AreMultipliedOut) {
  EXPECT_EQ(difference("(i + 1) * n - n", "i * n"), 0);
  EXPECT_EQ(difference("2 * (n + 3)", "n + n"), 6);
  EXPECT_EQ(difference("n - (n - 1)", "0"), 1);
  EXPECT_EQ(difference("-(n) + n", "-2"), 2);
  EXPECT_EQ(difference("a * b", "b * a"), 0);
  EXPECT_EQ(difference("n * 4", "n * 2"), std::nullopt);
}

TEST(Polynomial, OtherOperatorsAreVariablesWithinParentheses) {
  EXPECT_EQ(difference("(n / 2) * 4 + 4", "(n / 2) * 4"), 4);
  EXPECT_EQ(difference("(n / 2) * 4", "(m / 2) * 4"), std::nullopt);
  EXPECT_FALSE(parse("n / 2"));
  EXPECT_FALSE(parse("n << 2 + 1"));
  EXPECT_FALSE(parse("f(n)"));
  EXPECT_FALSE(parse("n * 0.5f"));
  EXPECT_FALSE(parse("(n + 1"));
  EXPECT_FALSE(parse(""));
}

TEST(Polynomial, NumbersThatDoNotFitAreNone) {
  EXPECT_TRUE(parse("9223372036854775807"));
  EXPECT_FALSE(parse("9223372036854775807 + 1"));
  EXPECT_FALSE(parse("9223372036854775807 * 2"));
  EXPECT_FALSE(parse("9223372036854775808"));
}

TEST(Polynomial, UsesAreNumberedAsWholeWords) {
  Function function;
  const auto integer = [&](const char* name) {
    return function.add(Place{.kind = Place::Kind::Local, .type = TypeKind::Integer, .name = name});
  };
  const PlaceId i = integer("i"), id = integer("id");
  EXPECT_EQ(numbered(function, {.text = "i + id * i - xi + p.i", .uses = {i, id}}), "$0 + $1 * $0 - xi + p.i");
}

}  // namespace
}  // namespace streamsan::analyzer::ir
