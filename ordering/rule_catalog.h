// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// All known rules of CUDA ordering: those that the model applies (rules.def) and those that it does not apply by name
// (rule_catalog.def). For the documentation and its test only; nothing that judges a program links it.
#pragma once

#include <cstdint>
#include <iosfwd>
#include <string>
#include <vector>

namespace streamsan::ordering {

/// What StreamSan does with a rule. rule_catalog.def says what each means.
enum class Treatment : std::uint8_t { Modelled, Followed, MayMiss, MayReport, MayErr, NoEffect };

struct CatalogRule {
  std::string id;
  Treatment treatment;
  std::string text;
  std::string source;
};

/// Every rule once, by area and number.
std::vector<CatalogRule> rule_catalog();

/// docs/rules.md.
void print_rules_page(std::ostream& out);

}  // namespace streamsan::ordering
