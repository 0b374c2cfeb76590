// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Findings as SARIF 2.1.0, for GitHub code scanning and other viewers.
//
// A result stands at the later access: at the innermost frame of the user's that has a source line below the root of
// the repository, because a service cannot show other files. The rest is attached to it: the earlier access, the
// records and waits of the explanation, and the allocation are related locations; the two call stacks are a code flow
// with a thread flow for each side, outermost call first, and, with all frames (also those without source lines),
// stacks. Findings of one fingerprint in several processes are one result.
//
// WHAT SERVICES DEMAND beyond the standard: a result without a location is refused by GitHub, with the whole file. One
// without any source line stands in line 1 of its module.
//
// The fingerprint is called "streamsan/v1", as that of streamsan-tidy, and does not depend on lines;
// "streamsanBuild/v1" is the one that reports show. GitHub reads neither: its upload makes one of its own, of the text
// of the source line, and complains in the log of every result that brings another one under that name
// (primaryLocationLineHash).
#pragma once

#include <string>

#include "report/formats.h"

namespace streamsan::report {

std::string sarif(const Results& results, const FormatContext& context);

}  // namespace streamsan::report
