// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The text of a caller: types become variables with values in them, line by line. See callers.cpp.
#include "analyzer/interpreter/caller_text.h"

#include <algorithm>
#include <array>
#include <map>
#include <utility>

#include "analyzer/interpreter/torch_text.h"
#include "clang/AST/ASTContext.h"
#include "clang/AST/DeclCXX.h"
#include "clang/AST/DeclTemplate.h"
#include "clang/AST/QualTypeNames.h"
#include "llvm/ADT/StringExtras.h"

namespace streamsan::analyzer {
namespace {

using clang::QualType;

constexpr const char* kHowMany = "64";
constexpr int kRounds = 5;  ///< rings of up to four slots come round

/// "max", "batch", "size" of maxBatch_size.
std::vector<std::string> words_of(llvm::StringRef name) {
  std::vector<std::string> result(1);
  for (const char c : name) {
    if (c == '_' || (llvm::isUpper(c) && !result.back().empty())) result.emplace_back();
    if (c != '_') result.back() += llvm::toLower(c);
  }
  return result;
}

/// What a number means, by its name.
enum class Meaning : std::uint8_t { HowMuch, Which, Where, Pitch };

Meaning meaning_of(llvm::StringRef name) {
  static constexpr std::array kHowMuch = {"size", "bytes", "count", "num", "len", "length", "n", "max"};
  static constexpr std::array kPitch = {"pitch", "stride", "ld", "lda", "ldb", "ldc"};
  static constexpr std::array kWhere = {"offset", "begin", "first", "start", "pos", "from", "row", "col", "origin"};
  static constexpr std::array kWhich = {
      "device", "dev",    "idx",  "index", "slot", "rank", "layer", "lane",  "which",    "i",        "j",     "k",
      "stage",  "head",   "flag", "id",    "gpu",  "to",   "src",   "dst",   "page",     "block",    "peer",  "worker",
      "victim", "root",   "bank", "buf",   "iter", "step", "tile",  "chunk", "part",     "turn",     "phase", "parity",
      "tail",   "target", "key",  "bin",   "node", "item", "batch", "frame", "incoming", "outgoing", "cur",   "next"};
  const std::vector<std::string> words = words_of(name);
  const auto has_one_of = [&](const auto& list) {
    return std::ranges::any_of(words,
                               [&](const std::string& word) { return std::ranges::find(list, word) != list.end(); });
  };
  if (has_one_of(kPitch)) return Meaning::Pitch;
  if (has_one_of(kHowMuch)) return Meaning::HowMuch;
  if (has_one_of(kWhere)) return Meaning::Where;
  return has_one_of(kWhich) ? Meaning::Which : Meaning::HowMuch;
}

/// The text of one caller.
class Text {
 public:
  Text(Symbols& symbols, Way way)
      : symbols_(symbols), context_(symbols.context()), way_(way), torch_(has_torch(context_)) {}

  std::optional<Caller> call(const clang::FunctionDecl& function) {
    const auto arguments = given(function);
    if (!arguments) return std::nullopt;
    call_line(qualified(function) + "(" + *arguments + ")");
    return finish();
  }

  /// `constructor`: nullptr: the implicit one.
  std::optional<Caller> live(const clang::CXXRecordDecl& record, const clang::CXXConstructorDecl* constructor) {
    result_.record = &record;
    const std::string type = spelled(context_.getCanonicalTagType(&record));
    fixed_ = way_.own == Way::Size::Smaller;
    const auto arguments = constructor == nullptr ? std::optional<std::string>("") : given(*constructor);
    fixed_ = false;
    if (!arguments) return std::nullopt;
    line(type + "& object = *new " + type + "(" + *arguments + ");", Caller::Line::Construct);
    bool any = false;
    for (const clang::CXXMethodDecl* method : record.methods()) {
      if (!is_method(*method)) continue;
      for (int round = 0; round < kRounds; ++round) {
        const auto own = given(*method);
        if (!own) break;
        any = true;
        call_line("object." + method->getNameAsString() + "(" + *own + ")");
      }
    }
    if (!any) return std::nullopt;
    line("delete &object;", Caller::Line::Destroy);
    return finish();
  }

