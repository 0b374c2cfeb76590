// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Writes a variable with a value for each type, line by line. Objects of classes are in caller_classes.cpp.
#include "analyzer/interpreter/caller_arguments.h"

#include <algorithm>
#include <array>
#include <utility>

#include "analyzer/interpreter/caller_elements.h"
#include "analyzer/interpreter/caller_numbers.h"
#include "clang/AST/ASTContext.h"
#include "clang/AST/Attr.h"
#include "clang/AST/DeclCXX.h"
#include "clang/AST/ExprCXX.h"
#include "clang/AST/QualTypeNames.h"

namespace streamsan::analyzer {

using clang::QualType;

namespace {

/// There are two. What comes round after an even number of them is not always on the same one.
constexpr const char* kDevice = " % 3 % 2";

/// The value is what a value-initialised object has anyway.
bool is_zero(llvm::StringRef value) { return value.ends_with(")0") || value.ends_with(")false"); }

/// The type that a std::shared_ptr points to; null: it is no such pointer.
QualType shared_by(QualType type) {
  const auto* pointer =
      llvm::dyn_cast_or_null<clang::ClassTemplateSpecializationDecl>(type.getNonReferenceType()->getAsCXXRecordDecl());
  if (pointer == nullptr || !pointer->isInStdNamespace() || pointer->getName() != "shared_ptr") return {};
  const clang::TemplateArgument& to = pointer->getTemplateArgs()[0];
  return to.getKind() == clang::TemplateArgument::Type ? to.getAsType() : QualType();
}

}  // namespace

const clang::CXXRecordDecl* referred(QualType type) {
  const QualType shared = shared_by(type);
  if (shared.isNull() && !type->isReferenceType() && !type->isPointerType()) return nullptr;
  const clang::CXXRecordDecl* record = (shared.isNull() ? type->getPointeeType() : shared)->getAsCXXRecordDecl();
  return record == nullptr || !record->hasDefinition() ? nullptr : record->getDefinition();
}

void CallerArguments::line(const std::string& text, Caller::Line what) {
  caller_.text += text + "\n";
  caller_.lines.push_back(what);
}

std::string CallerArguments::spelled(QualType type) const {
  clang::PrintingPolicy policy = context_.getPrintingPolicy();
  policy.SuppressUnwrittenScope = true;
  policy.SuppressTagKeyword = true;
  return clang::TypeName::getFullyQualifiedName(type.getCanonicalType(), context_, policy, true);
}

std::optional<std::string> CallerArguments::given(const clang::FunctionDecl& function, bool again) {
  streams_ = which_ = lists_ = unnamed_ = 0;
  compared_.clear();
  begins_in_ = nullptr;
  ++calls_;
  if (!again) objects_.clear();
  again_ = again;
  lent_.clear();
  counted_ = counted_array(function);
  alone_ = std::ranges::any_of(function.parameters(), [&](const clang::ParmVarDecl* parameter) {
    return parameter != counted_ && is_pointer_to_object(parameter->getType());
  });
  return function.isVariadic() ? std::nullopt : list_of(function, 0);
}

bool CallerArguments::is_pointer_to_object(QualType type) {
  return type->isPointerType() && symbols_.kind(type) == ir::TypeKind::Pointer && is_object(type);
}

/// `const Job* jobs, int count`: the only pointer to objects of a class that can be made in any number, followed by a
/// size. nullptr: there is none.
const clang::ParmVarDecl* CallerArguments::counted_array(const clang::FunctionDecl& function) {
  const clang::ParmVarDecl* found = nullptr;
  for (unsigned i = 0; i < function.getNumParams(); ++i) {
    const clang::ParmVarDecl* parameter = function.getParamDecl(i);
    if (!is_pointer_to_object(parameter->getType())) continue;
    const clang::ParmVarDecl* next = i + 1 < function.getNumParams() ? function.getParamDecl(i + 1) : nullptr;
    const clang::CXXRecordDecl* record = parameter->getType()->getPointeeType()->getAsCXXRecordDecl()->getDefinition();
    const bool many = record->isAggregate() || (record->isInStdNamespace() && record->getName() == "pair");
    if (found != nullptr || next == nullptr || !many || !next->getType()->isIntegerType() ||
        next->getType()->isBooleanType() || meaning_of(next->getName()) != Meaning::HowMuch)
      return nullptr;
    found = parameter;
  }
  return found;
}

/// A value for each parameter: "a1, (int)64, static_cast<T&&>(a2)".
std::optional<std::string> CallerArguments::list_of(const clang::FunctionDecl& function, int depth) {
  std::string list;
  const bool bytes = std::ranges::any_of(
      function.parameters(), [](const clang::ParmVarDecl* parameter) { return counts_bytes(parameter->getName()); });
  for (const clang::ParmVarDecl* parameter : function.parameters()) {
    filled_ = parameter;
    tensors_ = 0;
    bytes_ = bytes;
    const QualType type = parameter->getType();
    const QualType of = type.getNonReferenceType().getUnqualifiedType();
    const auto known = again_ && depth == 0 ? first_.find(parameter) : first_.end();
    const auto name = known != first_.end()     ? std::optional(known->second)
                      : type->isReferenceType() ? shared(of, parameter->getName(), depth)
                      : of->isPointerType()     ? variable(of, parameter->getName(), depth)
                                                : value(of, parameter->getName(), depth);
    if (!name) return std::nullopt;
    if (depth == 0 && lend(type, *name)) first_.try_emplace(parameter, *name);
    if (!list.empty()) list += ", ";
    // An object that is shared is lent to other users, too.
    list += type->isLValueReferenceType() ? *name
            : !shared_by(of).isNull()     ? spelled(of) + "(" + *name + ")"
            : type->isReferenceType()     ? "static_cast<" + spelled(of) + "&&>(" + *name + ")"
                                          : moved(of, *name);
  }
  return list;
}

bool CallerArguments::share(const clang::FunctionDecl& first, const clang::FunctionDecl& other) {
  const auto plain = [](const clang::ParmVarDecl* parameter) {
    return parameter->getType().getNonReferenceType().getCanonicalType().getUnqualifiedType();
  };
  bool any = false;
  for (const clang::ParmVarDecl* one : first.parameters())
    for (const clang::ParmVarDecl* same : other.parameters())
      if (const auto known = first_.find(one);
          known != first_.end() && plain(one) == plain(same) && !referred(one->getType())->isAggregate())
        any |= first_.try_emplace(same, known->second).second;
  return any;
}

/// Notes that the call was lent an object. False: it is no object of the program's own classes.
bool CallerArguments::lend(QualType type, const std::string& name) {
  const clang::CXXRecordDecl* record = referred(type);
  if (record == nullptr || symbols_.in_system_header(*record)) return false;
  if (type->isPointerType() && !is_object(type)) return false;
  const bool leads = type->isPointerType() || !shared_by(type).isNull();
  const std::pair<const clang::CXXRecordDecl*, std::string> lent(record, leads ? "(*" + name + ")" : name);
  if (std::ranges::find(lent_, lent) == lent_.end()) lent_.push_back(lent);
  return true;
}

std::string CallerArguments::cast(QualType type, const std::string& value) const {
  return "(" + spelled(type) + ")" + value;
}

std::string CallerArguments::moved(QualType type, const std::string& value) const {
  return type->isRecordType() ? "static_cast<" + spelled(type) + "&&>(" + value + ")" : value;
}

/// `value`: "{}", "(a1, a2)". An object that is made for one element of many lives as long as the element.
void CallerArguments::declare(const std::string& spelling, const std::string& name, const std::string& value) {
  if (element_.empty() && !kept_)
    line(spelling + " " + name + value + ";");
  else
    line(spelling + "& " + name + " = *new " + spelling + value + ";");
}

std::optional<std::string> CallerArguments::variable(QualType type, llvm::StringRef called, int depth) {
  const auto one = value(type, called, depth);
  if (!one || !type.getCanonicalType()->isScalarType()) return one;
  const std::string name = fresh();
  line(spelled(type) + " " + name + " = " + *one + ";");
  return name;
}

std::optional<std::string> CallerArguments::value(QualType type, llvm::StringRef called, int depth) {
  // Containers of containers end with their elements; objects that are made of others may never end.
  constexpr int kDeepest = 6;
  if (depth > kDeepest || is_long()) return std::nullopt;
  if (context_.getAsConstantArrayType(type) != nullptr) return array(type, called, depth);
  type = type.getCanonicalType().getUnqualifiedType();
  if (type->isPointerType()) return pointer(type, called, depth);
  if (type->isBooleanType()) return cast(type, way_.flags ? "true" : "false");
  if (type->isEnumeralType()) return cast(type, is_named(type, "ScalarType") ? "6" : "0");  // float
  if (type->isIntegerType()) return cast(type, number(called, depth));
  if (type->isRealFloatingType()) return cast(type, "1");
  const clang::CXXRecordDecl* record = type->getAsCXXRecordDecl();
  if (record == nullptr || !record->hasDefinition()) return std::nullopt;
  return object(type, *record->getDefinition(), called, depth);
}

/// As variable(); all references to one class of the program are to one object.
std::optional<std::string> CallerArguments::shared(QualType type, llvm::StringRef called, int depth) {
  const clang::CXXRecordDecl* record = type->getAsCXXRecordDecl();
  if (!way_.one || record == nullptr || symbols_.in_system_header(*record)) return variable(type, called, depth);
  const auto known = objects_.find(record->getCanonicalDecl());
  if (known != objects_.end()) return known->second;
  const auto one = variable(type, called, depth);
  if (one) objects_[record->getCanonicalDecl()] = *one;
  return one;
}

std::string CallerArguments::number(llvm::StringRef called, int depth, Meaning otherwise) {
  // Numbers of a constructor say how much room the object has, those of a plain struct how much there is.
  const auto* parameter = llvm::dyn_cast_or_null<clang::ParmVarDecl>(filled_);
  const bool makes_room = (depth > 0 || makes_) && parameter != nullptr;
  Meaning meaning = meaning_of(called, otherwise);
  if (parameter != nullptr && llvm::isa<clang::CXXConstructorDecl>(parameter->getDeclContext()) &&
      says_size_of_parts(called))
    meaning = Meaning::HowMuch;
  if (parameter != nullptr && element_.empty()) {
    // Two alike numbers may have to differ, in one call or in two.
    if (const auto needed = file_.numbers.compared_with(*parameter);
        needed && (way_.alike || compared_.insert(*needed).second))
      return std::to_string(*needed);
    if (meaning != Meaning::Devices && file_.numbers.counts_objects(*parameter)) meaning = Meaning::HowMany;
    // All methods of one object get the same one, also those that do not divide by it.
    const bool of_method = llvm::isa<clang::CXXMethodDecl>(parameter->getDeclContext());
    if (meaning == Meaning::Which && !of_method && file_.numbers.divides(*parameter))
      return way_.alike ? "1" : std::to_string(1 + which_++);
  }
  // An `end` behind a `begin` is greater than it.
  const auto* named = llvm::dyn_cast_or_null<clang::Decl>(filled_);
  if (ends_range(called) && named != nullptr && begins_in_ == named->getDeclContext())
    return "(" + begins_at_ + " + " + how_many() + ")";
  // It may be a size or an index: so each one of a call differs, and is small enough for a size.
  if (!way_.alike && depth == 0 && !alone_ && !fixed_ && meaning == Meaning::HowMuch &&
      meaning_of(called, Meaning::Which) == Meaning::Which) {
    const bool few = way_.own == Way::Size::Few;
    return std::to_string((few ? 3 : 64) - unnamed_++ % (few ? 3 : 48));
  }
  if (meaning == Meaning::Pitch) return "4096";
  if (meaning == Meaning::Devices) return "2";
  if (meaning == Meaning::HowMany) {
    if (way_.own == Way::Size::Few) return "12";  // not for the elements of two lists
    if (way_.own == Way::Size::Smaller) return "2";
    meaning = Meaning::HowMuch;
  }
  if (meaning == Meaning::HowMuch) {
    if (alone_ && depth == 0) return "1";
    if (torch_ && !fixed_ && says_part(called)) return "16";  // of tensors: several rounds
    if (fixed_ || (depth > 0 && way_.own == Way::Size::Smaller)) return torch_ ? "4" : "16";
    if (!makes_room || way_.own != Way::Size::Larger) return how_many();
    if (torch_) return "1048576";  // a tensor has 64 of everything, and lists of them are given
    return counts_bytes(called) ? "65536" : bytes_ ? how_many() : "4096";
  }
  if (meaning == Meaning::Device && element_.empty() && way_.users == Caller::Users::Objects)
    return way_.alike ? "0" : std::to_string(user_ % 2);
  if (meaning == Meaning::Where && named != nullptr) {
    begins_at_ = "0";
    begins_in_ = named->getDeclContext();
  }
  if (way_.alike || (meaning == Meaning::Device && element_.empty())) return "0";
  // Two lists have no number in common.
  const std::string shift = lists_ > 1 ? " + " + std::to_string(lists_ - 1) + " * " + elements() : "";
  if (meaning == Meaning::Counter && element_.empty()) return std::to_string(calls_);
  const std::string which = element_.empty() ? std::to_string(which_++)
                            : shift.empty()  ? element_
                                             : "(" + element_ + shift + ")";
  if (meaning == Meaning::Device) return which + kDevice;
  // The next call gets other numbers; and in a ring, another slot than numbers whose names say nothing.
  if (meaning == Meaning::Key) return "(" + which + " + 1 + " + std::to_string(calls_) + " * " + elements() + ")";
  if (meaning != Meaning::Where) return which;
  return begins_at_ = "(" + which + " * " + how_many() + ")";
}

/// A stream of the caller's. The elements of one array get different streams: that is what an array is for.
std::string CallerArguments::stream(int depth) {
  constexpr int kMostOfUser = 8;
  if (way_.users == Caller::Users::Streams && element_.empty())
    return std::string(kGivenStreamOf) + "(0, " + std::to_string(user_ * kMostOfUser + streams_++) + ")";
  if (!element_.empty()) return std::string(kGivenStreamOf) + "(" + std::to_string(collection_) + ", " + element_ + ")";
  return std::string(kGivenStream) + "(" + std::to_string(depth == 0 || !way_.one ? streams_++ : 0) + ")";
}

std::optional<std::string> CallerArguments::pointer(QualType type, llvm::StringRef called, int depth) {
  const QualType pointee = type->getPointeeType();
  switch (symbols_.kind(type)) {
    case ir::TypeKind::Stream:
      return cast(type, stream(depth));
    case ir::TypeKind::Event:
      return cast(type, std::string(kGivenEvent) + "()");
    default:
      break;
  }
  if (pointee->isFunctionType()) return std::nullopt;
  if (pointee.isConstQualified() && context_.hasSameUnqualifiedType(pointee, context_.CharTy))
    return cast(type, "\"text\"");
  if (counted_ != nullptr && filled_ == counted_ && depth == 0) return pointers(type, called, depth);
  if (is_object(type)) {
    // A list gets three nodes. A node of a tree, which has many others, gets those next to it.
    const auto own = filling_.equal_range(pointee->getAsCXXRecordDecl()->getCanonicalDecl());
    const bool in_a_row = std::all_of(own.first, own.second, [&](const auto& each) { return each.second == element_; });
    if (std::distance(own.first, own.second) >= (in_a_row ? 3 : 2)) return std::nullopt;
    const auto one = shared(pointee.getUnqualifiedType(), called, depth + 1);
    return one ? std::optional(cast(type, "&" + *one)) : std::nullopt;
  }
  if (pointee->isPointerType()) return pointers(type, called, depth);
  const auto* named = llvm::dyn_cast_or_null<clang::NamedDecl>(filled_);
  return cast(type, or_missing(memory(pointee), named == nullptr ? "" : named->getName()));
}

/// Among many elements, some lack the field that the file compares with nullptr.
std::string CallerArguments::or_missing(const std::string& value, llvm::StringRef field) const {
  const bool looked_for = !element_.empty() && counted_ != nullptr && file_.missing.contains(field);
  return looked_for ? "(" + element_ + " % 3 == 1 ? nullptr : " + value + ")" : value;
}

/// Memory of integers: if the host reads them, and numbers are not all 0 (Way::alike), each is an index.
std::string CallerArguments::memory(QualType of) {
  const bool counted = !way_.alike && of->isIntegerType() && !of->isBooleanType();
  const std::size_t as = given_as_.try_emplace(filled_, given_as_.size()).first->second;
  return std::string(kGivenMemory) + "(1UL << 20, " + (counted ? "sizeof(" + spelled(of) + ")" : "0") + ", " +
         std::to_string(as) + ")";
}

/// An array with as many elements as numbers say.
std::optional<std::string> CallerArguments::pointers(QualType type, llvm::StringRef called, int depth) {
  const QualType element = type->getPointeeType().getUnqualifiedType();
  const std::string name = fresh();
  line(spelled(element) + " " + name + "[" + elements() + "];");
  const bool whole = each(
      elements(), [&](const std::string& one) { line(name + "[" + element_ + "] = " + one + ";"); }, element, called,
      depth);
  return whole ? std::optional(cast(type, name)) : std::nullopt;
}

/// An array whose length the program gives.
std::optional<std::string> CallerArguments::array(QualType type, llvm::StringRef called, int depth) {
  const clang::ConstantArrayType* of = context_.getAsConstantArrayType(type);
  const QualType element = of->getElementType().getUnqualifiedType();
  const std::string name = fresh(), many = std::to_string(of->getZExtSize());
  line(spelled(element) + " " + name + "[" + many + "]{};");
  return fill_array(name, type, called, depth) ? std::optional(name) : std::nullopt;
}

/// `name` is all zeros before.
bool CallerArguments::fill_array(const std::string& name, QualType type, llvm::StringRef called, int depth) {
  const clang::ConstantArrayType* of = context_.getAsConstantArrayType(type);
  const QualType element = of->getElementType().getUnqualifiedType();
  if (element->isAnyCharacterType() || element->isBooleanType() || element->isRealFloatingType()) return true;
  const std::size_t text = caller_.text.size(), lines = caller_.lines.size();
  bool zero = false;
  const bool whole = each(
      std::to_string(of->getZExtSize()),
      [&](const std::string& one) {
        zero = is_zero(one);
        line(name + "[" + element_ + "] = " + moved(element, one) + ";");
      },
      element, called, depth);
  if (zero) {
    caller_.text.resize(text);
    caller_.lines.resize(lines);
  }
  return whole;
}

/// Does the pointer get an object, and not memory?
bool CallerArguments::is_object(QualType pointer) {
  const clang::CXXRecordDecl* record = pointer->getPointeeType()->getAsCXXRecordDecl();
  if (record == nullptr || !record->hasDefinition()) return false;
  const clang::CXXRecordDecl& defined = *record->getDefinition();
  // A plain object is no more than its bytes.
  return !defined.isTriviallyCopyable() || std::ranges::any_of(defined.fields(), [](const clang::FieldDecl* field) {
    return field->getType()->isPointerType() || field->getType()->isRecordType();
  });
}

namespace {

/// A class of the standard library that can be assigned: no mutex, no thread, no atomic.
bool moves(const clang::CXXRecordDecl& record) {
  static constexpr std::array<llvm::StringRef, 9> kMoving = {
      "vector", "basic_string", "function", "unique_ptr", "shared_ptr", "array", "deque", "list", "pair"};
  return llvm::is_contained(kMoving, record.getName());
}

/// The field is 0 or null in a new object.
bool says_nothing(const clang::FieldDecl& field) {
  const clang::Expr* value = field.getInClassInitializer();
  if (value == nullptr) return false;
  value = value->IgnoreParenImpCasts();
  if (const auto* list = llvm::dyn_cast<clang::InitListExpr>(value)) {
    if (list->getNumInits() == 0) return true;
    if (list->getNumInits() == 1) value = list->getInit(0)->IgnoreParenImpCasts();
  }
  if (const auto* number = llvm::dyn_cast<clang::IntegerLiteral>(value)) return number->getValue() == 0;
  return llvm::isa<clang::ImplicitValueInitExpr, clang::CXXNullPtrLiteralExpr, clang::GNUNullExpr>(value);
}

}  // namespace

/// Fills the fields of an object without a constructor. `name` is all zeros before.
void CallerArguments::fill(const std::string& name, const clang::CXXRecordDecl& record, int depth) {
  const auto is_number = [](QualType type) {
    return type->isIntegerType() && !type->isBooleanType() && !type->isEnumeralType();
  };
  const bool elsewhere = !way_.alike && !element_.empty() && file_.chooses_device &&
                         std::ranges::any_of(record.fields(), [&](const clang::FieldDecl* field) {
                           return is_number(field->getType()) && meaning_of(field->getName()) == Meaning::Device;
                         });
  if (elsewhere) line(std::string(kOnDevice) + "(" + element_ + kDevice + ");");
  const auto filling = filling_.emplace(record.getCanonicalDecl(), element_);
  for (const clang::FieldDecl* field : record.fields()) {
    if (field->getAccess() != clang::AS_public && field->getAccess() != clang::AS_none) continue;
    const QualType type = field->getType();
    if (field->hasInClassInitializer() && !type->isPointerType() &&
        !(is_number(type) && says_nothing(*field) && !counts_progress(field->getName())))
      continue;
    if (type.isConstQualified() || type->isReferenceType() || field->getName().empty()) continue;
    filled_ = field;
    tensors_ = 0;
    const std::string at = name + "." + field->getNameAsString();
    if (type->isArrayType()) {
      if (context_.getAsConstantArrayType(type) != nullptr) fill_array(at, type, field->getName(), depth);
      continue;
    }
    const clang::CXXRecordDecl* inside = type->getAsCXXRecordDecl();
    if (inside != nullptr && inside->isInStdNamespace() && !moves(*inside)) continue;
    const auto one = value(type, field->getName(), depth + 1);
    if (one && (field->hasInClassInitializer() || !is_zero(*one))) line(at + " = " + moved(type, *one) + ";");
  }
  filling_.erase(filling);
  if (elsewhere) line(std::string(kOnDevice) + "(~0UL);");
}

}  // namespace streamsan::analyzer
