// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The sections of a 64-bit ELF file that may be damaged.
#pragma once

#include <elf.h>

#include <functional>
#include <string_view>

#include "judge/ptx/input.h"

namespace streamsan::ptx {

/// Calls visit(name, header) for each section with contents, all of them inside of the file, until it returns true;
/// that is then returned. Names are cut after 31 characters.
bool any_section(const Input& file, const std::function<bool(std::string_view, const Elf64_Shdr&)>& visit);

}  // namespace streamsan::ptx
