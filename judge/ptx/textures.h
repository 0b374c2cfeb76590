// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Which parameters of a kernel are texture and surface objects, and what is done through them.
//
// Such an object is a small number, so a parameter counts as one only where the code puts it into a texture instruction
// (tex, tld4, suld, sust, sured) as it came: by moves and choices, and by no arithmetic. Objects from memory, from an
// array of parameters that is indexed, and references (which have a name in the module) are not followed.
#pragma once

#include <cstddef>
#include <vector>

#include "judge/ptx/kernel.h"

namespace streamsan::ptx {

struct TextureUse {
  std::size_t word = 0;  ///< of the parameters, as in facts.h
  bool surface = false;
  bool written = false;
  bool chosen = false;  ///< it is one of several that the instruction may be given
  bool operator==(const TextureUse&) const = default;
};

struct Textures {
  std::vector<TextureUse> uses;  ///< each once
  bool all_known = true;         ///< false: the kernel has some that were not followed
};

/// Does it read or write memory through a texture or surface?
constexpr bool is_of_texture(Op op) {
  return op == Op::TextureLoad || op == Op::SurfaceLoad || op == Op::SurfaceStore || op == Op::SurfaceReduce;
}
/// Which operand says through which; may be behind the last.
constexpr std::size_t texture_operand(Op op) { return op == Op::TextureLoad || op == Op::SurfaceLoad ? 1 : 0; }

Textures textures_of(const Kernel& kernel);

}  // namespace streamsan::ptx
