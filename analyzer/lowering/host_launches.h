// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Kernel launches; see host_launches.cpp.
#pragma once

#include <map>
#include <vector>

#include "analyzer/ir/ir.h"
#include "analyzer/lowering/host_call.h"
#include "analyzer/lowering/kernel_effects.h"
#include "llvm/ADT/ArrayRef.h"

namespace clang {
class CUDAKernelCallExpr;
class CXXRecordDecl;
class Expr;
class FunctionDecl;
}  // namespace clang

namespace streamsan::analyzer::host {

class Arguments;
class FunctionBuilder;
class Numbers;
class Places;
class Values;
struct Parts;
struct Unit;

class Launches {
 public:
  explicit Launches(const Parts& parts);

  /// <<<...>>>
  void launch(const clang::CUDAKernelCallExpr& launch);
  /// A function that a model says to launch a kernel.
  void apply(const Call& call);
  /// A call of a function that launches the kernel it is given. False: it is none.
  bool apply_helper(const Call& call);

 private:
  void say_launched(ir::SiteId site, const std::string& kernel);
  void kernel_accesses(ir::Op& op, const clang::FunctionDecl* kernel, llvm::ArrayRef<const clang::Expr*> arguments);
  /// The kernel is given what the elements of `array` point to.
  void use_elements(ir::Op& op, const clang::Expr* array);
  /// A member of a struct or closure that is passed.
  struct Part {
    ir::PlaceId place = ir::kNoPlace;
    const clang::CXXRecordDecl* record = nullptr;  ///< its class, if it has one
  };
  void settle(ir::Part& part, const std::vector<ir::Operand>& arguments,
              const std::map<unsigned, std::size_t>& integers);
  Part member_named(const Part& of, llvm::StringRef name);
  void set_programmatic(ir::Op& op, ir::Certainty programmatic, const clang::FunctionDecl* kernel);
  void note_early(const ir::Op& op, ir::Access& access, const PointerEffect& effect);
  void pass_struct(ir::Op& op, const ParameterEffect& effect, const clang::Expr& argument);
  /// Made of constants and variables alone. Another number may differ where all the variables in it are equal.
  bool followed(const clang::Expr* number);

  Unit& unit_;
  const clang::FunctionDecl& definition_;
  FunctionBuilder& out_;
  Numbers& numbers_;
  Places& places_;
  Values& values_;
  Arguments& arguments_;
};

}  // namespace streamsan::analyzer::host
