// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Why a conflict is possible and not certain (ordering/hazard.h), in words.
#pragma once

#include <string>

#include "judge/wording.h"
#include "ordering/hazard.h"

namespace streamsan::judge {

/// Sentences that follow others, each with a space in front: what is not known, and what would decide it.
std::string why_possible(const ordering::Hazard& hazard, const Nouns& nouns);

}  // namespace streamsan::judge