 private:
  static bool is_method(const clang::CXXMethodDecl& method) {
    return method.getAccess() == clang::AS_public && !method.isStatic() && !method.isDeleted() &&
           !method.isImplicit() &&
           !llvm::isa<clang::CXXConstructorDecl, clang::CXXDestructorDecl, clang::CXXConversionDecl>(method) &&
           !method.isOverloadedOperator() && method.isDefined() && !method.isConsteval() &&
           method.getRefQualifier() != clang::RQ_RValue;
  }

  void line(const std::string& text, Caller::Line what = Caller::Line::Other) {
    text_ += text + "\n";
    result_.lines.push_back(what);
  }

  /// After it, callers that use PyTorch allocate.
  void call_line(const std::string& call) {
    line("(void)" + call + ";" + (torch_ ? std::string(" ") + kTorchCalled + "();" : ""), Caller::Line::Call);
  }

  Caller finish() {
    result_.text = std::move(text_);
    return std::move(result_);
  }

  std::string spelled(QualType type) const {
    clang::PrintingPolicy policy = context_.getPrintingPolicy();
    policy.SuppressUnwrittenScope = true;
    policy.SuppressTagKeyword = true;
    return clang::TypeName::getFullyQualifiedName(type.getCanonicalType(), context_, policy, true);
  }

  static std::string qualified(const clang::FunctionDecl& function) {
    std::string result;
    for (const clang::DeclContext* at = function.getDeclContext(); at != nullptr; at = at->getParent())
      if (const auto* space = llvm::dyn_cast<clang::NamespaceDecl>(at);
          space != nullptr && !space->isAnonymousNamespace() && !space->isInline())
        result = space->getNameAsString() + "::" + result;
      else if (const auto* record = llvm::dyn_cast<clang::RecordDecl>(at))
        result = record->getNameAsString() + "::" + result;
    return "::" + result + function.getNameAsString();
  }

  /// The arguments of a call, after the lines that make them.
  std::optional<std::string> given(const clang::FunctionDecl& function) {
    streams_ = which_ = 0;
    objects_.clear();
    alone_ = std::ranges::any_of(function.parameters(), [&](const clang::ParmVarDecl* parameter) {
      const QualType type = parameter->getType();
      return type->isPointerType() && symbols_.kind(type) == ir::TypeKind::Pointer && is_object(type);
    });
    return function.isVariadic() ? std::nullopt : list_of(function, 0);
  }

  /// A variable for each parameter: "a1, static_cast<T&&>(a2)".
  std::optional<std::string> list_of(const clang::FunctionDecl& function, int depth) {
    std::string list;
    for (const clang::ParmVarDecl* parameter : function.parameters()) {
      filled_ = parameter;
      tensors_ = 0;
      const QualType type = parameter->getType();
      const QualType of = type.getNonReferenceType().getUnqualifiedType();
      const auto name =
          type->isReferenceType() ? shared(of, parameter->getName(), depth) : variable(of, parameter->getName(), depth);
      if (!name) return std::nullopt;
      if (!list.empty()) list += ", ";
      list += type->isLValueReferenceType() ? *name : "static_cast<" + spelled(of) + "&&>(" + *name + ")";
    }
    return list;
  }

  std::string fresh() { return "a" + std::to_string(++variables_); }

  std::string made(QualType type, const std::string& value) {
    const std::string name = fresh();
    line(spelled(type) + " " + name + " = (" + spelled(type) + ")" + value + ";");
    return name;
  }

  /// A variable of the type with a value in it: its name. nullopt: none can be made.
  std::optional<std::string> variable(QualType type, llvm::StringRef called, int depth) {
    constexpr int kDeepest = 4;
    if (depth > kDeepest) return std::nullopt;
    type = type.getCanonicalType().getUnqualifiedType();
    if (type->isPointerType()) return pointer(type, depth);
    if (type->isBooleanType()) return made(type, way_.flags ? "true" : "false");
    if (type->isEnumeralType()) return made(type, is_named(type, "ScalarType") ? "6" : "0");  // float
    if (type->isIntegerType()) return made(type, number(called, depth));
    if (type->isRealFloatingType()) return made(type, "1");
    const clang::CXXRecordDecl* record = type->getAsCXXRecordDecl();
    if (record == nullptr || !record->hasDefinition()) return std::nullopt;
    return object(type, *record->getDefinition(), depth);
  }

