// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Why is there no order between an access and the op that is looked at? cause.cpp explains it.
#pragma once

#include "analyzer/analysis/look.h"

namespace streamsan::analyzer {

/// Fills cause, edge, event. `later` kUnknown: the host.
void explain(const Look& look, Hazard& hazard, const Pending& earlier, ValueId later);

}  // namespace streamsan::analyzer
