// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The rows of rules.def as a table indexed by Rule.
#include "ordering/rules.h"

namespace streamsan::ordering {
namespace {

struct RuleRow {
  const char* id;
  RuleStatus status;
  const char* text;
  const char* source;
};

constexpr RuleRow kRules[] = {
#define SS_RULE(enumerator, id, status, sentence, source) {id, RuleStatus::status, sentence, source},
#include "ordering/rules.def"
#undef SS_RULE
};
static_assert(sizeof(kRules) / sizeof(kRules[0]) == kRuleCount);

const RuleRow& row(Rule rule) { return kRules[static_cast<std::size_t>(rule)]; }

}  // namespace

const char* rule_id(Rule rule) { return row(rule).id; }
const char* rule_text(Rule rule) { return row(rule).text; }
RuleStatus rule_status(Rule rule) { return row(rule).status; }
const char* rule_source(Rule rule) { return row(rule).source; }

}  // namespace streamsan::ordering
