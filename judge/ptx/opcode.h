// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What an instruction's name says: "ld.global.nc.v4.f32".
#pragma once

#include <string_view>

#include "judge/ptx/kernel.h"

namespace streamsan::ptx {

/// The type of "u32", "b64", "f16x2", "pred". Bits 0: not a type.
Type type_of(std::string_view name);

/// Fills everything but guard, target and operands.
void decode(std::string_view name, Instruction& instruction);

}  // namespace streamsan::ptx
