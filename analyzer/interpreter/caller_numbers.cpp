// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "analyzer/interpreter/caller_numbers.h"

#include <algorithm>
#include <array>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "analyzer/interpreter/caller_elements.h"
#include "clang/AST/ASTContext.h"
#include "clang/AST/DeclCXX.h"
#include "clang/AST/DeclTemplate.h"
#include "clang/AST/DynamicRecursiveASTVisitor.h"
#include "clang/AST/ExprCXX.h"
#include "llvm/ADT/StringExtras.h"

namespace streamsan::analyzer {
namespace {

/// "max", "batch", "size" of maxBatch_sizes.
std::vector<std::string> words_of(llvm::StringRef name) {
  std::vector<std::string> result(1);
  for (const char c : name) {
    if (c == '_' || (llvm::isUpper(c) && !result.back().empty())) result.emplace_back();
    if (c != '_') result.back() += llvm::toLower(c);
  }
  return result;
}

bool has_one_of(const std::vector<std::string>& words, llvm::ArrayRef<llvm::StringRef> list) {
  return std::ranges::any_of(words, [&](llvm::StringRef word) { return llvm::is_contained(list, word); });
}

/// slot_floats, tile_rows: a number of floats or rows, whatever the word before. Not "pos", "status", "pass".
bool is_of_several(llvm::StringRef word) {
  constexpr std::size_t kShortest = 4;
  static constexpr std::array<llvm::StringRef, 5> kOne = {"bias", "alias", "flags", "canvas", "atlas"};
  if (llvm::is_contained(kOne, word)) return false;
  return word.size() >= kShortest && word.ends_with("s") && !word.ends_with("ss") && !word.ends_with("us") &&
         !word.ends_with("is");
}

}  // namespace

Meaning meaning_of(llvm::StringRef name, Meaning otherwise) {
  static constexpr std::array<llvm::StringRef, 21> kHowMuch = {
      "size",   "bytes",    "count",  "num",      "len",       "length",   "n",
      "max",    "width",    "height", "elements", "elems",     "capacity", "samples",
      "pixels", "channels", "dim",    "points",   "particles", "total",    "extent"};
  static constexpr std::array<llvm::StringRef, 6> kPitch = {"pitch", "stride", "ld", "lda", "ldb", "ldc"};
  static constexpr std::array<llvm::StringRef, 9> kWhere = {"offset", "begin", "first", "start", "pos",
                                                            "from",   "row",   "col",   "origin"};
  static constexpr std::array<llvm::StringRef, 3> kDevice = {"device", "dev", "gpu"};
  static constexpr std::array<llvm::StringRef, 6> kSeveralDevices = {"devices", "gpus",     "ngpus",
                                                                     "ngpu",    "ndevices", "ndev"};
  static constexpr std::array<llvm::StringRef, 41> kWhich = {
      "idx",  "index", "slot", "rank",  "layer",    "lane",     "which", "i",     "j",      "k",      "stage",
      "head", "flag",  "id",   "to",    "src",      "dst",      "page",  "block", "peer",   "worker", "victim",
      "root", "bank",  "buf",  "tile",  "chunk",    "part",     "turn",  "phase", "parity", "tail",   "target",
      "bin",  "node",  "item", "batch", "incoming", "outgoing", "cur",   "next"};
  static constexpr std::array<llvm::StringRef, 9> kCounter = {"frame", "step",  "iter",  "iteration", "tick",
                                                              "seq",   "epoch", "round", "f"};
  static constexpr std::array<llvm::StringRef, 3> kKey = {"key", "hash", "uuid"};
  static constexpr std::array<llvm::StringRef, 6> kHowMany = {"depth", "slots", "buffers", "streams", "lanes", "slabs"};
  const std::vector<std::string> words = words_of(name);
  if (has_one_of(words, kSeveralDevices)) return Meaning::Devices;
  if (has_one_of(words, kHowMany)) return Meaning::HowMany;
  if (has_one_of(words, kPitch)) return Meaning::Pitch;
  if (has_one_of(words, kHowMuch) || is_of_several(words.back())) return Meaning::HowMuch;
  if (has_one_of(words, kWhere)) return Meaning::Where;
  if (has_one_of(words, kDevice)) return Meaning::Device;
  if (has_one_of(words, kKey)) return Meaning::Key;
  if (has_one_of(words, kCounter)) return Meaning::Counter;
  return has_one_of(words, kWhich) ? Meaning::Which : otherwise;
}

/// What a function does with one of its parameters.
struct UsesOfOne {
  bool of_objects = false;
  bool divides = false;
  std::optional<std::uint64_t> number;
  std::vector<const clang::ParmVarDecl*> given_as;  ///< parameters of functions that it is passed on to
};

namespace {

/// The parameter that an expression names; nullptr: none.
const clang::ParmVarDecl* parameter_of(const clang::Expr& expression) {
  const auto* named = llvm::dyn_cast<clang::DeclRefExpr>(expression.IgnoreParenCasts());
  return named == nullptr ? nullptr : llvm::dyn_cast<clang::ParmVarDecl>(named->getDecl());
}

/// What a function does with all of its parameters.
class UsesOfParameters : public clang::DynamicRecursiveASTVisitor {
 public:
  explicit UsesOfParameters(clang::ASTContext& context) : context_(context) {}

