// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Which fields of classes own the streams and events that they hold.
//
// A method that launches on `copy_` and on `compute_` races only if these are two streams. The method does not show
// that; the class does: each field is written by cudaStreamCreate and by nothing else. Then two such fields, and two
// elements of one such array, hold two handles, and with agreeing flags their kind is known too. One pass over the
// function bodies outside system headers sees every use of such a field and sorts it:
//
//   made      cudaStreamCreate(&field), &field[i], the loop variable of `for (auto& s : field)` and of
//             `for (cudaStream_t* s : {&field, &other})`; a local variable that was made in the same block and is given
//             to this one field: push_back(s), field = s
//   cleared   null, empty, new cudaStream_t[n]; resize, clear, reserve of a vector
//   moved     from the same field of another object in a move constructor, a move assignment, std::swap or
//             std::exchange
//   read      by value, or by const reference
//   taken     from a function whose name says that it gives out new ones (ir/naming.h)
//   foreign   everything else: a value from outside, a reference or address that escapes
//
// Taken from elsewhere each time is pooled: believed to be the object's own (analysis/beliefs.h).
//
// Owned is what is made and never foreign, and what is certainly made before it is used and not open to others
// (field_ownership.h). It errs to not owned. Where objects are copied field by field, as the elements of a vector are
// when it grows, two objects may hold one handle, but in the same field: it still differs from those of other fields.
#include "analyzer/lowering/fields.h"

#include "analyzer/lowering/field_ownership.h"
#include "analyzer/lowering/field_uses.h"
#include "clang/AST/ASTContext.h"
#include "clang/AST/DeclTemplate.h"
#include "clang/AST/Type.h"

namespace streamsan::analyzer {

using clang::dyn_cast;
using clang::dyn_cast_or_null;

ir::TypeKind handle_kind(clang::QualType type, const Models& models) {
  const auto known = [](ir::TypeKind kind) { return kind == ir::TypeKind::Stream || kind == ir::TypeKind::Event; };
  for (;;) {
    if (const auto* name = type->getAs<clang::TypedefType>()) {
      const ir::TypeKind kind = models.type(name->getDecl()->getQualifiedNameAsString());
      if (known(kind)) return kind;
    }
    if (const auto* array = type->getAsArrayTypeUnsafe()) {
      type = array->getElementType();
      continue;
    }
    const auto* record = type->getAsCXXRecordDecl();
    const auto* container = dyn_cast_or_null<clang::ClassTemplateSpecializationDecl>(record);
    if (container != nullptr && container->isInStdNamespace() && container->getTemplateArgs().size() != 0 &&
        container->getTemplateArgs()[0].getKind() == clang::TemplateArgument::Type &&
        (container->getName() == "vector" || container->getName() == "array")) {
      type = container->getTemplateArgs()[0].getAsType();
      continue;
    }
    if (!type->isPointerType()) return ir::TypeKind::Other;
    // A template argument has lost its name: cudaStream_t is CUstream_st*.
    type = type->getPointeeType();
    if (const auto* handle = type->getAsRecordDecl()) {
      const llvm::StringRef name = handle->getName();
      if (name == "CUstream_st" || name == "ihipStream_t") return ir::TypeKind::Stream;
      if (name == "CUevent_st" || name == "ihipEvent_t") return ir::TypeKind::Event;
      return ir::TypeKind::Other;
    }
  }
}

std::string field_key(const clang::FieldDecl& field) {
  return field.getParent()->getQualifiedNameAsString() + "::" + field.getNameAsString();
}

std::map<std::string, ir::HandleField> handle_fields(clang::ASTContext& context, const Models& models) {
  auto [all_uses, handovers, calls] = collect_field_uses(context, models);
  for (const Handover& handover : handovers) {
    const Uses& local = all_uses[handover.from];
    Uses& field = all_uses[handover.field];
    if (local.foreign || local.makings.size() != 1 || local.given_away != 1 || local.made_in != handover.block) {
      field.foreign = true;
    } else {
      field.makings.push_back(local.makings.front());
      field.makings.back().spot = handover.spot;
    }
  }
  // Instantiations of one class template share a key: they must agree.
  std::map<std::string, Uses> by_key;
  for (const auto& [declaration, uses] : all_uses) {
    const auto* field = dyn_cast<clang::FieldDecl>(declaration);
    if (field == nullptr) continue;
    Uses& together = by_key[field_key(*field)];
    together.foreign |= uses.foreign || open_to_others(*field, uses);
    if (handle_kind(field->getType(), models) == ir::TypeKind::Stream) {
      together.foreign |= !uses.makings.empty() && !made_before_use(*field, uses, calls);
    }
    together.copied |= uses.copied;
    // A copy goes where nobody looks for the handle.
    together.passed_on |= uses.passed_on || uses.copied;
    // Code that is not seen may use it.
    if (handle_kind(field->getType(), models) == ir::TypeKind::Event)
      together.passed_on |= !all_uses_in_sight(*field, models);
    together.makings.insert(together.makings.end(), uses.makings.begin(), uses.makings.end());
    together.taken.insert(together.taken.end(), uses.taken.begin(), uses.taken.end());
  }
  std::map<std::string, ir::HandleField> fields;
  for (const auto& [key, uses] : by_key) {
    ir::HandleField& field = fields[key];
    field.owned = !uses.foreign && !uses.makings.empty() && uses.taken.empty();
    field.copied = uses.copied;
    field.perhaps_null = !field.owned && !uses.makings.empty();
    field.passed_on = uses.passed_on;
    field.pooled = !uses.foreign && !uses.taken.empty();
    if (field.owned || field.pooled)
      field.made.begin = field.owned ? uses.makings.front().location : uses.taken.front();
    if (!field.owned) continue;
    const Making& first = uses.makings.front();
    const bool same_kind =
        llvm::all_of(uses.makings, [&](const Making& making) { return making.stream_kind == first.stream_kind; });
    const bool same_timing =
        llvm::all_of(uses.makings, [&](const Making& making) { return making.timing == first.timing; });
    if (same_kind) field.stream_kind = first.stream_kind;
    if (same_timing) field.timing = first.timing;
  }
  return fields;
}

}  // namespace streamsan::analyzer
