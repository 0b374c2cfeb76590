// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The texture and surface objects that live, and what a launch that is given some touches through them.
//
// Through one a kernel may touch any byte of what the object is made of, and which ones is decided by coordinates that
// nobody follows. So what is made of it is an inferred access of known ends, like a pointer into an allocation: see
// certainty() in ordering/hazard.h. Neither measurements nor evaluated code have these bytes.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "judge/code.h"
#include "judge/footprints.h"
#include "ordering/flat_map.h"
#include "ordering/model.h"
#include "trace/reader.h"

namespace streamsan::judge {

class Textures {
 public:
  /// A record of trace::Kind::Texture.
  void made(const trace::Record& record);
  struct Launch {
    std::uint32_t index;
    const Kernel& kernel;
    std::uint64_t hash;
  };
  /// Adds what the launch touches through objects. Of a kernel whose code is not there: nothing.
  void add_to(LaunchBytes& bytes, Code& code, const Launch& launch);

 private:
  /// False: of some of the objects it is not known what they are made of.
  bool add(std::span<const Code::TextureArgument> arguments, std::vector<ordering::PointerArgument>& pointers) const;

  std::vector<Code::TextureArgument> arguments_;  ///< scratch
  ordering::FlatMap<ordering::Range> textures_;   ///< by handle
  ordering::FlatMap<ordering::Range> surfaces_;
};

}  // namespace streamsan::judge
