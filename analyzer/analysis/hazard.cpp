// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What of a hazard is copied out of the function that was analysed; see hazard.h.
#include "analyzer/analysis/hazard.h"

namespace streamsan::analyzer {

Where where(const ir::Function& function, ir::SiteId site) {
  Where result;
  if (site == ir::kNoSite) return result;
  result.site = function[site];
  for (ir::SiteId call = result.site.call; call != ir::kNoSite; call = function[call].call)
    result.calls.push_back(function[call]);
  return result;
}

const std::string& name_of(const ir::Function& function, const ir::Op& op) {
  const bool has_text = op.site != ir::kNoSite && !function[op.site].text.empty();
  return has_text ? function[op.site].text : op.name;
}

}  // namespace streamsan::analyzer
