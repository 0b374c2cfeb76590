// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// One complete finding, as the judge makes them, for the tests of everything that prints findings.
#pragma once

#include "report/finding.h"

namespace streamsan::report {

/// consume() on stream 2 reads what a copy on stream 1 has not finished writing; an event was recorded too early.
Finding sample_race();

/// A wait for an event that is never recorded: no accesses, no buffer.
Finding sample_misuse();

}  // namespace streamsan::report
