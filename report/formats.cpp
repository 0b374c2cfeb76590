// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "report/formats.h"

namespace streamsan::report {

bool is_listed(const Finding& finding, Severity least) {
  switch (finding.kind) {
    case Kind::UnneededSync:
      return finding.sync && is_improvable(finding.sync->verdict);
    case Kind::Hint:
      return true;
    case Kind::Race:
    case Kind::PrematureFree:
    case Kind::HostRace:
    case Kind::EventMisuse:
    case Kind::HiddenSync:
      break;
  }
  return finding.severity <= least;
}

}  // namespace streamsan::report