  /// As variable(); what refers to one class of the program's refers to one object.
  std::optional<std::string> shared(QualType type, llvm::StringRef called, int depth) {
    const clang::CXXRecordDecl* record = type->getAsCXXRecordDecl();
    if (!way_.one || record == nullptr || symbols_.in_system_header(*record)) return variable(type, called, depth);
    const auto known = objects_.find(record->getCanonicalDecl());
    if (known != objects_.end()) return known->second;
    const auto one = variable(type, called, depth);
    if (one) objects_[record->getCanonicalDecl()] = *one;
    return one;
  }

  /// The numbers that an object is made with say how much it has room for, those of a plain struct how much there is.
  [[nodiscard]] bool makes_room(int depth) const {
    return depth > 0 && way_.own == Way::Size::Larger && llvm::isa_and_nonnull<clang::ParmVarDecl>(filled_);
  }

  std::string number(llvm::StringRef called, int depth) {
    const Meaning meaning = meaning_of(called);
    if (meaning == Meaning::Pitch) return "4096";
    if (meaning == Meaning::HowMuch)
      return alone_ && depth == 0                                      ? "1"
             : fixed_ || (depth > 0 && way_.own == Way::Size::Smaller) ? (torch_ ? "4" : "16")
             : makes_room(depth)                                       ? "4096"
                                                                       : kHowMany;
    if (way_.alike) return "0";
    const std::string which = element_.empty() ? std::to_string(which_++) : element_;
    return meaning == Meaning::Where ? which + " * " + kHowMany : which;
  }

  std::optional<std::string> pointer(QualType type, int depth) {
    const QualType pointee = type->getPointeeType();
    switch (symbols_.kind(type)) {
      case ir::TypeKind::Stream:
        return made(type,
                    std::string(kGivenStream) + "(" + std::to_string(depth == 0 || !way_.one ? streams_++ : 0) + ")");
      case ir::TypeKind::Event:
        return made(type, std::string(kGivenEvent) + "()");
      default:
        break;
    }
    if (pointee->isFunctionType()) return std::nullopt;
    if (pointee.isConstQualified() && context_.hasSameUnqualifiedType(pointee, context_.CharTy))
      return made(type, "\"text\"");
    if (is_object(type)) {
      const auto one = shared(pointee.getUnqualifiedType(), "", depth + 1);
      if (!one || element_.empty()) return one ? std::optional(made(type, "&" + *one)) : std::nullopt;
      const std::string of = spelled(pointee.getUnqualifiedType());
      return made(type, "new " + of + "(static_cast<" + of + "&&>(" + *one + "))");
    }
    if (pointee->isPointerType()) return pointers(type, depth);
    return made(type, memory(pointee));
  }

  /// Of integers: if the host reads them, where things are not alike each says which.
  std::string memory(QualType of) {
    const bool counted = !way_.alike && of->isIntegerType() && !of->isBooleanType();
    const std::size_t as = given_as_.try_emplace(filled_, given_as_.size()).first->second;
    return std::string(kGivenMemory) + "(1UL << 20, " + (counted ? "sizeof(" + spelled(of) + ")" : "0") + ", " +
           std::to_string(as) + ")";
  }

  /// An array of as many as numbers say.
  std::optional<std::string> pointers(QualType type, int depth) {
    const QualType element = type->getPointeeType().getUnqualifiedType();
    const std::string name = fresh();
    line(spelled(element) + " " + name + "[" + kHowMany + "];");
    const bool whole =
        each([&](const std::string& one) { line(name + "[" + element_ + "] = " + one + ";"); }, element, depth);
    return whole ? std::optional(made(type, name)) : std::nullopt;
  }

