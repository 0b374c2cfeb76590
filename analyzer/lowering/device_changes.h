// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What happens to the variables of a device function after their declarations, in the order of the text.
//
//   out += 1024;                              from here on it is further
//   for (i = first; i < n; i += step) {...}   set once, then counted up
//
// An expression that names a variable has a place in that order, and so has each change. A lambda's body is read with
// the function that it stands in, for its variables are captured.
#pragma once

#include <map>
#include <optional>
#include <vector>

#include "llvm/ADT/DenseMap.h"

namespace clang {
class ASTContext;
class CallExpr;
class Expr;
class FunctionDecl;
class Stmt;
class ValueDecl;
}  // namespace clang

namespace streamsan::analyzer::device {

struct Loop {
  unsigned begin = 0, end = 0;
};

struct Change {
  enum class Kind : std::uint8_t { Set, Add, Moved, Other };
  Kind kind = Kind::Other;             ///< Moved: by a function that was given a reference
  const clang::Expr* value = nullptr;  ///< of Set and Add; nullptr: 1
  unsigned at = 0;                     ///< behind its operands
  std::optional<std::size_t> loop;     ///< the outermost one that the declaration is not in
  bool perhaps = false;                ///< under a condition that the declaration is not under
  bool grows = false;                  ///< from round to round
};

class Changes {
 public:
  explicit Changes(const clang::FunctionDecl& definition, unsigned deep = 0);

  [[nodiscard]] const std::vector<Change>& of(const clang::ValueDecl& variable) const;
  [[nodiscard]] bool any(const clang::ValueDecl& variable) const { return !of(variable).empty(); }
  /// All that happens to it is that it grows in loops, or is set before that.
  [[nodiscard]] bool only_grows(const clang::ValueDecl& variable, const clang::Expr* since) const;
  /// The position of a DeclRefExpr.
  [[nodiscard]] std::optional<unsigned> position(const clang::Expr* name) const;
  [[nodiscard]] const Loop& loop(std::size_t number) const { return loops_[number]; }

 private:
  struct Depth {
    std::size_t loops = 0;
    unsigned conditions = 0;
  };

  void note(const clang::Stmt* statement);
  void note_loop(const clang::Stmt& loop);
  void note_call(const clang::CallExpr& call);
  void note_under_condition(const clang::Stmt* statement);
  void change(const clang::Expr* target, Change how);

  const clang::ASTContext& context_;
  const clang::Stmt* body_;
  const unsigned deep_;
  bool seen_ = false;
  unsigned now_ = 0;
  std::vector<Loop> loops_;
  std::vector<std::size_t> open_;
  unsigned conditions_ = 0;
  std::map<const clang::ValueDecl*, std::vector<Change>> changes_;
  std::map<const clang::ValueDecl*, Depth> declared_;
  llvm::DenseMap<const clang::Stmt*, unsigned> positions_;
};

}  // namespace streamsan::analyzer::device
