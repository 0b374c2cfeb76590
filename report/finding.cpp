// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "report/finding.h"

namespace streamsan::report {

std::vector<const std::vector<Frame>*> stacks(const Finding& finding) {
  std::vector<const std::vector<Frame>*> out;
  for (const AccessReport& access : finding.accesses) out.push_back(&access.stack);
  if (!out.empty()) return out;
  if (finding.sync) return {&finding.sync->stack};
  for (const RelatedOp& related : finding.related) out.push_back(&related.stack);
  return out;
}

}  // namespace streamsan::report
