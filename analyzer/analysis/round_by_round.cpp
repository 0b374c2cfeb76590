// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Analyses a function again, with its loops over elements written out round by round (ir/written_out.h).
//
// Only conflicts of two operations are taken over, and only those that the first analysis did not find. A missing or
// redundant operation may depend on the number of rounds that was supposed; a conflict that exists with two elements
// exists. If a number was supposed, the finding is Likely and says so, and conflicts between two rounds of one
// operation are left out: each round may have its own memory, by a computation from the counter. This does not apply to
// two records of one event, which replace each other whatever the memory, nor to the end of a tensor, which has no
// second operation. But if the function keeps tensors alive (record_stream), it may do so under a condition that the
// loop's head asks again, of which the written-out loop takes one outcome.
#include "analyzer/analysis/round_by_round.h"

#include <algorithm>
#include <tuple>
#include <utility>

#include "analyzer/ir/copies.h"
#include "analyzer/ir/paths.h"

namespace streamsan::analyzer {
namespace {

bool is_conflict(const Hazard& hazard) {
  if (!hazard.earlier || hazard.which != CheckCase::Usual) return false;
  if (hazard.level != Level::Definite && hazard.level != Level::Likely) return false;
  return hazard.check == Check::CrossStreamRace || hazard.check == Check::NonblockingVsDefault ||
         hazard.check == Check::HostReadBeforeDone || hazard.check == Check::HostWriteBeforeDone ||
         hazard.check == Check::EventRerecord || hazard.check == Check::MissingRecordStream;
}

auto place(const Where& where) {
  return std::tie(where.site.file, where.site.line, where.site.column, where.site.begin);
}

bool same_pair(const Hazard& a, const Hazard& b) {
  if (!b.earlier) return false;
  return std::minmax(place(a.later.where), place(a.earlier->where)) ==
         std::minmax(place(b.later.where), place(b.earlier->where));
}

}  // namespace

void look_round_by_round(ir::WrittenOut written, const ir::Program& program, const EngineOptions& options,
                         const Roles& roles, Verdict& verdict) {
  ir::tell_paths_apart(written.function);
  ir::complete_copies(written.function);
  Verdict more = analyze(written.function, program, options, &roles);
  verdict.steps += more.steps;
  verdict.of_callers = verdict.of_callers || more.of_callers;
  if (!more.gave_up.empty()) return;
  bool keeps = false;
  for (const ir::Block& block : written.function.blocks)
    for (const ir::Op& op : block.ops) keeps = keeps || op.kind == ir::OpKind::KeepAlive;
  for (Hazard& hazard : more.hazards) {
    if (!is_conflict(hazard) || (keeps && hazard.check == Check::MissingRecordStream)) continue;
    const bool shown = std::ranges::any_of(
        verdict.hazards, [&](const Hazard& known) { return known.level != Level::Maybe && same_pair(hazard, known); });
    if (shown) continue;
    if (!written.supposed.empty()) {
      const bool one_operation = place(hazard.later.where) == place(hazard.earlier->where);
      if (one_operation && hazard.check != Check::EventRerecord) continue;
      hazard.level = Level::Likely;
      hazard.supposed = hazard.check != Check::EventRerecord && hazard.check != Check::MissingRecordStream;
      hazard.evidence.insert(hazard.evidence.begin(),
                             Evidence{"analysed for the case that " + written.supposed, Where{written.site, {}}});
    }
    verdict.hazards.push_back(std::move(hazard));
  }
}

}  // namespace streamsan::analyzer