  /// A loop that makes elements and calls use() for each: a loop of the program that counts to a number stays inside.
  template <typename Use>
  bool each(const Use& use, QualType of, int depth) {
    const std::string counter = "i" + std::to_string(++variables_);
    const std::string outside = std::exchange(element_, counter);
    const auto objects = std::exchange(objects_, {});
    // Not so many of what is given to threads, or costs much to make.
    const bool few = is_named(of, "Tensor") || is_named(of, "pair") || is_named(of, "function");
    line("for (unsigned long " + counter + " = 0; " + counter + " < " + (few ? "8" : kHowMany) + "; ++" + counter +
         ") {");
    const bool stream = of->isPointerType() && symbols_.kind(of) == ir::TypeKind::Stream;
    const auto one = stream ? std::optional(made(of, std::string(kGivenStream) + "(" + counter + ")"))
                            : variable(of, "index", depth + 1);
    if (one) use(*one);
    line("}");
    element_ = outside;
    objects_ = objects;
    return one.has_value();
  }

  /// Does it point to an object that is made, and not to bytes?
  bool is_object(QualType pointer) {
    const clang::CXXRecordDecl* record = pointer->getPointeeType()->getAsCXXRecordDecl();
    return record != nullptr && record->hasDefinition() && !is_plain(*record->getDefinition());
  }

  /// Its bytes are all there is to it.
  bool is_plain(const clang::CXXRecordDecl& record) {
    return record.isTriviallyCopyable() && std::ranges::none_of(record.fields(), [&](const clang::FieldDecl* field) {
             return field->getType()->isPointerType() || field->getType()->isRecordType();
           });
  }

  std::optional<std::string> object(QualType type, const clang::CXXRecordDecl& record, int depth) {
    const std::string name = fresh();
    const std::string class_name = record.getQualifiedNameAsString();
    const auto* instance = llvm::dyn_cast<clang::ClassTemplateSpecializationDecl>(&record);
    const auto argument = [&]() -> QualType {
      if (instance == nullptr || instance->getTemplateArgs().size() == 0) return {};
      const clang::TemplateArgument& first = instance->getTemplateArgs()[0];
      return first.getKind() == clang::TemplateArgument::Type ? first.getAsType() : QualType();
    };
    const std::string spelling = spelled(type);
    if (class_name.starts_with("at::") || class_name.starts_with("c10::"))
      if (const auto known = of_torch(class_name, spelling, name, instance != nullptr ? argument() : QualType(), depth))
        return known->empty() ? std::nullopt : known;
    if (record.isInStdNamespace() && instance != nullptr && !argument().isNull()) {
      const QualType of = argument();
      if (class_name.ends_with("::vector")) return sequence(spelling, name, of, depth);
      if (class_name.ends_with("::unique_ptr") || class_name.ends_with("::shared_ptr")) {
        const auto one = of->isRecordType() ? variable(of, "", depth + 1) : std::nullopt;
        if (!one) return std::nullopt;
        line(spelling + " " + name + "(new " + spelled(of) + "(static_cast<" + spelled(of) + "&&>(" + *one + ")));");
        return name;
      }
      if (class_name.ends_with("::basic_ostream")) {
        line(spelling + " " + name + "(nullptr);");
        return name;
      }
      if (class_name.ends_with("::pair")) {
        const auto first = variable(of, "", depth + 1);
        const clang::TemplateArgument& other = instance->getTemplateArgs()[1];
        const auto second = first && other.getKind() == clang::TemplateArgument::Type
                                ? variable(other.getAsType(), "", depth + 1)
                                : std::nullopt;
        if (second) line(spelling + " " + name + "(" + *first + ", " + *second + ");");
        return second ? std::optional(name) : std::nullopt;
      }
      if (class_name.ends_with("::optional") && way_.flags && is_named(of, "Tensor")) {
        const auto one = variable(of, "", depth + 1);
        if (one) line(spelling + " " + name + "(" + *one + ");");
        return one ? std::optional(name) : std::nullopt;
      }
      if (class_name.ends_with("::basic_string")) {
        line(spelling + " " + name + "(8, 'x');");
        return name;
      }
      if (const auto* signature = of->getAs<clang::FunctionProtoType>(); signature != nullptr) {
        line(spelling + " " + name + "(" + callback(*signature) + ");");
        return name;
      }
    }
    if (record.isLambda() || record.isAbstract() || record.isUnion()) return std::nullopt;
    if (record.isAggregate()) {
      line(spelling + " " + name + "{};");
      if (!symbols_.in_system_header(record)) return fill(name, record, depth) ? std::optional(name) : std::nullopt;
      return name;
    }
    if (symbols_.in_system_header(record) && record.hasDefaultConstructor()) {
      line(spelling + " " + name + "{};");
      return name;
    }
    for (const clang::CXXConstructorDecl* constructor : record.ctors()) {
      if (!is_public_constructor(*constructor)) continue;
      const auto list = list_of(*constructor, depth + 1);
      if (!list) continue;
      line(spelling + " " + name + (list->empty() ? "{}" : "(" + *list + ")") + ";");
      return name;
    }
    if (record.hasDefaultConstructor() && !record.hasUserDeclaredConstructor()) {
      line(spelling + " " + name + "{};");
      return name;
    }
    return std::nullopt;
  }

