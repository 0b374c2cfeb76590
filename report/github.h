// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Findings as annotations of a GitHub workflow: lines on stdout of the form ::error file=F,line=L,title=T::message.
//
// GitHub shows the first ten of each level of a step, so the most severe come first. Names in findings come from the
// program; line ends in them are escaped, so that no name can begin a command of its own.
#pragma once

#include <span>
#include <string>

#include "report/finding.h"
#include "report/formats.h"

namespace streamsan::report {

std::string github(std::span<const Finding> findings, const Summary& summary, const FormatContext& context);

}  // namespace streamsan::report
