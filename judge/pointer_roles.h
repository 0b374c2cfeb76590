// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What a launch shows about its pointers: which are read, which are surely written, and which may be either.
//
// An error needs a write (see certainty() in ordering/hazard.h), and two kernels that only read one buffer on two
// streams are common and fine (shared weights). So a pointer counts as written only if the kernel would make no sense
// otherwise:
//   * `const T*`             read
//   * `T*`                   written, if the signature also has a `const T*`: its author marks what is only read;
//                            or if it is the only pointer and all else are numbers: a kernel has no other result
//   * the only pointer word  written, wherever it stands, for the same reason
//   * ATen's element-wise kernels take std::array<char*, N>: outputs first, so of N pointers the first is written and
//     the others are read (kernels with several outputs say so in their name and are left alone)
//   * CuPy's generated kernels ("cupy_...") take one structure for each array, the pointer first, inputs before
//     outputs: the last one is written, the others are read
//   * `volatile T*`          doubtful: the kernel exchanges data with code that runs at the same time, unordered
//   * other pointers inside structures are doubtful: ATen's multi-tensor kernels are handed tables that are only partly
//     filled, with pointers of earlier calls behind
//   * all other pointers     unknown: may be written
// Conclusions can be wrong for a kernel that keeps a result in a module variable or has a non-const input beside const
// ones.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "ordering/model.h"

namespace streamsan::judge {

struct PointerRoles {
  std::vector<ordering::AccessMode> modes;    ///< of the parameters; empty: the name tells nothing
  std::uint64_t tensors = ~std::uint64_t{0};  ///< index of the parameter that is ATen's array of tensors
  std::uint64_t tensor_count = 0;
  bool cupy = false;
};

PointerRoles pointer_roles(std::string_view mangled);

/// The pointers of one launch (trace::pointer_word()), with what is known of each, into `out`.
void read_pointers(const PointerRoles& roles, std::span<const std::uint64_t> words,
                   std::vector<ordering::PointerArgument>& out);

}  // namespace streamsan::judge
