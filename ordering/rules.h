// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Names of the ordering rules. The rows, and how to add one, are in rules.def; docs/model.md explains what they mean
// together, docs/rules.md lists them. A rule's id is the only thing a report, a test and a page of documentation need
// to share.
#pragma once

#include <cstddef>
#include <cstdint>

namespace streamsan::ordering {

enum class Rule : std::uint8_t {
#define SS_RULE(enumerator, id, status, sentence, source) enumerator,
#include "ordering/rules.def"
#undef SS_RULE
};

inline constexpr std::size_t kRuleCount = 0
#define SS_RULE(enumerator, id, status, sentence, source) +1
#include "ordering/rules.def"
#undef SS_RULE
    ;

/// What a rule feeds: both clocks, the assumed clock only, or no clock.
enum class RuleStatus : std::uint8_t { Documented, Assumed, Policy };

/// "R-ALC-02": stable, shown to users.
const char* rule_id(Rule rule);
/// One sentence: what the rule says.
const char* rule_text(Rule rule);
RuleStatus rule_status(Rule rule);
/// The document that says so, or how it is known otherwise.
const char* rule_source(Rule rule);

}  // namespace streamsan::ordering
