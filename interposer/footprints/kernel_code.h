// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Which machine code a kernel has, so that what was measured of it may serve a later run.
//
// A kernel is known by its name, and its code by a hash of the module it was loaded with: functions that it calls, and
// tables of constants, are in there, too. If two modules that differ have a kernel of one name, it is not known which
// of them a launch runs.
#pragma once

#include <cstddef>
#include <cstdint>

namespace streamsan::footprints {

/// Looks through a module that is being loaded. The image is not trusted.
void note_kernel_code(const char* cubin, std::size_t bytes);
/// Equal in every process in which the kernel of this name has equal code. 0: there is none, or more than one.
std::uint64_t kernel_code(const char* name);

}  // namespace streamsan::footprints
