// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The files that show a run: the HTML page and the trace for Perfetto.
#pragma once

#include <span>
#include <string>

#include "cli/options.h"
#include "report/finding.h"
#include "report/run_view.h"

namespace streamsan::cli {

/// Does an option ask for what only a timeline has?
bool wants_pictures(const Options& options);

/// Writes those that the options name. Returns what could not be written; empty: nothing.
std::string write_pictures(const Options& options, std::span<const report::Finding> findings,
                           const report::Summary& summary, std::span<const report::RunView> views);

}  // namespace streamsan::cli
