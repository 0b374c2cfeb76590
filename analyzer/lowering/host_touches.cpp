// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The host's own accesses of memory.
//
// Every `h[i] = x` is one. Most concern memory that no device ever sees, so an access is kept only if it can matter:
// the variable's address is taken somewhere in the translation unit, or the memory is reached through a pointer; and
// when the function is done, host_trim.cpp drops what was never given to anything but the host's own accesses. Reading
// a handle out of an array of handles is no access: handles are values.
//
// Reading a volatile is no access: it may tell that work is done, whatever it is of.
//
// The same access twice in a row, with nothing in between, is one.
#include "analyzer/lowering/host_touches.h"

#include "analyzer/ir/changes.h"
#include "analyzer/lowering/device_memory.h"
#include "analyzer/lowering/host_builder.h"
#include "analyzer/lowering/host_expressions.h"
#include "analyzer/lowering/host_numbers.h"
#include "analyzer/lowering/host_parts.h"
#include "analyzer/lowering/host_places.h"
#include "analyzer/lowering/host_unit.h"
#include "analyzer/lowering/host_values.h"
#include "clang/AST/ASTContext.h"
#include "clang/AST/ExprCXX.h"

namespace streamsan::analyzer::host {

using ir::Operand;
using ir::OpKind;
using ir::Place;
using ir::TypeKind;

Touches::Touches(const Parts& parts)
    : unit_(parts.unit), out_(parts.out), numbers_(parts.numbers), places_(parts.places), values_(parts.values) {}

bool Touches::worth_a_touch(ir::PlaceId place) const {
  const TypeKind of = out_.kind(place);
  if (is_handle(of)) return false;
  for (ir::PlaceId at = place;;) {
    const Place& here = out_[at];
    switch (here.kind) {
      case Place::Kind::Deref:
      case Place::Kind::Index:
        return here.kind == Place::Kind::Deref || out_.kind(here.base) == TypeKind::Pointer || of != TypeKind::Pointer;
      case Place::Kind::Field:
        if (out_[here.base].kind == Place::Kind::Deref && of == TypeKind::Pointer) return false;
        at = here.base;
        continue;
      case Place::Kind::Temporary:
      case Place::Kind::This:
        return false;
      case Place::Kind::Local:
      case Place::Kind::Parameter:
      case Place::Kind::Global:
        return of != TypeKind::Pointer;
    }
  }
}

void Touches::touch_read(const clang::Expr& lvalue, const clang::Expr& where) {
  const clang::QualType type = lvalue.getType();
  const TypeKind of = out_.kind(type);
  if (type.isVolatileQualified()) return ask_flag(lvalue, where);
  // Handles are values, and so are the pointers in an array of pointers.
  if (is_handle(of) || of == TypeKind::Pointer) return;
  const clang::Expr* at = strip(&lvalue);
  // A plain variable whose address nobody took is a register.
  if (const auto* reference = llvm::dyn_cast<clang::DeclRefExpr>(at)) {
    const clang::ValueDecl* declaration = reference->getDecl();
    if (!declaration->getType()->isReferenceType() && !unit_.census.address_taken(*declaration) &&
        device::device_variable(*declaration) == nullptr)
      return;
  }
  const ir::PlaceId read = places_.place(at);
  if (read != ir::kNoPlace) touch(read, ir::Mode::Read, where);
}

/// A read of a volatile asks whether somebody has written it yet. A kernel may have, when it was done with something.
void Touches::ask_flag(const clang::Expr& flag, const clang::Expr& where) {
  const auto* named = llvm::dyn_cast<clang::DeclRefExpr>(strip(&flag));
  const auto* variable = named == nullptr ? nullptr : llvm::dyn_cast<clang::VarDecl>(named->getDecl());
  if (variable != nullptr && variable->hasLocalStorage() && !variable->getType()->isReferenceType()) return;
  out_.emit({.kind = OpKind::MaySync, .site = out_.site(where), .name = ir::kVolatileRead});
}

void Touches::touch(ir::PlaceId touched, ir::Mode mode, const clang::Expr& where) {
  if (touched == ir::kNoPlace || !worth_a_touch(touched)) return;
  const Place& place = out_[touched];
  if (place.kind == Place::Kind::Local || place.kind == Place::Kind::Global || place.kind == Place::Kind::Parameter) {
    // What host code can name of the device is managed memory.
    const clang::ValueDecl* declaration = places_.declaration_of(touched);
    const bool managed = declaration != nullptr && device::device_variable(*declaration) != nullptr;
    if (!managed && !places_.address_taken(touched) && !place.reference) return;
  }
  const Operand memory = values_.memory_of(touched);
  if (memory.kind != Operand::Kind::Value && memory.kind != Operand::Kind::Address) return;
  auto& ops = out_.ops();
  for (auto op = ops.rbegin(); op != ops.rend() && op->kind == OpKind::HostAccess; ++op)
    if (op->accesses.size() == 1 && op->accesses.front().memory == memory && op->accesses.front().mode == mode) return;
  ir::Op op{.kind = OpKind::HostAccess, .site = out_.site(where)};
  op.accesses.push_back(values_.access(memory, mode));
  // An element has a size of its own; what has no offset may be all there is.
  const ir::PlaceId part = values_.element_around(touched);
  const std::uint32_t size = out_[part].kind == Place::Kind::Index ? numbers_.size_of(out_.type_of(part)) : 0;
  if (size != 0) op.accesses.front().bytes = numbers_.number(size);
  out_.emit(std::move(op));
}

}  // namespace streamsan::analyzer::host
