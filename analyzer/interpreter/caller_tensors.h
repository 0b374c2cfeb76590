// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The sizes that a file wants of its tensors: TORCH_CHECK(boxes.size(1) == 4). See caller_tensors.cpp.
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

/// By the names of variables: a helper that checks a tensor calls it as its caller does, mostly.
class TensorSizes {
 public:
  void note(const clang::BinaryOperator& compared, const clang::ASTContext& context);
  /// The function that is called may be the one that checks: its names are other names of what it gets.
  void note(const clang::CallExpr& call);
  /// For the tensor of that name, or for one of several: what streamsan_given_tensor() gets besides its number.
  [[nodiscard]] std::uint64_t packed(llvm::StringRef name) const;
  /// For one without a name, which a callback returns: the sizes of all that are checked, unless they differ.
  [[nodiscard]] std::uint64_t packed_for_any() const;

  /// Sizes of the first, the second and the last dimension; 0: any.
  using Wanted = std::array<std::uint64_t, 3>;
  static Wanted unpacked(std::uint64_t argument);
  static std::uint64_t number(std::uint64_t argument);

 private:
  [[nodiscard]] const Wanted* find(llvm::StringRef name, int steps) const;

  std::map<std::string, Wanted> wanted_;
  std::map<std::string, std::set<std::string>> passed_as_;  ///< by the name where a function is called
};

}  // namespace streamsan::analyzer
