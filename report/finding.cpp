// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The stable spellings. Switches have no default, so that the compiler asks for a new enumerator's name.
#include "report/finding.h"

namespace streamsan::report {

const char* name(Kind kind) {
  switch (kind) {
    case Kind::Race:
      return "race";
    case Kind::PrematureFree:
      return "premature-free";
    case Kind::HostRace:
      return "host-race";
    case Kind::EventMisuse:
      return "event-misuse";
    case Kind::UnneededSync:
      return "unneeded-sync";
    case Kind::Hint:
      return "hint";
  }
  return "unknown";
}

const char* name(Severity severity) {
  switch (severity) {
    case Severity::Error:
      return "error";
    case Severity::Latent:
      return "latent";
    case Severity::Possible:
      return "possible";
    case Severity::Note:
      return "note";
  }
  return "unknown";
}

const char* name(Evidence evidence) {
  switch (evidence) {
    case Evidence::Exact:
      return "exact";
    case Evidence::Learned:
      return "learned";
    case Evidence::Widened:
      return "widened";
    case Evidence::Inferred:
      return "inferred";
  }
  return "unknown";
}

std::vector<const std::vector<Frame>*> stacks(const Finding& finding) {
  std::vector<const std::vector<Frame>*> out;
  for (const AccessReport& access : finding.accesses) out.push_back(&access.stack);
  if (!out.empty()) return out;
  if (finding.sync) return {&finding.sync->stack};
  for (const RelatedOp& related : finding.related) out.push_back(&related.stack);
  return out;
}

}  // namespace streamsan::report
