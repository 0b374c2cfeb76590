// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The texture and surface objects that live, and what a launch that is given some touches through them.
//
// Through one a kernel may touch any byte of what the object is made of, and which ones is decided by coordinates that
// nobody follows. So what is made of it is an inferred access of known ends, like a pointer into an allocation: see
// certainty() in ordering/hazard.h. Neither measurements nor evaluated code have these bytes.
//
// Each context counts its handles from 1 (measured), so two devices have the same ones. In which context a node of a
// graph runs is not known: where several contexts have a handle, a node that is given it touches nothing through it.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "judge/code.h"
#include "judge/footprints.h"
#include "ordering/flat_map.h"
#include "ordering/model.h"
#include "trace/reader.h"

namespace streamsan::judge {

class Textures {
 public:
  /// A record of trace::Kind::Texture, of an object of that context.
  void made(const trace::Record& record, ordering::ContextId context);
  struct Launch {
    std::uint32_t index;
    const Kernel& kernel;
    std::uint64_t hash;
    std::optional<ordering::ContextId> context;  ///< none: not known
  };
  /// Adds what the launch touches through objects, of a kernel that is known to use some.
  void add_to(LaunchBytes& bytes, Code& code, const Launch& launch);

 private:
  struct Object {
    ordering::ContextId context{};
    ordering::Range range;  ///< empty: not known
    bool parted = false;
  };
  using Objects = ordering::FlatMap<std::vector<Object>>;  ///< by handle; of each context the newest

  static const Object* find(const Objects& objects, std::uint64_t handle, std::optional<ordering::ContextId> context);
  /// False: of some of the objects it is not known what they are made of.
  bool add(std::optional<ordering::ContextId> context, std::vector<ordering::PointerArgument>& pointers) const;

  std::vector<Code::TextureArgument> arguments_;  ///< scratch
  Objects textures_;
  Objects surfaces_;
};

}  // namespace streamsan::judge
