// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Words become enumerators and back; what both products' SARIF and annotations need.
#include "report/common/words.h"

#include <gtest/gtest.h>

#include <set>

#include "report/common/annotation.h"
#include "report/common/fingerprint.h"
#include "report/common/sarif_log.h"

namespace streamsan::report {
namespace {

template <typename Enum>
void comes_back() {
  std::set<std::string> words;
  for (const Enum each : kEach<Enum>) {
    EXPECT_EQ(find<Enum>(name(each)), each) << name(each);
    EXPECT_TRUE(words.insert(name(each)).second) << name(each);
  }
  EXPECT_EQ(find<Enum>("no such word"), std::nullopt);
}

TEST(Words, EachComesBackAsItsEnumerator) {
  comes_back<Kind>();
  comes_back<Severity>();
  comes_back<Hazard>();
  comes_back<Cause>();
  comes_back<Verdict>();
  comes_back<Waits>();
  comes_back<KernelBytes>();
  comes_back<Evidence>();
  comes_back<Verb>();
  comes_back<StreamKind>();
  comes_back<Language>();
  comes_back<SuppressionScope>();
  comes_back<Level>();
  comes_back<Group>();
  comes_back<OpClass>();
}

/// A suppression has the word of either.
TEST(Words, KindsAreNoScopes) {
  for (const Kind kind : kEach<Kind>) EXPECT_EQ(find<SuppressionScope>(name(kind)), std::nullopt) << name(kind);
}

TEST(Words, AnUnknownOneIsKept) {
  EXPECT_EQ(Word<Hazard>::of("double-free"), Hazard::DoubleFree);
  EXPECT_NE(Word<Hazard>::of("double-freed"), Hazard::DoubleFree);
  EXPECT_EQ(Word<Hazard>::of("double-freed").text(), "double-freed");
  EXPECT_TRUE(Word<Hazard>().empty());
  EXPECT_FALSE(Word<Hazard>(Hazard::DoubleFree).empty());
}

TEST(HashedWords, EndsOfWordsCount) {
  HashedWords<Fnv1a> ab, a_b;
  EXPECT_EQ(ab.text(), "cbf29ce484222325");
  ab.add("ab");
  a_b.add("a");
  a_b.add("b");
  EXPECT_NE(ab.text(), a_b.text());
}

TEST(FingerprintNumbers, FromTheSecondOn) {
  FingerprintNumbers numbers;
  EXPECT_EQ(numbers.numbered("a"), "a");
  EXPECT_EQ(numbers.numbered("b"), "b");
  EXPECT_EQ(numbers.numbered("a"), "a#2");
  EXPECT_EQ(numbers.numbered("a"), "a#3");
}

TEST(SarifLog, AddressesAreEscaped) {
  EXPECT_EQ(sarif_log::uri("src/a-b_c.~d.cu"), "src/a-b_c.~d.cu");
  EXPECT_EQ(sarif_log::uri(std::string_view("a b#%\xc3\xbc\0", 8)), "a%20b%23%25%C3%BC%00");
}

sarif_log::Json log_of(const std::string& message, sarif_log::KeyOrder order = sarif_log::KeyOrder::OfStandard) {
  sarif_log::Run run{.tool = "tool", .version = "1"};
  sarif_log::Result& result = run.results.emplace_back();
  result.rule_id = "rule";
  result.message = message;
  result.location.place = sarif_log::Place{"/src/a.cu", {.line = 3}};
  result.fixes = {{"why", {{"/src/a.cu", {{{1, 2, 3, 4}, message}}}}}};
  const auto below = [](const std::string& file) { return std::optional(file.substr(5)); };
  return sarif_log::Json::parse(sarif_log::text(run, {"/src", below}, order));
}

TEST(SarifLog, NoMessageBecomesALink) {
  const auto result = log_of("[&](int) { a[0] }").at("runs").at(0).at("results").at(0);
  EXPECT_EQ(result.at("message").at("text"), "\\[&\\](int) { a\\[0\\] }");
  const auto replacement = result.at("fixes").at(0).at("artifactChanges").at(0).at("replacements").at(0);
  EXPECT_EQ(replacement.at("insertedContent").at("text"), "[&](int) { a[0] }") << "is put into a file as it is";
  EXPECT_EQ(log_of("a[0] (b)").at("runs").at(0).at("results").at(0).at("message").at("text"), "a[0] (b)");
}

TEST(SarifLog, TheOrderOfKeysChangesNothingElse) {
  const auto standard = log_of("m"), alphabet = log_of("m", sarif_log::KeyOrder::ByAlphabet);
  EXPECT_NE(standard.dump(), alphabet.dump());
  EXPECT_EQ(nlohmann::json(standard), nlohmann::json(alphabet));
  EXPECT_EQ(standard.at("runs").at(0).at("originalUriBaseIds").at("SRCROOT").at("uri"), "file:///src/");
}

TEST(Annotation, WhatWouldEndACommandIsEscaped) {
  EXPECT_EQ(text(Annotation{.level = AnnotationLevel::Notice, .title = "a:b", .body = "100%\n::error::"}),
            "::notice title=a%3Ab::100%25%0A::error::\n");
  EXPECT_EQ(text(Annotation{.file = "a,b.cu", .line = 3, .column = 5, .title = "t", .body = "b"}),
            "::error file=a%2Cb.cu,line=3,col=5,title=t::b\n");
}

}  // namespace
}  // namespace streamsan::report
