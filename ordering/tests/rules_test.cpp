// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The rules as data: ids are well formed and unique, every sentence is one, and docs/model.md lists exactly these rules
// with these sentences.
#include "ordering/rules.h"

#include <gtest/gtest.h>

#include <fstream>
#include <regex>
#include <set>
#include <string>

namespace streamsan::ordering {
namespace {

const char* name(RuleStatus status) {
  switch (status) {
    case RuleStatus::Documented:
      return "documented";
    case RuleStatus::Assumed:
      return "assumed";
    case RuleStatus::Policy:
      return "policy";
  }
  return "";
}

TEST(Rules, IdsAreUniqueAndWellFormed) {
  std::set<std::string> ids;
  for (std::size_t i = 0; i < kRuleCount; ++i) {
    const Rule rule{static_cast<std::uint8_t>(i)};
    EXPECT_TRUE(ids.insert(rule_id(rule)).second) << rule_id(rule);
    EXPECT_TRUE(std::regex_match(rule_id(rule), std::regex("R-[A-Z]{3,4}-[0-9]{2}"))) << rule_id(rule);
    EXPECT_EQ(std::string(rule_text(rule)).back(), '.') << rule_id(rule);
  }
  EXPECT_STREQ(rule_id(Rule::ALC_02), "R-ALC-02");
}

TEST(Rules, TheDocumentationListsThem) {
  std::ifstream page(STREAMSAN_MODEL_PAGE);
  ASSERT_TRUE(page) << STREAMSAN_MODEL_PAGE;
  const std::string text((std::istreambuf_iterator<char>(page)), std::istreambuf_iterator<char>());
  std::size_t rows = 0;
  for (std::size_t at = text.find("\n| R-"); at != std::string::npos; at = text.find("\n| R-", at + 1)) ++rows;
  EXPECT_EQ(rows, kRuleCount);
  for (std::size_t i = 0; i < kRuleCount; ++i) {
    const Rule rule{static_cast<std::uint8_t>(i)};
    const std::string row =
        std::string("\n| ") + rule_id(rule) + " | " + rule_text(rule) + " | " + name(rule_status(rule)) + " |";
    EXPECT_NE(text.find(row), std::string::npos) << row;
  }
}

}  // namespace
}  // namespace streamsan::ordering
