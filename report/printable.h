// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A finding that can be shown: see common/utf8.h on what its names may hold.
#pragma once

#include "report/common/utf8.h"
#include "report/finding.h"

namespace streamsan::report {

/// The finding with one_line() of all of its text.
Finding printable(Finding finding);

}  // namespace streamsan::report
