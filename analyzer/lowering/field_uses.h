// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What the function bodies of a translation unit do with fields and local variables that hold streams and events. See
// fields.cpp for what follows from it.
#pragma once

#include <map>
#include <optional>
#include <vector>

#include "analyzer/models/model.h"

namespace clang {
class ASTContext;
class FieldDecl;
class Stmt;
class ValueDecl;
class VarDecl;
}  // namespace clang

namespace streamsan::analyzer {

/// How one handle was made.
struct Making {
  std::optional<ordering::StreamKind> stream_kind;
  std::optional<bool> timing;
};

/// What was seen of a field or of a local variable.
struct Uses {
  std::vector<Making> makings;
  bool foreign = false;
  const clang::Stmt* made_in = nullptr;  ///< locals: the block
  unsigned given_away = 0;               ///< locals: how often its value was stored somewhere
};

/// The value of local variable `from` was stored in `field`, in `block`.
struct Handover {
  const clang::FieldDecl* field = nullptr;
  const clang::VarDecl* from = nullptr;
  const clang::Stmt* block = nullptr;
};

struct FieldUses {
  std::map<const clang::ValueDecl*, Uses> uses;  ///< fields and locals of handle types
  std::vector<Handover> handovers;
};

FieldUses collect_field_uses(clang::ASTContext& context, const Models& models);

}  // namespace streamsan::analyzer
