// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Findings as JUnit XML, for the test panes of CI services.
//
// One test case for the run itself, so that a clean run is a test that passed and not an empty file; it has an error if
// the run could not be judged to its end. One test case for each finding above `note`: an error is a failed test, as it
// fails the run; latent, possible and suppressed findings, which do not, are skipped tests. The name of a test case has
// no line in it, so that services recognise it after an edit.
#pragma once

#include <string>

#include "report/formats.h"

namespace streamsan::report {

std::string junit(const Results& results, const FormatContext& context);

}  // namespace streamsan::report
