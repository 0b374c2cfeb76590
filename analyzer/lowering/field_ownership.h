// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Whether a field that is made somewhere holds what was made wherever it is used, and whether others may assign it.
//
// A stream that was not created is null, which is the default stream: two such fields are one stream. So a field that
// is created under a condition alone is not owned, unless every use is known to come after a creation: it stands behind
// `if (!s_) cudaStreamCreate(&s_);` in the same function, behind a call of a function that begins with that, or where
// s_ was found not null. Nor is a field that is set to null elsewhere than in constructors, in moves and where it is
// destroyed, and not certainly created again behind that. Null events are errors and need no such care, and a vector
// that was not filled has no element.
//
// A creation has a condition if some path through its function leaves it out: through a branch, a loop, a case, a
// handler, or an earlier return. A return because a call of CUDA failed does not count: no object without streams is
// used after it. Elements are created in loops, which are taken to run over all of them.
//
// A field that some function creates without a condition is taken to exist before it is used; who calls that function
// is not looked at.
#pragma once

#include <utility>
#include <vector>

#include "analyzer/lowering/field_uses.h"

namespace streamsan::analyzer {

using Calls = std::vector<std::pair<const clang::FunctionDecl*, Spot>>;

bool made_before_use(const clang::FieldDecl& field, const Uses& uses, const Calls& calls);

/// Other files see the field and may assign it: it is not private, a header declares it, and no member function of its
/// class makes it.
bool open_to_others(const clang::FieldDecl& field, const Uses& uses);

/// All code that can use the field is in the main file: the field is private, and its class is written there with the
/// bodies of all its functions, and lets no friend in. A template may be instantiated in another file,
/// so it must not mention the field, unless no other file can name the class.
bool all_uses_in_sight(const clang::FieldDecl& field, const Models& models);

}  // namespace streamsan::analyzer
