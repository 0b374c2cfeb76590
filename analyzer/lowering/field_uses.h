// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What the function bodies of a translation unit do with fields and local variables that hold streams and events. See
// fields.cpp for what follows from it.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "analyzer/models/model.h"

namespace clang {
class ASTContext;
class Expr;
class FieldDecl;
class FunctionDecl;
class Stmt;
class ValueDecl;
class VarDecl;
}  // namespace clang

namespace streamsan::analyzer {

/// Why a place in a function is not on all ways through it: it is in a branch, in a loop, or behind a branch that
/// leaves the rest of a loop or of a switch, or of the function.
enum class Way : std::uint8_t { Branch, Loop, PastBreak, PastContinue, PastReturn };

/// A branch that leads to a place in a function.
struct Branch {
  const clang::Stmt* choice = nullptr;
  const clang::Expr* condition = nullptr;  ///< what is known to hold, or not to hold, in the branch
  bool holds = true;
  Way way = Way::Branch;
  friend bool operator==(const Branch&, const Branch&) = default;
};

/// Where in the translation unit something is done.
struct Spot {
  const clang::FunctionDecl* function = nullptr;
  std::vector<Branch> branches;  ///< from the outside in
  unsigned number = 0;           ///< grows in the order of the text
};

/// How one handle was made.
struct Making {
  std::optional<ordering::StreamKind> stream_kind;
  std::optional<bool> timing;
  Spot spot;
  std::uint32_t location = 0;  ///< raw
};

/// What was seen of a field or of a local variable.
struct Uses {
  std::vector<Making> makings;
  std::vector<std::uint32_t> taken;  ///< from functions that give out new ones by their name; raw locations
  std::vector<Spot> readings;        ///< of its value, other than to destroy it or to ask whether it is null
  std::vector<Spot> destroyed;       ///< by a call that destroys handles
  std::vector<Spot> cleared;  ///< by an assignment of null, other than where making it failed and the function is left
  bool foreign = false;
  bool copied = false;                   ///< with the objects that it is in, field by field
  bool passed_on = false;                ///< read, other than by a call that a model knows
  const clang::Stmt* made_in = nullptr;  ///< locals: the block
  unsigned given_away = 0;               ///< locals: how often its value was stored somewhere
};

/// The value of local variable `from` was stored in `field`, in `block`.
struct Handover {
  const clang::FieldDecl* field = nullptr;
  const clang::VarDecl* from = nullptr;
  const clang::Stmt* block = nullptr;
  Spot spot;
};

struct FieldUses {
  std::map<const clang::ValueDecl*, Uses> uses;  ///< fields and locals of handle types
  std::vector<Handover> handovers;
  std::vector<std::pair<const clang::FunctionDecl*, Spot>> calls;  ///< of functions with a body
};

FieldUses collect_field_uses(clang::ASTContext& context, const Models& models);

}  // namespace streamsan::analyzer
