// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "analyzer/interpreter/staged_copies.h"

namespace streamsan::analyzer::interpreter {

void StagedCopies::captured(ordering::SiteId site, ordering::Range source, std::uint64_t destination,
                            std::uint64_t bytes) {
  for (auto& [copy, kept] : captured_) {
    if (!kept.written || kept.used_by || kept.destination == destination || !kept.source.overlaps(source)) continue;
    kept.used_by = site;
    kept.launches = 0;
  }
  captured_[site] = {.source = source, .destination = destination, .bytes = bytes, .written = {}, .used_by = {}};
}

void StagedCopies::written(ordering::Range range, std::optional<ordering::SiteId> site) {
  for (auto& [copy, kept] : captured_) {
    if (!kept.source.overlaps(range)) continue;
    kept.written = site;
    kept.used_by.reset();
  }
}

std::optional<OvertakenCopy> StagedCopies::launched(ordering::SiteId copy, ordering::SiteId launch,
                                                    const std::function<std::uint64_t(ordering::Range)>& bytes) {
  const auto found = captured_.find(copy);
  if (found == captured_.end()) return std::nullopt;
  Captured& kept = found->second;
  if (!kept.used_by || kept.reported || bytes(kept.source) == kept.bytes) return std::nullopt;
  if (kept.launches++ == 0) return std::nullopt;
  kept.reported = true;
  return OvertakenCopy{.copy = copy, .written = *kept.written, .used_by = *kept.used_by, .launched = launch};
}

void StagedCopies::keeps(ordering::SiteId copy, ordering::Range bytes, bool written) {
  sides_[copy].push_back({.memory = {}, .bytes = bytes, .written = written, .freed = ordering::kNoSite});
}

void StagedCopies::freed(const ordering::AllocationInfo& memory, ordering::SiteId site) {
  for (auto& [copy, sides] : sides_)
    for (FreedSide& side : sides) {
      if (side.freed != ordering::kNoSite || !side.bytes.overlaps(memory.range)) continue;
      side.memory = memory;
      side.freed = site;
    }
}

std::optional<FreedSide> StagedCopies::freed_side(ordering::SiteId copy) {
  const auto found = sides_.find(copy);
  if (found == sides_.end()) return std::nullopt;
  for (const FreedSide& side : found->second) {
    if (side.freed == ordering::kNoSite) continue;
    const FreedSide freed = side;
    sides_.erase(found);
    return freed;
  }
  return std::nullopt;
}

}  // namespace streamsan::analyzer::interpreter
