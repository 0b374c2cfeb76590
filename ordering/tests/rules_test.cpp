// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The rules as data: ids are well formed, unique and of a known area, every sentence is one, and docs/rules.md is what
// the tables print. That every id found in sources and pages is one of these is rule_ids_test.py's business.
#include "ordering/rules.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <regex>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "ordering/rule_catalog.h"

namespace streamsan::ordering {
namespace {

TEST(Rules, IdsAreUniqueAndWellFormed) {
  std::set<std::string> ids;
  for (const CatalogRule& rule : rule_catalog()) {
    EXPECT_TRUE(ids.insert(rule.id).second) << rule.id;
    EXPECT_TRUE(std::regex_match(rule.id, std::regex("R-[A-Z]{2,4}-[0-9]{2}[a-z]?"))) << rule.id;
  }
  EXPECT_STREQ(rule_id(Rule::ALC_02), "R-ALC-02");
}

TEST(Rules, EachIsOneSentenceWithASource) {
  for (const CatalogRule& rule : rule_catalog()) {
    EXPECT_TRUE(std::regex_match(rule.text, std::regex("[A-Za-z][^|]*[^.|]\\."))) << rule.id << ": " << rule.text;
    EXPECT_EQ(rule.text.find(". "), std::string::npos) << rule.id << ": " << rule.text;
    EXPECT_FALSE(rule.source.empty()) << rule.id;
    EXPECT_EQ(rule.source.find('|'), std::string::npos) << rule.id;
  }
}

TEST(Rules, TheCatalogHasThoseOfTheModel) {
  const std::vector<CatalogRule> catalog = rule_catalog();
  const auto modelled = [](const CatalogRule& rule) { return rule.treatment == Treatment::Modelled; };
  EXPECT_EQ(static_cast<std::size_t>(std::count_if(catalog.begin(), catalog.end(), modelled)), kRuleCount);
}

TEST(Rules, ThePageIsWhatTheTablesPrint) {
  std::ifstream file(STREAMSAN_RULES_PAGE);
  ASSERT_TRUE(file) << STREAMSAN_RULES_PAGE;
  const std::string page((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  std::ostringstream printed;
  print_rules_page(printed);
  EXPECT_TRUE(page == printed.str()) << "run `ninja rules-page`";
  // A rule of an area that the page does not know would be in no section.
  for (const CatalogRule& rule : rule_catalog())
    EXPECT_NE(page.find("\n| " + rule.id + " | " + rule.text + " | "), std::string::npos) << rule.id;
}

}  // namespace
}  // namespace streamsan::ordering
