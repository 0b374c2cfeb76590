// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The sizes that a file requires of its tensors: TORCH_CHECK(boxes.size(1) == 4). See caller_tensors.cpp.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <set>
#include <string>

#include "llvm/ADT/StringRef.h"

namespace clang {
class ASTContext;
class BinaryOperator;
class CallExpr;
}  // namespace clang

namespace streamsan::analyzer {

/// Sizes by the names of variables: a helper that checks a tensor mostly has the same name for it as its caller.
class TensorSizes {
 public:
  void note(const clang::BinaryOperator& compared, const clang::ASTContext& context);
  /// The called function may be the one that checks: its parameters are other names of the arguments.
  void note(const clang::CallExpr& call);
  /// The sizes for the tensor of that name, packed into the argument of streamsan_given_tensor().
  [[nodiscard]] std::uint64_t packed(llvm::StringRef name) const;
  /// The sizes for a tensor without a name, which a callback returns: those that all checks agree on.
  [[nodiscard]] std::uint64_t packed_for_any() const;

  /// Sizes of the first, the second and the last dimension; 0: any.
  using Wanted = std::array<std::uint64_t, 3>;
  static Wanted unpacked(std::uint64_t argument);
  static std::uint64_t number(std::uint64_t argument);

 private:
  [[nodiscard]] const Wanted* find(llvm::StringRef name, int steps) const;

  std::map<std::string, Wanted> wanted_;
  std::map<std::string, std::set<std::string>> passed_as_;  ///< names of parameters, by the name of the argument
};

}  // namespace streamsan::analyzer