  static bool is_named(QualType type, llvm::StringRef name) {
    const clang::TagDecl* tag = type->getAsTagDecl();
    return tag != nullptr && tag->getName() == name;
  }

  /// Of PyTorch's classes (torch.cpp). nullopt: it is as other classes are; empty: none can be made.
  std::optional<std::string> of_torch(llvm::StringRef class_name, const std::string& spelling, const std::string& name,
                                      QualType of, int depth) {
    if (class_name == "at::Tensor") {
      const std::size_t number = given_tensors_.try_emplace({filled_, tensors_++}, given_tensors_.size()).first->second;
      line(spelling + " " + name + " = " + kGivenTensor + "(" + std::to_string(number) + ");");
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
      const auto list = sequence("std::vector<" + element + ">", "list_" + name, of.getUnqualifiedType(), depth);
      if (!list) return "";
      line(spelling + " " + name + "(" + *list + ".data(), " + *list + ".size());");
    } else {
      return std::nullopt;
    }
    return name;
  }

  /// Does an object have tensors in it, or in what it has?
  static bool has_tensors(QualType type, int depth = 0) {
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

  /// What a callback does that makes tensors: a source of data, which waits for nothing. One that may come to an end does
  /// so after a few. Empty: it makes none.
  std::string tensors_for(QualType back) {
    if (!has_tensors(back)) return "";
    const auto* instance = llvm::dyn_cast<clang::ClassTemplateSpecializationDecl>(back->getAsCXXRecordDecl());
    const bool may_end = instance != nullptr && instance->getName() == "optional";
    const std::string outside = std::exchange(text_, "");
    const std::size_t lines = result_.lines.size();
    const auto one = variable(may_end ? instance->getTemplateArgs()[0].getAsType() : back, "", 1);
    std::string body = std::exchange(text_, outside);
    result_.lines.resize(lines);
    if (!one) return "";
    std::ranges::replace(body, '\n', ' ');
    return (may_end ? "static int left = 8; if (left-- <= 0) return {}; " : "") + body + "return " + *one + ";";
  }

  /// A lambda, which writes what it is given pointers to.
  std::string callback(const clang::FunctionProtoType& signature) {
    std::string list, body = std::string(kCalledBack) + "(); ";
    for (const QualType parameter : signature.param_types()) {
      const std::string own = "p" + std::to_string(list.size());
      list += (list.empty() ? "" : ", ") + spelled(parameter) + " " + own;
      const QualType pointee = parameter->isPointerType() ? parameter->getPointeeType() : QualType();
      if (!pointee.isNull() && pointee->isArithmeticType() && !pointee.isConstQualified())
        body += "*" + own + " = " + spelled(pointee) + "(); ";
    }
    const QualType back = signature.getReturnType();
    if (const std::string made = tensors_for(back); !made.empty())
      return "[](" + list + ") -> " + spelled(back) + " { " + made + " }";
    return "[](" + list + ") -> " + spelled(back) + " { " + body + "return " +
           (back->isVoidType() ? "" : spelled(back) + "()") + "; }";
  }

  /// Is what is filled the sizes of a tensor, by its name?
  [[nodiscard]] bool is_shape(QualType of) const {
    static constexpr std::array kShape = {"shape", "sizes", "size", "dims", "dimensions"};
    const auto* named = llvm::dyn_cast_or_null<clang::NamedDecl>(filled_);
    if (named == nullptr || !of->isSpecificBuiltinType(clang::BuiltinType::Long)) return false;
    return std::ranges::any_of(words_of(named->getName()),
                               [](const std::string& word) { return std::ranges::find(kShape, word) != kShape.end(); });
  }

  std::optional<std::string> sequence(const std::string& spelling, const std::string& name, QualType of, int depth) {
    if (of->isBooleanType() || of->isRealFloatingType()) {
      line(spelling + " " + name + "(" + kHowMany + ");");
      return name;
    }
    if (torch_ && is_shape(of)) {
      line(spelling + " " + name + "(2, " + kHowMany + ");");
      return name;
    }
    line(spelling + " " + name + ";");
    const bool whole = each(
        [&](const std::string& one) { line(name + ".push_back(static_cast<" + spelled(of) + "&&>(" + one + "));"); },
        of, depth);
    return whole ? std::optional(name) : std::nullopt;
  }

  /// A class of the standard library that can be assigned: no mutex, no thread, no atomic.
  static bool moves(const clang::CXXRecordDecl& record) {
    static constexpr std::array kMoving = {"vector", "basic_string", "function", "unique_ptr", "shared_ptr"};
    return std::ranges::find(kMoving, record.getName()) != kMoving.end();
  }

  /// Fields that say nothing of themselves.
  bool fill(const std::string& name, const clang::CXXRecordDecl& record, int depth) {
    for (const clang::FieldDecl* field : record.fields()) {
      if (field->getAccess() != clang::AS_public && field->getAccess() != clang::AS_none) continue;
      const QualType type = field->getType();
      if (field->hasInClassInitializer() && !type->isPointerType()) continue;
      if (type->isReferenceType()) return false;
      if (type.isConstQualified() || type->isArrayType() || field->getName().empty()) continue;
      const clang::CXXRecordDecl* inside = type->getAsCXXRecordDecl();
      if (inside != nullptr && inside->isInStdNamespace() && !moves(*inside)) continue;
      filled_ = field;
      tensors_ = 0;
      const auto one = variable(type, field->getName(), depth + 1);
      if (one) line(name + "." + field->getNameAsString() + " = static_cast<" + spelled(type) + "&&>(" + *one + ");");
    }
    return true;
  }

  Symbols& symbols_;
  clang::ASTContext& context_;
  Way way_;
  bool torch_;          ///< PyTorch is used: tensors may be as small as one likes, and rings come round
  bool fixed_ = false;  ///< numbers are small ones
  int variables_ = 0;
  bool alone_ = false;  ///< a pointer to one object is given: as many as numbers say
  int streams_ = 0;
  int which_ = 0;
  std::string element_;                                         ///< in a loop that makes elements: its counter
  std::map<const clang::CXXRecordDecl*, std::string> objects_;  ///< of the program's classes, in this call
  const clang::Decl* filled_ = nullptr;                         ///< the parameter or field that is given a value
  std::map<const clang::Decl*, std::size_t> given_as_;          ///< those that are given memory, numbered
  std::size_t tensors_ = 0;                                     ///< that it has got
  std::map<std::pair<const clang::Decl*, std::size_t>, std::size_t> given_tensors_;  ///< numbered
  std::string text_;
  Caller result_;
};

}  // namespace

bool is_public_constructor(const clang::CXXConstructorDecl& constructor) {
  return constructor.getAccess() == clang::AS_public && !constructor.isDeleted() &&
         !constructor.isCopyOrMoveConstructor() && !constructor.isImplicit();
}

std::optional<Caller> caller_of(Symbols& symbols, Way way, const clang::FunctionDecl& function) {
  return Text(symbols, way).call(function);
}

std::optional<Caller> caller_of(Symbols& symbols, Way way, const clang::CXXRecordDecl& record,
                                const clang::CXXConstructorDecl* constructor) {
  return Text(symbols, way).live(record, constructor);
}

}  // namespace streamsan::analyzer
