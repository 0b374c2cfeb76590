// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "report/finding.h"

namespace streamsan::report {

std::string host_thread(std::uint32_t number, std::string_view name, bool main) {
  std::string out = "host thread " + std::to_string(number);
  if (!name.empty()) out += " \"" + std::string(name) + "\"";
  return out + (main ? " (main)" : "");
}

std::vector<const std::vector<Frame>*> stacks(const Finding& finding) {
  std::vector<const std::vector<Frame>*> out;
  for (const AccessReport& access : finding.accesses) out.push_back(&access.stack);
  if (!out.empty()) return out;
  if (finding.sync) return {&finding.sync->stack};
  for (const RelatedOp& related : finding.related) out.push_back(&related.stack);
  return out;
}

Summary& Summary::operator+=(const Summary& other) {
  errors += other.errors;
  latent += other.latent;
  possible += other.possible;
  notes += other.notes;
  suppressed += other.suppressed;
  operations += other.operations;
  processes += other.processes;
  syncs |= other.syncs;
  whole &= other.whole;
  warnings.insert(warnings.end(), other.warnings.begin(), other.warnings.end());
  return *this;
}

}  // namespace streamsan::report
