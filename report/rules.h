// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The kinds of findings as rules with an identifier and a help text, for formats that want such a list.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "report/finding.h"

namespace streamsan::report {

struct Rule {
  Kind kind;
  std::optional<Hazard> hazard;  ///< nothing: all of the kind
  std::string_view id;           ///< stable
  std::string_view summary;
  std::string_view help;  ///< what it means and what to do
  std::string_view page;  ///< of the documentation
};

std::span<const Rule> rules();

/// The rule of a finding; nullptr: it has none of its own.
const Rule* rule_of(const Finding& finding);

/// "streamsan-read-after-write-race": of the rule, or made of the hazard's name.
std::string rule_id(const Finding& finding);

}  // namespace streamsan::report