  bool VisitCXXConstructExpr(clang::CXXConstructExpr* made) override {
    if (made->getNumArgs() > 0) room_for(*made->getArg(0), made->getType());
    return true;
  }
  bool VisitCXXMemberCallExpr(clang::CXXMemberCallExpr* call) override {
    const clang::CXXMethodDecl* method = call->getMethodDecl();
    if (method != nullptr && method->getIdentifier() != nullptr && call->getNumArgs() > 0 &&
        (method->getName() == "resize" || method->getName() == "reserve"))
      room_for(*call->getArg(0), call->getImplicitObjectArgument()->getType());
    return true;
  }
  bool VisitCallExpr(clang::CallExpr* call) override {
    const clang::FunctionDecl* callee = call->getDirectCallee();
    if (callee == nullptr || llvm::isa<clang::CXXOperatorCallExpr>(call)) return true;
    for (unsigned i = 0; i < std::min(call->getNumArgs(), callee->getNumParams()); ++i)
      if (const clang::ParmVarDecl* parameter = parameter_of(*call->getArg(i)))
        found[parameter].given_as.push_back(callee->getParamDecl(i));
    return true;
  }
  bool VisitBinaryOperator(clang::BinaryOperator* compared) override {
    using enum clang::BinaryOperatorKind;
    if (llvm::is_contained({BO_Div, BO_Rem, BO_DivAssign, BO_RemAssign}, compared->getOpcode()))
      if (const clang::ParmVarDecl* parameter = parameter_of(*compared->getRHS())) found[parameter].divides = true;
    if (!compared->isEqualityOp() || compared->isValueDependent()) return true;
    for (const auto& [one, other] :
         {std::pair(compared->getLHS(), compared->getRHS()), std::pair(compared->getRHS(), compared->getLHS())}) {
      clang::Expr::EvalResult value;
      if (const auto left = rest(*one, *other)) {
        every_nth(*left);
        multiple(*left, compared->getOpcode() == BO_NE);
      }
      const clang::ParmVarDecl* parameter = length_of(*one);
      if (parameter == nullptr || found[parameter].number || !other->EvaluateAsInt(value, context_)) continue;
      constexpr std::uint64_t kLeast = 2;
      const llvm::APSInt& constant = value.Val.getInt();
      if (constant >= kLeast && constant <= kMostNeeded) found[parameter].number = constant.getZExtValue();
    }
    return true;
  }

  std::map<const clang::ParmVarDecl*, UsesOfOne> found;

