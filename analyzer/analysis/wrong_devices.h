// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Events that are recorded in streams of other devices. wrong_devices.cpp explains it.
#pragma once

#include <vector>

#include "analyzer/analysis/hazard.h"
#include "analyzer/ir/ir.h"

namespace streamsan::analyzer {

/// `closed`: a function of `program` with its callees inlined.
std::vector<Hazard> records_on_wrong_devices(const ir::Function& closed, const ir::Program& program);

}  // namespace streamsan::analyzer
