// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Which kernels move memory by tensor maps (the UTMA instructions of compute capability 9.0 and later).
//
// The Sanitizer API has no instruction class for them (seen with the library of CUDA 13.0: cp.async.bulk is reported,
// cp.async.bulk.tensor is not), so a kernel that has one touches more than its marks say. Its footprint is called
// incomplete. The machine code tells: what an instruction does stands in its lowest bits.
#pragma once

#include <cstddef>

namespace streamsan::footprints {

/// Looks through the code of a module that is being loaded. The image is not trusted.
void note_tensor_code(const char* cubin, std::size_t bytes);
/// Was a kernel of this name, in any module, seen to use tensor maps, or does its module have a function that does and
/// that it may call? True of every kernel once a module could not be read: it may be in that one.
bool uses_tensor_maps(const char* kernel);

}  // namespace streamsan::footprints
