// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The catalogue of rules, and docs/rules.md made of it. The page is printed, never edited: a rule is stated in one of
// the two tables and nowhere else.
#include "ordering/rule_catalog.h"

#include <algorithm>
#include <array>
#include <map>
#include <ostream>
#include <string_view>
#include <utility>

#include "ordering/rules.h"

namespace streamsan::ordering {
namespace {

struct Area {
  std::string_view name;
  std::string_view title;
};

/// In the order of the page.
constexpr auto kAreas = std::to_array<Area>({
    {"CORE", "What an order is"},
    {"STR", "Streams"},
    {"EVT", "Events"},
    {"SYN", "Synchronisation by the host"},
    {"CPY", "Copies, fills, prefetches"},
    {"ALC", "Ordinary memory"},
    {"SOA", "Stream-ordered memory"},
    {"VMM", "Mapped addresses"},
    {"UM", "Managed, mapped and system memory"},
    {"IPC", "Other processes"},
    {"HST", "Host functions"},
    {"ANN", "Annotations"},
    {"MOP", "Memory operations of streams"},
    {"EXT", "External semaphores and graphics"},
    {"LCH", "Launch attributes"},
    {"GRF", "Graphs"},
    {"LIB", "Libraries and frameworks"},
    {"INT", "Recording calls"},
});

/// "R-CPY-13": "CPY".
std::string_view area_of(std::string_view id) {
  const std::size_t begin = id.find('-') + 1;
  return id.substr(begin, id.find('-', begin) - begin);
}

std::size_t position(std::string_view area) {
  return static_cast<std::size_t>(
      std::find_if(kAreas.begin(), kAreas.end(), [&](const Area& a) { return a.name == area; }) - kAreas.begin());
}

constexpr std::string_view name(Treatment treatment) {
  switch (treatment) {
    case Treatment::Modelled:
      return "modelled";
    case Treatment::Followed:
      return "followed";
    case Treatment::MayMiss:
      return "not modelled: may miss";
    case Treatment::MayReport:
      return "not modelled: may report falsely";
    case Treatment::MayErr:
      return "not modelled: may do either";
    case Treatment::NoEffect:
      return "no effect";
  }
  return {};
}

constexpr std::string_view meaning(Treatment treatment) {
  switch (treatment) {
    case Treatment::Modelled:
      return "The model applies or checks the rule, and reports can name it. A *documented* rule makes an order that "
             "programs may rely on. An *assumed* rule makes an order that only today's driver keeps. A *policy* rule "
             "makes no order: it says what is checked or left out.";
    case Treatment::Followed:
      return "The recorder, the table of functions, the judge or the analyzer acts on the rule, or the rule is part of "
             "a modelled one. No report names it.";
    case Treatment::MayMiss:
      return "A fault that depends on the rule may be missed. No correct code is reported.";
    case Treatment::MayReport:
      return "Correct code that depends on the rule may be reported.";
    case Treatment::MayErr:
      return "A fault may be missed, or correct code may be reported.";
    case Treatment::NoEffect:
      return "The rule makes no order, and StreamSan does not look for the fault of breaking it.";
  }
  return {};
}

std::string_view status(const std::string& id) {
  for (std::size_t i = 0; i < kRuleCount; ++i) {
    const Rule rule{static_cast<std::uint8_t>(i)};
    if (id != rule_id(rule)) continue;
    switch (rule_status(rule)) {
      case RuleStatus::Documented:
        return ", documented";
      case RuleStatus::Assumed:
        return ", assumed";
      case RuleStatus::Policy:
        return ", policy";
    }
  }
  return {};
}

}  // namespace

std::vector<CatalogRule> rule_catalog() {
  std::vector<CatalogRule> rules = {
#define SS_CATALOG(id, treatment, sentence, source) {id, Treatment::treatment, sentence, source},
#include "ordering/rule_catalog.def"
#undef SS_CATALOG
  };
  for (std::size_t i = 0; i < kRuleCount; ++i) {
    const Rule rule{static_cast<std::uint8_t>(i)};
    rules.push_back({rule_id(rule), Treatment::Modelled, rule_text(rule), rule_source(rule)});
  }
  const auto key = [](const CatalogRule& rule) { return std::pair(position(area_of(rule.id)), rule.id); };
  std::sort(rules.begin(), rules.end(), [&](const CatalogRule& a, const CatalogRule& b) { return key(a) < key(b); });
  return rules;
}

void print_rules_page(std::ostream& out) {
  const std::vector<CatalogRule> rules = rule_catalog();
  std::map<Treatment, unsigned> count;
  for (const CatalogRule& rule : rules) ++count[rule.treatment];

  out << "# The rules of CUDA ordering\n\n"
         "Generated from `ordering/rules.def` and `ordering/rule_catalog.def` by `ninja rules-page`. Do not edit.\n\n"
         "StreamSan knows "
      << rules.size()
      << " rules of order. This page states each rule and says what StreamSan does with it. Reports, tests, source "
         "comments and other pages name a rule by its id. [model.md](model.md) explains what the modelled rules mean "
         "together. [limitations.md](limitations.md) says what the others cost in practice.\n\n"
         "| | rules | meaning |\n|---|---:|---|\n";
  for (const auto& [treatment, number] : count)
    out << "| " << name(treatment) << " | " << number << " | " << meaning(treatment) << " |\n";
  out << "\nThe source is the document that states the rule, or the function whose description does. Other sources:\n\n"
         "* *inferred*: no document states the rule; it follows from other rules\n"
         "* *measured*: an H200 or H100 with driver 580 behaved like this\n"
         "* *reported*: others reported it; StreamSan's authors have not checked it\n"
         "* *not said*: no document states the rule; without *measured* it is general knowledge\n";

  for (const Area& area : kAreas) {
    out << "\n## " << area.title << " (R-" << area.name
        << ")\n\n| rule | what it says | treatment | source |\n|---|---|---|---|\n";
    for (const CatalogRule& rule : rules) {
      if (area_of(rule.id) != area.name) continue;
      out << "| " << rule.id << " | " << rule.text << " | " << name(rule.treatment) << status(rule.id) << " | "
          << rule.source << " |\n";
    }
  }
}

}  // namespace streamsan::ordering
