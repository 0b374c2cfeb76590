// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Words for programmatic launches: dependent-launch-race, and unordered-grid-wait in the kernel's own source.
#include "analyzer/analysis/wording_parts.h"

namespace streamsan::analyzer::wording {
namespace {

constexpr const char* kWait = "cudaGridDependencySynchronize()";

}  // namespace

template <>
void words_of<Check::DependentLaunchRace>(Draft& draft) {
  const Hazard& hazard = draft.hazard();
  const Action &later = draft.later(), &earlier = draft.earlier();
  const bool passed_on = hazard.which != CheckCase::NotPassedOn;
  const std::string first = what(earlier);
  const std::string why =
      hazard.which == CheckCase::NeverWaits ? ": its launch lets the two overlap, and it never waits"
      : passed_on                           ? ": its launch lets the two overlap, and it does so before it waits"
                  : ": a kernel between them does not wait for it, so waiting for that one is not enough";
  draft.say(what(later) + on_stream(later.stream) + " " + may_do(later.mode) + " " + buffer(hazard.buffer) + " while " +
            first + " in front of it " + still_does(earlier) + " it" + why);
  draft.note(earlier.where, buffer(hazard.buffer) + " " + is_done(earlier) + " here" + comma(on_stream(earlier.stream)),
             lane(earlier.stream));
  const std::string early = later.mode == ir::Mode::Read      ? "reads"
                            : later.mode == ir::Mode::Unknown ? "uses"
                                                              : "writes";
  draft.note_edge(
      "the kernel " + early + " it here" + (hazard.which == CheckCase::NeverWaits ? "" : ", before its wait"),
      lane(later.stream));
  draft.note_origin(hazard.buffer, "");
  if (passed_on) {
    draft.advise(std::string("call ") + kWait + " in the kernel before that, or launch it without the attribute");
  } else {
    draft.advise(std::string("call ") + kWait +
                 " in the kernel between them, too, or launch one of the two without the attribute");
  }
}

template <>
void words_of<Check::UnorderedGridWait>(Draft& draft) {
  const Hazard& hazard = draft.hazard();
  if (hazard.which == CheckCase::NoClobber) {
    draft.say(
        "'griddepcontrol.wait' does not tell the compiler that it touches memory: reads behind it may be moved in "
        "front of it");
    draft.advise("add a \"memory\" clobber: asm volatile(\"griddepcontrol.wait;\" ::: \"memory\")");
    return;
  }
  const char* done = draft.later().mode == ir::Mode::Read      ? "reads"
                     : draft.later().mode == ir::Mode::Unknown ? "uses"
                                                               : "writes";
  draft.say(what(draft.later()) + " " + done + " " + buffer(hazard.buffer) +
            " before it waits for the grid in front of it");
  draft.advise(std::string("nothing orders it behind that grid: move it behind the wait, unless no kernel in front ") +
               (draft.later().mode == ir::Mode::Read ? "writes" : "uses") + " that memory");
}

}  // namespace streamsan::analyzer::wording
