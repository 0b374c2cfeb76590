// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What the methods of a class do to each other's work. class_protocols.cpp explains it.
#pragma once

#include <cstdint>
#include <vector>

#include "analyzer/analysis/hazard.h"
#include "analyzer/analysis/roles.h"
#include "analyzer/ir/class_harness.h"
#include "analyzer/ir/inline.h"

namespace streamsan::analyzer {

/// `program` is left as it was. `most_steps`: as in EngineOptions; what was taken is subtracted.
std::vector<Hazard> class_protocols(const std::vector<ir::ClassHarness>& classes, ir::Program& program,
                                    ir::Inliner& inliner, const Roles& roles, std::uint64_t& most_steps);

}  // namespace streamsan::analyzer