 private:
  /// The expression is the number itself, or the length of a container.
  static const clang::ParmVarDecl* length_of(const clang::Expr& expression) {
    if (const clang::ParmVarDecl* parameter = parameter_of(expression))
      return parameter->getType().getNonReferenceType()->isIntegerType() ? parameter : nullptr;
    const auto* call = llvm::dyn_cast<clang::CXXMemberCallExpr>(expression.IgnoreParenCasts());
    const clang::CXXMethodDecl* method = call == nullptr ? nullptr : call->getMethodDecl();
    const bool size = method != nullptr && method->getIdentifier() != nullptr && method->getName() == "size" &&
                      call->getNumArgs() == 0;
    return size ? parameter_of(*call->getImplicitObjectArgument()) : nullptr;
  }
  /// `dividend % every` is compared with `left`, which is a possible remainder.
  struct Rest {
    const clang::Expr& dividend;
    std::int64_t every, left;
  };
  [[nodiscard]] std::optional<Rest> rest(const clang::Expr& one, const clang::Expr& other) const {
    const auto* division = llvm::dyn_cast<clang::BinaryOperator>(one.IgnoreParenImpCasts());
    clang::Expr::EvalResult by, wanted;
    if (division == nullptr || division->getOpcode() != clang::BO_Rem ||
        !division->getRHS()->EvaluateAsInt(by, context_) || !other.EvaluateAsInt(wanted, context_))
      return std::nullopt;
    const std::int64_t every = by.Val.getInt().getExtValue(), left = wanted.Val.getInt().getExtValue();
    if (every < 2 || every > std::int64_t{kMostNeeded} || left < 0 || left >= every) return std::nullopt;
    return Rest{*division->getLHS(), every, left};
  }
  /// `++calls % 64 == 0` with a counter of the caller's: choose a number for which the condition holds.
  void every_nth(const Rest& rest) {
    const auto* counted = llvm::dyn_cast<clang::UnaryOperator>(rest.dividend.IgnoreParenImpCasts());
    if (counted == nullptr || !counted->isIncrementOp()) return;
    const clang::ParmVarDecl* parameter = parameter_of(*counted->getSubExpr());
    if (parameter == nullptr || !parameter->getType()->isReferenceType() || found[parameter].number) return;
    const bool before = counted->getOpcode() == clang::UO_PreInc;
    found[parameter].number = static_cast<std::uint64_t>(rest.every + rest.left - (before ? 1 : 0));
  }
  /// `weights.size() % 3 != 0`: the least number, from the usual one on, for which it does not hold. For `==` it is not
  /// known whether the code requires or refuses that; but a remainder of 0 is taken as required.
  void multiple(const Rest& rest, bool refuses) {
    const clang::ParmVarDecl* parameter = length_of(rest.dividend);
    if (parameter == nullptr || found[parameter].number || (rest.left != 0 && !refuses)) return;
    const clang::QualType type = parameter->getType().getNonReferenceType();
    if (type->isIntegerType() && meaning_of(parameter->getName()) != Meaning::HowMuch) return;
    const auto* list = llvm::dyn_cast_or_null<clang::ClassTemplateSpecializationDecl>(type->getAsCXXRecordDecl());
    const bool few = list != nullptr && list->getTemplateArgs().size() > 0 &&
                     list->getTemplateArgs()[0].getKind() == clang::TemplateArgument::Type &&
                     is_costly(list->getTemplateArgs()[0].getAsType());
    const std::int64_t usual = few ? kFewElements : kUsual;
    if (usual % rest.every != rest.left)
      found[parameter].number =
          static_cast<std::uint64_t>(rest.left + (usual - rest.left + rest.every - 1) / rest.every * rest.every);
  }
  void room_for(const clang::Expr& many, clang::QualType container) {
    const clang::ParmVarDecl* parameter = parameter_of(many);
    if (parameter == nullptr) return;
    const auto* of = llvm::dyn_cast_or_null<clang::ClassTemplateSpecializationDecl>(container->getAsCXXRecordDecl());
    if (of == nullptr || !of->isInStdNamespace() || of->getTemplateArgs().size() == 0) return;
    const clang::TemplateArgument& element = of->getTemplateArgs()[0];
    if (element.getKind() == clang::TemplateArgument::Type && !element.getAsType()->isArithmeticType())
      found[parameter].of_objects = true;
  }

