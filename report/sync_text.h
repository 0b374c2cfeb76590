// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The findings about synchronisation of one process as text: a section of its own, printed when it was asked for.
//
// First what can be won, most first: by the time it costs if that is known, else what is unneeded before what could be
// narrower. Then what is for timing only, and what is not known. What is needed, and what never had anything to wait
// for, is counted only, unless `all`. The last line counts everything: "streamsan: 12 synchronising call sites: 3
// unneeded".
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "report/finding.h"
#include "report/text.h"

namespace streamsan::report {

/// Findings of other kinds, and suppressed ones, are passed over. Empty: there are none.
std::string sync_section(const std::vector<Finding>& findings, const TextOptions& options, bool all);

/// The line about waits for the whole device, of which `idle` had nothing to wait for; empty: so few are not worth one.
std::string idle_waits_line(std::uint64_t waits, std::uint64_t idle);

/// One finding, several lines, each ended by a newline.
std::string sync_text(const Finding& finding, const TextOptions& options);

/// Milliseconds that could be won; 0: not known.
double winnable_ms(const SyncReport& sync);

}  // namespace streamsan::report
