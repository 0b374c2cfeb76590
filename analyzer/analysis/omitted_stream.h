// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Work whose stream was forgotten, in a function that is given one. omitted_stream.cpp explains it.
#pragma once

#include <vector>

#include "analyzer/analysis/hazard.h"
#include "analyzer/ir/ir.h"

namespace streamsan::analyzer {

/// `function` is raw, not closed: it is reported where it is written.
std::vector<Hazard> omitted_streams(const ir::Function& function, const ir::Program& program);

}  // namespace streamsan::analyzer
