// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The analysis of one function: from stream IR to hazards. engine.cpp explains it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "analyzer/analysis/hazard.h"
#include "analyzer/analysis/inspect_releases.h"
#include "analyzer/analysis/roles.h"
#include "analyzer/ir/ir.h"

namespace streamsan::analyzer {

class Roles;
struct Duty;

struct EngineOptions {
  std::uint32_t most_block_visits = 4000;  ///< per function; past it the function counts as not analysed
  std::uint32_t most_accesses = 400;       ///< limit of accesses that are pending at one point
  std::uint64_t most_steps = UINT64_MAX;   ///< limit of Verdict::steps: what the translation unit has left
};

struct Verdict {
  std::vector<Hazard> duties;    ///< edges that it owes to its caller and does not make (duties.h)
  std::vector<Settled> settled;  ///< releases of tensors that are in order here, though not in a callee alone
  std::vector<Hazard> hazards;   ///< all levels and all checks; one per pair of sites; in source order of `later`
  std::string gave_up;           ///< why the function was not analysed; empty: it was
  bool of_callers = false;       ///< the analysis used facts about its callers' streams
  std::uint64_t steps = 0;       ///< its cost: for each op, the number of entries of the state it was applied to
};

/// Verdict::gave_up past EngineOptions::most_steps.
inline constexpr const char* kNoStepsLeft = "the steps that one file may take are used up";

/// `function` is closed: the inliner has removed every Call, and every Return but its own (inline.h).
/// `roles`: how the program uses its streams; nullptr: nothing is believed, so no finding is Likely.
/// `duty`: the result of owe(), which has put a record at the begin; nullptr: the function owes nothing.
Verdict analyze(const ir::Function& function, const ir::Program& program, const EngineOptions& options = {},
                const Roles* roles = nullptr, const Duty* duty = nullptr);

}  // namespace streamsan::analyzer
