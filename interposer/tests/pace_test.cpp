// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "interposer/pace.h"

#include <gtest/gtest.h>

namespace streamsan::recorder {
namespace {

TEST(Pace, AllowsAnAmountAtOnce) {
  Pace pace(1000, 10);
  EXPECT_TRUE(pace.allows(5000));
  pace.spend(5000, 5999);
  EXPECT_TRUE(pace.allows(5999));
  pace.spend(5999, 6100);
  EXPECT_FALSE(pace.allows(5999));  // 1,100 spent, 999 since the first
}

TEST(Pace, AllowsAShareOfTheTimeSinceTheFirst) {
  Pace pace(1000, 10);
  pace.spend(5000, 7000);
  EXPECT_FALSE(pace.allows(7000));
  EXPECT_FALSE(pace.allows(15'000));
  EXPECT_TRUE(pace.allows(15'100));
}

TEST(Pace, TimeBeforeTheFirstDoesNotCount) {
  Pace pace(1000, 10);
  pace.spend(1'000'000, 1'002'000);
  EXPECT_FALSE(pace.allows(1'002'000));
  EXPECT_FALSE(pace.allows(0));  // a clock of another processor may be behind
}

TEST(Pace, BeginsAnewAfterAReset) {
  Pace pace(1000, 10);
  pace.spend(5000, 9000);
  pace.reset();
  EXPECT_TRUE(pace.allows(9000));
}

}  // namespace
}  // namespace streamsan::recorder
