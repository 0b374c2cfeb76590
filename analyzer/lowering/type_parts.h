// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Queries about the bases and fields of a class. Each query defines its own result for arrays, undefined classes and
// nested classes.
#pragma once

#include "analyzer/lowering/symbols.h"
#include "clang/AST/DeclCXX.h"

namespace streamsan::analyzer {

/// `holds(type)` is true of the type of a base, or of a field. The class has a definition.
template <typename Holds>
bool any_part(const clang::CXXRecordDecl& record, Holds holds) {
  const clang::CXXRecordDecl& definition = *record.getDefinition();
  for (const clang::CXXBaseSpecifier& base : definition.bases())
    if (holds(base.getType())) return true;
  for (const clang::FieldDecl* field : definition.fields())
    if (holds(field->getType())) return true;
  return false;
}

/// The type consists of numbers only: no handle and no pointer is in it.
inline bool plain(Symbols& symbols, clang::QualType type) {
  if (type.isNull() || type->isReferenceType()) return false;
  if (type->isConstantArrayType()) return plain(symbols, clang::QualType(type->getArrayElementTypeNoTypeQual(), 0));
  const ir::TypeKind of = symbols.kind(type);
  if (of == ir::TypeKind::Other || of == ir::TypeKind::Integer) return true;
  const clang::CXXRecordDecl* record = Symbols::record(type);
  if (of != ir::TypeKind::Object || record == nullptr || !record->hasDefinition()) return false;
  return !any_part(*record, [&](clang::QualType part) { return !plain(symbols, part); });
}

}  // namespace streamsan::analyzer
