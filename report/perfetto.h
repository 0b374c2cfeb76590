// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A run as a trace in Chrome's JSON format, which Perfetto (ui.perfetto.dev) and chrome://tracing open.
//
// One track for each host thread and stream, a slice for each operation, an arrow for each order between tracks, and
// findings as instant events at the operations they are about. Times are real when the operations on the GPU have any;
// otherwise one microsecond stands for one step in the order of submission.
#pragma once

#include <span>
#include <string>

#include "report/finding.h"
#include "report/formats.h"
#include "report/run_view.h"

namespace streamsan::report {

std::string perfetto(std::span<const Finding> findings, std::span<const RunView> runs);
std::string perfetto(const Results& results, const FormatContext& context);

}  // namespace streamsan::report
