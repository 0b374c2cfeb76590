// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "analyzer/ir/links.h"

#include <gtest/gtest.h>

namespace streamsan::analyzer::ir {
namespace {

using Units = std::vector<Links>;
using Answers = std::vector<bool>;

TEST(Links, WhoCallsAFunctionOfAnotherDependsOnIt) {
  EXPECT_EQ(depend_on_others(Units{{{{"use", {}}}, {"fill"}}, {{{"fill", {}}}, {}}}), (Answers{true, false}));
  EXPECT_EQ(depend_on_others(Units{{{{"use", {}}}, {"printf"}}, {{{"fill", {}}}, {}}}), (Answers{false, false}));
}

TEST(Links, WhoUsesAFieldDependsOnOtherFunctionsThatDo) {
  EXPECT_EQ(depend_on_others(Units{{{{"run", {"Lane::stream"}}}, {}}, {{{"wait", {"Lane::stream"}}}, {}}}),
            (Answers{true, true}));
  EXPECT_EQ(depend_on_others(Units{{{{"run", {"Lane::stream"}}}, {}}, {{{"wait", {"Ring::stream"}}}, {}}}),
            (Answers{false, false}));
}

TEST(Links, FunctionsOfACommonHeaderTellNothingNew) {
  const Links one{{{"inline_wait", {"Lane::stream"}}, {"main", {}}}, {}};
  EXPECT_EQ(depend_on_others(Units{one, one}), (Answers{false, false}));
  Links other = one;
  other.functions["reset"] = {"Lane::stream"};
  EXPECT_EQ(depend_on_others(Units{one, other}), (Answers{true, false}))
      << "the second one knows all that the first does";
}

}  // namespace
}  // namespace streamsan::analyzer::ir
