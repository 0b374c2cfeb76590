// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Arguments that are objects of classes.
#include <algorithm>
#include <utility>

#include "analyzer/interpreter/caller_arguments.h"
#include "analyzer/interpreter/caller_elements.h"
#include "analyzer/interpreter/torch_text.h"
#include "analyzer/interpreter/ways_to_wait.h"
#include "clang/AST/ASTContext.h"
#include "clang/AST/DeclCXX.h"
#include "clang/AST/DeclTemplate.h"

namespace streamsan::analyzer {

using clang::QualType;

namespace {

/// The type argument of a template at this position; null: none.
QualType argument(const clang::ClassTemplateSpecializationDecl& record, unsigned at) {
  if (record.getTemplateArgs().size() <= at) return {};
  const clang::TemplateArgument& given = record.getTemplateArgs()[at];
  return given.getKind() == clang::TemplateArgument::Type ? given.getAsType() : QualType();
}

/// Objects of the class can be destroyed.
bool has_usable_end(const clang::CXXRecordDecl& record) {
  const clang::CXXDestructorDecl* end = record.getDestructor();
  if (end == nullptr) return !record.defaultedDestructorIsDeleted();
  return !end->isDeleted() && end->getAccess() == clang::AS_public;
}

/// `Class object{};` is C++.
bool starts_empty(const clang::CXXRecordDecl& record) {
  if (!record.hasDefinition() || !has_usable_end(record)) return false;
  for (const clang::CXXConstructorDecl* constructor : record.ctors())
    if (constructor->isDefaultConstructor() && !constructor->isImplicit())
      return !constructor->isDeleted() && constructor->getAccess() == clang::AS_public;
  // The constructor may be a template, as in the standard library.
  if (record.hasUserDeclaredConstructor() || record.isUnion()) return record.hasDefaultConstructor();
  const auto part_starts = [](QualType type) {
    const clang::CXXRecordDecl* inside = type->getBaseElementTypeUnsafe()->getAsCXXRecordDecl();
    return !type->isReferenceType() && (inside == nullptr || starts_empty(*inside));
  };
  return std::ranges::all_of(record.bases(), [&](const auto& base) { return part_starts(base.getType()); }) &&
         std::ranges::all_of(record.fields(), [&](const clang::FieldDecl* field) {
           return field->hasInClassInitializer() || part_starts(field->getType());
         });
}

}  // namespace

std::optional<std::string> CallerArguments::object(QualType type, const clang::CXXRecordDecl& record,
                                                   llvm::StringRef called, int depth) {
  const auto* instance = llvm::dyn_cast<clang::ClassTemplateSpecializationDecl>(&record);
  const std::string spelling = spelled(type), class_name = record.getQualifiedNameAsString();
  if (class_name.starts_with("at::") || class_name.starts_with("c10::")) {
    const std::string name = fresh();
    if (const auto known =
            of_torch(class_name, spelling, name, instance != nullptr ? argument(*instance, 0) : QualType(), depth))
      return known->empty() ? std::nullopt : known;
  }
  if (record.isInStdNamespace() && instance != nullptr)
    if (const auto known = of_standard(*instance, type, called, depth)) return known->empty() ? std::nullopt : known;
  if (record.isLambda() || record.isUnion() || !has_usable_end(record)) return std::nullopt;
  const bool of_system = symbols_.in_system_header(record);
  if (record.isAbstract()) {
    // If there are several, the right one is not known.
    const auto derives = [&](const clang::CXXRecordDecl* each) { return each->isDerivedFrom(&record); };
    const auto found = std::ranges::find_if(file_.classes, derives);
    if (found == file_.classes.end() || std::ranges::count_if(file_.classes, derives) > 1) return std::nullopt;
    return object(context_.getCanonicalTagType(*found), **found, called, depth);
  }
  const std::string name = fresh();
  if (record.isAggregate()) {
    if (!starts_empty(record)) return std::nullopt;
    declare(spelling, name, "{}");
    if (!of_system) fill(name, record, depth);
    return name;
  }
  if (of_system && record.hasDefaultConstructor()) {
    declare(spelling, name, "{}");
    return name;
  }
  for (const clang::CXXConstructorDecl* constructor : record.ctors()) {
    if (!is_public_constructor(*constructor)) continue;
    const auto list = list_of(*constructor, depth + 1);
    if (!list) continue;
    declare(spelling, name, list->empty() ? "{}" : "(" + *list + ")");
    return name;
  }
  if (!record.hasUserDeclaredConstructor() && starts_empty(record)) {
    declare(spelling, name, "{}");
    return name;
  }
  return std::nullopt;
}

std::optional<std::string> CallerArguments::of_standard(const clang::ClassTemplateSpecializationDecl& record,
                                                        QualType type, llvm::StringRef called, int depth) {
  const llvm::StringRef class_name = record.getName();
  const QualType of = argument(record, 0);
  if (of.isNull()) return std::nullopt;
  const std::string spelling = spelled(type), name = fresh();
  const auto or_none = [](bool made, const std::string& variable) { return made ? variable : std::string(); };
  if (class_name == "vector" || class_name == "deque" || class_name == "list")
    return sequence(spelling, name, of, called, depth).value_or("");
  if (class_name == "array") {
    line(spelling + " " + name + "{};");
    const std::string many = std::to_string(record.getTemplateArgs()[1].getAsIntegral().getZExtValue());
    return or_none(each(
                       many,
                       [&](const std::string& one) {
                         line(name + "[" + element_ + "] = static_cast<" + spelled(of) + "&&>(" + one + ");");
                       },
                       of, called, depth),
                   name);
  }
  if (class_name == "span") {
    const QualType element = of.getUnqualifiedType();
    const auto all = sequence("::std::vector<" + spelled(element) + ">", fresh(), element, called, depth);
    if (all) line(spelling + " " + name + "(" + *all + ".data(), " + *all + ".size());");
    return or_none(all.has_value(), name);
  }
  if (class_name == "unique_ptr" || class_name == "shared_ptr") {
    if (!of->isRecordType()) return std::nullopt;
    const bool before = std::exchange(kept_, true);
    const auto one = variable(of, called, depth + 1);
    kept_ = before;
    if (one) line(spelling + " " + name + "(&" + *one + ");");
    return or_none(one.has_value(), name);
  }
  if (class_name == "reference_wrapper") {
    const auto one = shared(of.getUnqualifiedType(), called, depth + 1);
    if (one) line(spelling + " " + name + "(" + *one + ");");
    return or_none(one.has_value(), name);
  }
  if (class_name == "basic_ostream") {
    line(spelling + " " + name + "(nullptr);");
    return name;
  }
  if (class_name == "pair") {
    const QualType other = argument(record, 1);
    // An offset and a size, two indices, a begin and an end: values that suit one of these make conflicts with another.
    if (!element_.empty() && of->isIntegerType() && !other.isNull() && other->isIntegerType()) return "";
    const auto first = variable(of, called, depth + 1);
    const auto second = first && !other.isNull() ? variable(other, called, depth + 1) : std::nullopt;
    if (second)
      line(spelling + " " + name + "(" + (of->isPointerType() ? or_missing(*first, "first") : *first) + ", " + *second +
           ");");
    return or_none(second.has_value(), name);
  }
  if (class_name == "optional" && way_.flags && is_named(of, "Tensor")) {
    const auto one = variable(of, called, depth + 1);
    if (one) line(spelling + " " + name + "(" + *one + ");");
    return or_none(one.has_value(), name);
  }
  if (class_name == "basic_string") {
    line(spelling + " " + name + "(8, 'x');");
    return name;
  }
  if (class_name == "basic_string_view" && of->isSpecificBuiltinType(clang::BuiltinType::Char_S)) {
    line(spelling + " " + name + (way_.empty ? "{};" : "(\"a text of some length\");"));
    return name;
  }
  if (const auto* signature = of->getAs<clang::FunctionProtoType>(); signature != nullptr) {
    line(spelling + " " + name + "(" + callback(*signature) + ");");
    return name;
  }
  return std::nullopt;
}

/// An object of one of PyTorch's classes (torch.cpp).
std::optional<std::string> CallerArguments::of_torch(llvm::StringRef class_name, const std::string& spelling,
                                                     const std::string& name, QualType of, int depth) {
  if (class_name == "at::Tensor") {
    const std::size_t number = given_tensors_.try_emplace({filled_, tensors_++}, given_tensors_.size()).first->second;
    const auto* filled = llvm::dyn_cast_or_null<clang::NamedDecl>(filled_);
    std::uint64_t sizes = filled == nullptr ? 0 : file_.tensor_sizes.packed(filled->getName());
    if (sizes == 0 && called_back_) sizes = file_.tensor_sizes.packed_for_any();
    line(spelling + " " + name + " = " + kGivenTensor + "(" + std::to_string(number | sizes) + ");");
  } else if (class_name == "c10::cuda::CUDAStream") {
    line(spelling + " " + name + " = " + kGivenTorchStream + "(" + std::to_string(streams_++) + ");");
  } else if (class_name == "c10::Device") {
    line(spelling + " " + name + "(c10::DeviceType::CUDA, 0);");
  } else if (class_name == "c10::Scalar") {
    line(spelling + " " + name + "(1.0);");
  } else if (class_name == "c10::TensorOptions") {
    line(spelling + " " + name + "(c10::Device(c10::DeviceType::CUDA, 0));");
  } else if (class_name == "c10::ArrayRef" && of->isIntegerType()) {
    line("static const " + spelled(of.getUnqualifiedType()) + " list_" + name + "[2] = {64, 64};");
    line(spelling + " " + name + "(list_" + name + ", 2);");
  } else if (class_name == "c10::ArrayRef") {
    const std::string element = spelled(of.getUnqualifiedType());
    const auto list = sequence("std::vector<" + element + ">", "list_" + name, of.getUnqualifiedType(), "", depth);
    if (!list) return "";
    line(spelling + " " + name + "(" + *list + ".data(), " + *list + ".size());");
  } else {
    return std::nullopt;
  }
  return name;
}

namespace {

/// Does an object contain tensors, also in its members?
bool has_tensors(QualType type, int depth = 0) {
  constexpr int kDeepest = 4;
  const clang::CXXRecordDecl* record = type->getAsCXXRecordDecl();
  if (record == nullptr || depth > kDeepest) return false;
  if (record->getQualifiedNameAsString() == "at::Tensor") return true;
  if (const auto* instance = llvm::dyn_cast<clang::ClassTemplateSpecializationDecl>(record);
      instance != nullptr && record->isInStdNamespace())
    return std::ranges::any_of(instance->getTemplateArgs().asArray(), [&](const clang::TemplateArgument& one) {
      return one.getKind() == clang::TemplateArgument::Type && has_tensors(one.getAsType(), depth + 1);
    });
  return record->isAggregate() && std::ranges::any_of(record->fields(), [&](const clang::FieldDecl* field) {
           return has_tensors(field->getType(), depth + 1);
         });
}

}  // namespace

/// Code of a lambda: from the ninth call on it has no more data.
constexpr const char* kEndsAfterEight = "static int left = 8; if (left-- <= 0) return {}; ";

/// The body of a callback that makes tensors: a source of data, which waits for nothing. If the source can end, it ends
/// after a few. Empty: the callback makes no tensors.
std::string CallerArguments::tensors_for(QualType back) {
  if (!has_tensors(back)) return "";
  const auto* instance = llvm::dyn_cast<clang::ClassTemplateSpecializationDecl>(back->getAsCXXRecordDecl());
  const bool may_end = instance != nullptr && instance->getName() == "optional";
  const std::string outside = std::exchange(caller_.text, "");
  const std::size_t lines = caller_.lines.size();
  const bool before = std::exchange(called_back_, true);
  const auto one = variable(may_end ? instance->getTemplateArgs()[0].getAsType() : back, "", 1);
  called_back_ = before;
  std::string body = std::exchange(caller_.text, outside);
  caller_.lines.resize(lines);
  if (!one) return "";
  std::ranges::replace(body, '\n', ' ');
  return (may_end ? kEndsAfterEight : "") + body + "return " + *one + ";";
}

namespace {

/// ATen's class: others of that name have no clone().
bool is_tensor(QualType type) {
  const clang::CXXRecordDecl* record = type->getAsCXXRecordDecl();
  return record != nullptr && record->getQualifiedNameAsString() == "at::Tensor";
}

/// `std::vector<Pose>&`, of plain elements.
bool is_list_to_fill(QualType type) {
  if (!type->isLValueReferenceType() || type->getPointeeType().isConstQualified()) return false;
  const auto* list =
      llvm::dyn_cast_or_null<clang::ClassTemplateSpecializationDecl>(type->getPointeeType()->getAsCXXRecordDecl());
  if (list == nullptr || !list->isInStdNamespace() || (list->getName() != "vector" && list->getName() != "deque"))
    return false;
  const QualType of = argument(*list, 0);
  if (of.isNull() || of->isPointerType()) return false;
  const clang::CXXRecordDecl* record = of->getAsCXXRecordDecl();
  return record == nullptr ? of->isArithmeticType() : record->isAggregate() && starts_empty(*record);
}

}  // namespace

/// A lambda for a callback. It writes to the memory that it gets pointers to, fills lists, and makes tensors from its
/// tensors, like a model, if it gets nothing that it could wait by. A callback that reads for its caller returns, a few
/// times, that it has filled the room it got, and then that there is no more. (With Way::declines it returns false or
/// 0, which may mean success.)
std::string CallerArguments::callback(const clang::FunctionProtoType& signature) {
  // A callback that gets host memory to fill does so, and knows no stream but its own.
  const auto is_filled = [](QualType type) {
    return type->isPointerType() && type->getPointeeType()->isArithmeticType() &&
           !type->getPointeeType().isConstQualified();
  };
  const auto has_to_fill = [&](QualType type) { return is_filled(type) || is_list_to_fill(type); };
  const bool fills = std::ranges::any_of(signature.param_types(), has_to_fill) &&
                     std::ranges::all_of(signature.param_types(), [&](QualType parameter) {
                       return parameter->isArithmeticType() || has_to_fill(parameter);
                     });
  const bool waits =
      std::ranges::any_of(signature.param_types(), [&](QualType type) { return may_wait(symbols_, type); });
  std::string list, room, reads, body = fills ? "" : std::string(kCalledBack) + "(1); ";
  for (const QualType parameter : signature.param_types()) {
    const std::string own = "p" + std::to_string(list.size());
    if (parameter->isIntegerType()) room = own;
    list += (list.empty() ? "" : ", ") + spelled(parameter) + " " + own;
    if (is_tensor(parameter.getNonReferenceType())) reads += "if (" + own + ".defined()) " + own + ".clone(); ";
    if (is_list_to_fill(parameter))
      body += own + ".resize(" + elements() + "); ";
    else if (is_filled(parameter))
      body += fills ? "if (" + std::string(kCalledBack) + "((unsigned long)" + own + ")) *" + own + " = {}; "
                    : "*" + own + " = {}; ";
  }
  const QualType back = signature.getReturnType();
  if (const std::string made = tensors_for(back); !made.empty())
    return "[](" + list + ") -> " + spelled(back) + " { " + (waits ? "" : reads) + made + " }";
  const std::string read = !fills || way_.declines || !back->isIntegerType() ? ""
                           : back->isBooleanType()                           ? "true"
                                                                             : room;
  if (!read.empty()) body = kEndsAfterEight + body;
  return "[](" + list + ") -> " + spelled(back) + " { " + body + "return " +
         (!read.empty()          ? "(" + spelled(back) + ")" + read
          : back->isVoidType()   ? ""
          : back->isScalarType() ? "{}"
                                 : spelled(back) + "()") +
         "; }";
}

/// Is the parameter or field the sizes of a tensor, by its name?
bool CallerArguments::is_shape(QualType of) const {
  const auto* named = llvm::dyn_cast_or_null<clang::NamedDecl>(filled_);
  return named != nullptr && of->isSpecificBuiltinType(clang::BuiltinType::Long) && says_shape(named->getName());
}

/// The number of elements that the function asks for; else the usual number for the type.
std::string CallerArguments::elements_needed(QualType of) const {
  const auto* parameter = llvm::dyn_cast_or_null<clang::ParmVarDecl>(filled_);
  const auto needed = parameter == nullptr ? std::nullopt : file_.numbers.compared_with(*parameter);
  if (needed) return std::to_string(*needed);
  return is_costly(of) ? std::to_string(kFewElements) : elements();
}

std::optional<std::string> CallerArguments::sequence(const std::string& spelling, const std::string& name, QualType of,
                                                     llvm::StringRef called, int depth) {
  if (!way_.empty && (of->isBooleanType() || of->isRealFloatingType())) {
    line(spelling + " " + name + "(" + elements_needed(of) + ");");
    return name;
  }
  if (torch_ && is_shape(of)) {  // of a tensor without dimensions there is little to say
    line(spelling + " " + name + "(2, " + how_many() + ");");
    return name;
  }
  line(spelling + " " + name + ";");
  if (way_.empty) return name;
  const bool whole = each(
      elements_needed(of),
      [&](const std::string& one) { line(name + ".push_back(static_cast<" + spelled(of) + "&&>(" + one + "));"); }, of,
      called, depth);
  return whole ? std::optional(name) : std::nullopt;
}

}  // namespace streamsan::analyzer
