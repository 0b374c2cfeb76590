// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Memory after its end (R-SOA-04): uses by later calls, and second frees.
//
// A use is certain if the address was not allocated again unseen, and if the bytes are touched.
//   * A pointer that a kernel was given may never be followed, and programs leave stale ones in structures and argument
//     lists: possible, and nothing at all for a word that may not even be an argument. Known bytes of a kernel are
//     certain. A launch does not check its pointers, so its success says nothing.
//   * Copies, fills and frees do check their addresses. On ordinary memory they fail after its free, and a failed call
//     never gets here. So a call that succeeded suggests that the address was given out again in a way that cannot be
//     seen: possible. Stream-ordered memory stays with its pool, which keeps its addresses: certain.
//   * A node of a graph has the address that it was given when the graph was made. A launch checks none: as a kernel.
//
// A BLOCK of a pool that went back (R-ANN-04) is looked for only by launches of graphs that were made while it lived.
// Others that use its bytes may have got them from the pool since, unseen, or may mean the pool's memory as such.
// Blocks that were handed out while a graph was captured belong to the graph, and are none here. What an earlier launch
// like it has touched is as good as known: nodes are not measured, and the graph holds the pointer in any case.
#include "ordering/checks.h"

namespace streamsan::ordering {
namespace {

std::optional<Certainty> certainty_of_use(const AllocationInfo& freed, const Access& use) {
  if (use.mode == AccessMode::Doubtful) return std::nullopt;
  const bool unchecked = use.source == AccessSource::Kernel || use.node != 0;
  // A kernel that waits for words is submitted behind the free all the same.
  const bool sure = evidence_of_bytes(use) == Evidence::Sure && !use.conditional;
  const bool certain = unchecked ? sure : freed.kind == MemoryKind::DeviceAsync;
  return certain ? Certainty::Certain : Certainty::Possible;
}

}  // namespace

void Checks::touch_freed(const Access& access) {
  FreedLife* life = lives_.freed.find(access.range.begin);
  if (!life) return;
  const std::optional<Certainty> certainty = certainty_of_use(life->info, access);
  if (!certainty || (life->last_user == access.op && life->last_certainty == *certainty)) return;
  report_use(*life, access, *certainty);
}

void Checks::touch_freed_block(const Access& access, GraphCount made) {
  FreedLife* life = lives_.freed_blocks.find(access.range.begin);
  if (!life || made <= life->graphs_before || made > life->graphs || life->last_user == access.op) return;
  const bool certain = evidence_of_bytes(access) >= Evidence::Learned && !access.conditional;
  report_use(*life, access, certain ? Certainty::Certain : Certainty::Possible);
}

void Checks::report_second_free(const Access& access) {
  FreedLife* life = lives_.freed.find(access.range.begin);
  if (!life || life->info.range.begin != access.range.begin) return;
  Access whole = access;
  whole.range = life->info.range;
  report_use(*life, whole, *certainty_of_use(life->info, whole));
}

void Checks::report_use(FreedLife& life, const Access& access, Certainty certainty) {
  life.last_user = access.op;
  life.last_certainty = certainty;
  Hazard hazard;
  hazard.kind = HazardKind::UseAfterFree;
  hazard.certainty = certainty;
  hazard.earlier = life.free;
  hazard.later = access;
  hazard.overlap = intersection(access.range, life.info.range);
  hazard.allocation = life.info;
  hazard.freed = life.free.site;
  ++hazards;
  sink_.hazard(hazard);
}

}  // namespace streamsan::ordering
