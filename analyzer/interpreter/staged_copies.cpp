// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "analyzer/interpreter/staged_copies.h"

namespace streamsan::analyzer::interpreter {

void StagedCopies::copied(ordering::SiteId site, ordering::Range source, std::uint64_t destination, bool captured) {
  for (auto& [copy, kept] : captured_)
    if (kept.written && !kept.used_by && kept.destination != destination && kept.source.overlaps(source)) {
      kept.used_by = site;
      kept.launches_for_nothing = captured ? 1 : 0;
    }
  if (captured) captured_[site] = {.source = source, .destination = destination, .written = {}, .used_by = {}};
}

void StagedCopies::written(ordering::Range range, ordering::SiteId site) {
  for (auto& [copy, kept] : captured_) {
    if (!kept.source.overlaps(range)) continue;
    kept.written = site;
    kept.used_by.reset();
  }
}

std::optional<OvertakenCopy> StagedCopies::launched(ordering::SiteId copy, ordering::SiteId launch) {
  const auto found = captured_.find(copy);
  if (found == captured_.end() || !found->second.used_by || found->second.reported) return std::nullopt;
  Captured& kept = found->second;
  if (kept.launches_for_nothing-- > 0) return std::nullopt;
  kept.reported = true;
  return OvertakenCopy{.copy = copy, .written = *kept.written, .used_by = *kept.used_by, .launched = launch};
}

}  // namespace streamsan::analyzer::interpreter