  static constexpr std::uint64_t kMostNeeded = 1 << 16;
  clang::ASTContext& context_;
};

}  // namespace

bool says_part(llvm::StringRef name) {
  static constexpr std::array<llvm::StringRef, 5> kPart = {"batch", "chunk", "microbatch", "tile", "shard"};
  static constexpr std::array<llvm::StringRef, 4> kSize = {"size", "length", "len", "rows"};
  const std::vector<std::string> words = words_of(name);
  return has_one_of(words, kPart) && has_one_of(words, kSize);
}

bool says_size_of_parts(llvm::StringRef name) {
  static constexpr std::array<llvm::StringRef, 6> kPart = {"batch", "chunk", "tile", "page", "block", "bin"};
  return llvm::is_contained(kPart, words_of(name).back());
}

bool ends_range(llvm::StringRef name) {
  static constexpr std::array<llvm::StringRef, 5> kEnd = {"end", "last", "stop", "hi", "until"};
  return has_one_of(words_of(name), kEnd);
}

struct UsesOfNumbers::Kept {
  std::map<const clang::FunctionDecl*, std::map<const clang::ParmVarDecl*, UsesOfOne>> of_functions;

  UsesOfOne of(const clang::ParmVarDecl& parameter) {
    const auto* function = llvm::dyn_cast<clang::FunctionDecl>(parameter.getDeclContext());
    if (function == nullptr || !function->hasBody(function)) return {};
    // A definition and a declaration have different objects for one parameter.
    const unsigned at = parameter.getFunctionScopeIndex();
    if (at >= function->getNumParams()) return {};
    const auto [known, fresh] = of_functions.try_emplace(function);
    if (fresh) {
      UsesOfParameters uses(function->getASTContext());
      uses.TraverseDecl(const_cast<clang::FunctionDecl*>(function));
      known->second = std::move(uses.found);
    }
    const auto found = known->second.find(function->getParamDecl(at));
    return found == known->second.end() ? UsesOfOne{} : found->second;
  }
  bool divides(const clang::ParmVarDecl& parameter, unsigned deep) {
    constexpr unsigned kDeepest = 3;
    const UsesOfOne uses = of(parameter);
    return uses.divides ||
           (deep < kDeepest &&
            std::ranges::any_of(
                uses.given_as, [&](const clang::ParmVarDecl* other) { return divides(*other, deep + 1); }));
  }
};

UsesOfNumbers::UsesOfNumbers() : kept_(std::make_unique<Kept>()) {}
UsesOfNumbers::~UsesOfNumbers() = default;

bool UsesOfNumbers::counts_objects(const clang::ParmVarDecl& parameter) const {
  return kept_->of(parameter).of_objects;
}

bool UsesOfNumbers::divides(const clang::ParmVarDecl& parameter) const { return kept_->divides(parameter, 0); }

std::optional<std::uint64_t> UsesOfNumbers::compared_with(const clang::ParmVarDecl& parameter) const {
  return kept_->of(parameter).number;
}

std::string one_of(llvm::StringRef name) {
  return name.size() > 2 && name.ends_with("s") ? name.drop_back().str() : name.str();
}

bool says_shape(llvm::StringRef name) {
  static constexpr std::array<llvm::StringRef, 5> kShape = {"shape", "sizes", "size", "dims", "dimensions"};
  return has_one_of(words_of(name), kShape);
}

bool counts_bytes(llvm::StringRef name) {
  static constexpr std::array<llvm::StringRef, 2> kBytes = {"bytes", "byte"};
  return has_one_of(words_of(name), kBytes);
}

bool counts_progress(llvm::StringRef name) {
  static constexpr std::array<llvm::StringRef, 20> kProgress = {
      "used", "filled", "head",  "tail",   "next",    "cursor", "top",  "pos",      "at",     "pending",
      "done", "issued", "begun", "queued", "written", "so",     "seen", "inflight", "flight", "epoch"};
  return has_one_of(words_of(name), kProgress);
}

}  // namespace streamsan::analyzer
