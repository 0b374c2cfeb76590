// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What a verdict says besides its findings: what was not seen, and what was left out.
#pragma once

#include "judge/run.h"

namespace streamsan::judge {

class Hazards;
class Judge;
class Symbolizer;

/// What the program did that is not modelled.
void describe_unseen(const Judge& judge, Verdict& verdict);
/// What the recorder left out that the options ask about. Old recorders do not tell.
void describe_recording(const trace::FileHeader& header, const RunOptions& options, Verdict& verdict);
/// How the trace ended. `violent`: the process was killed, or nobody knows how it ended.
void describe_trace(const trace::Reader& reader, bool violent, Verdict& verdict);
/// What became of findings on the way. The last one: all findings are there.
void describe_findings(const Judge& judge, const Hazards& hazards, const Symbolizer& symbolizer,
                       const RunOptions& options, Verdict& verdict);

}  // namespace streamsan::judge
