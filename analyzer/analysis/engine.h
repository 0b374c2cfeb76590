// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The analysis of one function: from stream IR to hazards. See engine.cpp for the essay.
#pragma once

#include <string>
#include <vector>

#include "analyzer/analysis/hazard.h"
#include "analyzer/ir/ir.h"

namespace streamsan::analyzer {

struct EngineOptions {
  std::uint32_t most_block_visits = 4000;  ///< per function; past it the function counts as not analysed
  std::uint32_t most_accesses = 400;       ///< pending at one point
};

struct Verdict {
  std::vector<Hazard> hazards;  ///< all levels and all checks; one per pair of sites; in source order of `later`
  std::string gave_up;          ///< why the function was not analysed; empty: it was
};

/// `function` is closed: the inliner has removed every Call and Return (inline.h).
Verdict analyze(const ir::Function& function, const ir::Program& program, const EngineOptions& options = {});

}  // namespace streamsan::analyzer
