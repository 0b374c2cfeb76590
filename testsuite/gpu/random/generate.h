// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Random programs. Enough order that much of it matters, little enough that much runs beside the held operation. Most
// programs are of a flavour (mostly graphs, mostly dependent launches, ...), since what goes wrong is a meeting of few
// features.
#pragma once

#include <cstdint>

#include "testsuite/gpu/random/program.h"

namespace streamsan::lab {

/// The same seed is the same program, for the same number of devices. Something is always held.
Program random_program(std::uint64_t seed, unsigned devices = 1);

}  // namespace streamsan::lab
