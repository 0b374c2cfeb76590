// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// One question at a time, until every site had its turn, and not for ever.
#include "judge/asking.h"

#include <gtest/gtest.h>

namespace streamsan::judge {
namespace {

using ordering::SiteId;

class Questions : public ::testing::Test {
 protected:
  Questions() {
    asking.ask_through([this](std::uint64_t function) { asked.push_back(function); });
  }
  Asking asking;
  std::vector<std::uint64_t> asked;
};

TEST_F(Questions, OneAtATime) {
  asking.want(7, SiteId{1});
  asking.want(7, SiteId{1});
  asking.want(8, SiteId{2});
  EXPECT_EQ(asked, (std::vector<std::uint64_t>{7, 8}));
  asking.measured(7, SiteId{1});
  EXPECT_EQ(asked.size(), 2u) << "answered";
  asking.want(7, SiteId{1});
  EXPECT_EQ(asked.size(), 3u) << "it is wanted again";
}

TEST_F(Questions, AMeasurementElsewhereIsFollowedByTheNextQuestion) {
  asking.want(7, SiteId{1});
  asking.measured(7, SiteId{2});
  EXPECT_EQ(asked, (std::vector<std::uint64_t>{7, 7}));
  asking.measured(7, SiteId{1});
  asking.measured(7, SiteId{2});
  EXPECT_EQ(asked.size(), 2u) << "nothing is wanted any more";
}

TEST_F(Questions, TheyAreBounded) {
  for (int i = 0; i < 1000; ++i) {
    asking.want(7, SiteId{1});
    asking.measured(7, SiteId{2});
  }
  EXPECT_EQ(asked.size(), Asking::kMostAsks);
}

TEST(Asking, WithoutAnybodyToAskNothingHappens) {
  Asking asking;
  asking.want(7, SiteId{1});
  asking.measured(7, SiteId{2});
}

}  // namespace
}  // namespace streamsan::judge
