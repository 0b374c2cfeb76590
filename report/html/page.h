// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Findings and pictures of runs as one self-contained HTML page, for people.
//
// The page is three things in one file: its style, its script (plain modules of this folder, joined by embed.cmake),
// and the data as JSON in a block that no browser executes. It opens from disk and asks the network for nothing: its
// Content-Security-Policy allows its own script and style, by their hashes, and nothing else.
//
// Names come from the program under test and may hold anything. They are data: the one place where they could become
// markup is this file, which writes "<" of the JSON as \u003c; the script only ever sets text, never markup.
// Source text is never embedded.
#pragma once

#include <span>
#include <string>

#include "report/finding.h"
#include "report/formats.h"
#include "report/run_view.h"

namespace streamsan::report {

struct PageOptions {
  std::string version;            ///< of StreamSan
  std::string strip_path_prefix;  ///< removed from the start of file names
};

/// Findings of a process are shown with the view of the same pid.
std::string html(std::span<const Finding> findings, const Summary& summary, std::span<const RunView> runs,
                 const PageOptions& options);
std::string html(const Results& results, const FormatContext& context);

}  // namespace streamsan::report
