// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A programmatic launch against the kernels in front of it in its stream.
//
// There are two ways to lose the order of the stream. The kernel's accesses before its wait for the grid in front run
// beside that grid. And if the kernel in between did not wait, no wait covers the work in front of that kernel. Such a
// race is Definite if it meets the conditions of a race of two streams and, in addition, the attribute is set, and no
// path to the access has a wait.
#include "analyzer/analysis/inspect_races.h"

namespace streamsan::analyzer {

using ir::Certainty;

bool RaceQuestions::overtakes(const ir::Access& access, const Pending& mine, const Pending& earlier) {
  using Part = Order::Dependent;
  if (look_.op->programmatic == Certainty::No || earlier.access >= values_.op(earlier.op).accesses.size()) return false;
  const ir::Op& before = values_.op(earlier.op);
  if (before.work != ir::Work::Kernel || !values_.must_equal(earlier.stream, mine.stream)) return false;
  if (Order::surely_before(values_, sets_, earlier.must, mine.stream, Part::Start)) return false;

  // Its early accesses conflict, or its wait does not cover the other access.
  ir::Mode mode = access.early;
  bool certain = access.before_wait == Certainty::Yes;
  bool covered = true;
  if (access.before_wait == Certainty::No || conflict(earlier.mode, mode) == Sure::No) {
    if (Order::surely_before(values_, sets_, earlier.must, mine.stream, Part::Waited)) return false;
    covered = false;
    mode = access.mode;
    certain = !Order::perhaps_before(values_, sets_, earlier.may, mine.stream, Part::Waited);
  }
  const Sure fight = conflict(earlier.mode, mode), meet = overlap(values_, earlier, mine);
  if (fight == Sure::No || meet == Sure::No || (!covered && fight != Sure::Yes)) return false;
  const bool perhaps_ordered = Order::perhaps_before(values_, sets_, earlier.may, mine.stream, Part::Start);
  const bool sure = certain && look_.op->programmatic == Certainty::Yes && !perhaps_ordered && fight == Sure::Yes &&
                    meet == Sure::Yes && !one_kernel_on_parts(mine, earlier);
  const bool somewhere = covered && is_somewhere(values_, mine), definite = sure && !somewhere;
  Hazard hazard = look_.start(Check::DependentLaunchRace, definite ? Level::Definite
                                                          : sure   ? Level::Likely
                                                                   : Level::Maybe);
  hazard.later = witness_.action(look_.index, mine.stream);
  hazard.later.mode = mode;
  hazard.earlier = witness_.action(earlier);
  hazard.buffer = witness_.memory(mine.memory, access.memory, look_.index);
  hazard.which = !covered                           ? CheckCase::NotPassedOn
                 : look_.op->waits == Certainty::No ? CheckCase::NeverWaits
                                                    : CheckCase::BeforeWait;
  if (covered && access.early_site != ir::kNoSite) {
    Where early = witness_.where(access.early_site);
    // The access that has to move, or needs a wait in front of it, is in the kernel: the warning stands there, unless
    // the kernel is in a header.
    if (early.site.file == hazard.later.where.site.file) {
      early.calls.insert(early.calls.begin(), hazard.later.where.site);
      hazard.later.where = std::move(early);
    } else {
      hazard.edge = std::move(early);
    }
  }
  if (sure && somewhere)
    hazard.evidence.push_back(
        {"an index decides where in '" + hazard.buffer.name + "' this is, as if anywhere", hazard.later.where});
  if (!definite && look_.op->programmatic == Certainty::Perhaps && certain && meet == Sure::Yes)
    hazard.condition = "the launch is a programmatic one";
  look_.raise(std::move(hazard), earlier, mine.memory, mine.stream);
  return true;
}

}  // namespace streamsan::analyzer
