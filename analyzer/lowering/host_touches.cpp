// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The host's own accesses of memory.
//
// Every `h[i] = x` is one. Most concern memory that no device ever sees, so an access is kept only if it can matter:
// the variable's address is taken somewhere in the translation unit, or the memory is reached through a pointer; and
// when the function is done, host_trim.cpp drops what was never given to anything but the host's own accesses. Reading
// a handle out of an array of handles is no access: handles are values.
//
// The same access twice in a row, with nothing in between, is one.
#include <algorithm>

#include "clang/AST/ASTContext.h"
#include "clang/AST/ExprCXX.h"

#include "analyzer/lowering/host_body.h"

namespace streamsan::analyzer::host {

using ir::Operand;
using ir::OpKind;
using ir::Place;
using ir::TypeKind;

ir::Access Body::access(const Operand& memory, ir::Mode mode) {
  ir::Access made{.memory = memory, .mode = mode};
  if (memory.kind == Operand::Kind::Value && function_[memory.place].name == "$data" &&
      function_[memory.place].base != ir::kNoPlace) {
    const clang::QualType type = type_of(function_[memory.place].base);
    const auto of = unit_.symbols.block_memory(type);
    if (of && !unit_.symbols.views(type)) {
      made.pinned = *of == ordering::MemoryKind::Pinned;
      made.pageable = *of == ordering::MemoryKind::Pageable;
    }
  }
  return made;
}

bool Body::worth_a_touch(ir::PlaceId place) const {
  const TypeKind of = kind(place);
  if (of == TypeKind::Stream || of == TypeKind::Event || of == TypeKind::Graph) return false;
  for (ir::PlaceId at = place;;) {
    const Place& here = function_[at];
    switch (here.kind) {
      case Place::Kind::Deref:
      case Place::Kind::Index:
        return here.kind == Place::Kind::Deref || kind(here.base) == TypeKind::Pointer || of != TypeKind::Pointer;
      case Place::Kind::Field:
        if (function_[here.base].kind == Place::Kind::Deref && of == TypeKind::Pointer) return false;
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

void Body::touch_read(const clang::Expr& lvalue, const clang::Expr& where) {
  const clang::QualType type = lvalue.getType();
  const TypeKind of = kind(type);
  // Who reads a volatile looks whether somebody has written it yet.
  if (type.isVolatileQualified()) return;
  // Handles are values, and so are the pointers in an array of pointers.
  if (of == TypeKind::Stream || of == TypeKind::Event || of == TypeKind::Graph || of == TypeKind::Pointer) return;
  const clang::Expr* at = strip(&lvalue);
  // A plain variable whose address nobody took is a register.
  if (const auto* reference = llvm::dyn_cast<clang::DeclRefExpr>(at)) {
    const clang::ValueDecl* declaration = reference->getDecl();
    if (!declaration->getType()->isReferenceType() && !unit_.census.address_taken(*declaration)) return;
  }
  const ir::PlaceId read = place(at);
  if (read != ir::kNoPlace) touch(read, ir::Mode::Read, where);
}

void Body::touch(ir::PlaceId touched, ir::Mode mode, const clang::Expr& where) {
  if (touched == ir::kNoPlace || !worth_a_touch(touched)) return;
  const Place& place = function_[touched];
  if (place.kind == Place::Kind::Local || place.kind == Place::Kind::Global || place.kind == Place::Kind::Parameter) {
    const bool named = std::any_of(variables_.begin(), variables_.end(), [&](const auto& variable) {
      return variable.second == touched && unit_.census.address_taken(*variable.first);
    });
    if (!named && !place.reference) return;
  }
  const Operand memory = memory_of(touched);
  if (memory.kind != Operand::Kind::Value && memory.kind != Operand::Kind::Address) return;
  auto& ops = function_.blocks[block_].ops;
  for (auto op = ops.rbegin(); op != ops.rend() && op->kind == OpKind::HostAccess; ++op)
    if (op->accesses.size() == 1 && op->accesses.front().memory == memory && op->accesses.front().mode == mode) return;
  ir::Op op{.kind = OpKind::HostAccess, .site = site(where)};
  op.accesses.push_back(access(memory, mode));
  // An element has a size of its own; what has no offset may be all there is.
  const ir::PlaceId part = element_around(touched);
  const std::uint32_t size = function_[part].kind == Place::Kind::Index ? size_of(type_of(part)) : 0;
  if (size != 0) op.accesses.front().bytes = number(size);
  emit(std::move(op));
}

}  // namespace streamsan::analyzer::host
