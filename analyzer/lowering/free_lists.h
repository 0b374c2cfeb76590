// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Pools: which containers keep blocks of memory for the next who asks for one. See free_lists.cpp.
#pragma once

#include <optional>

#include "analyzer/ir/ir.h"
#include "clang/AST/Type.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/DenseSet.h"

namespace clang {
class CXXMemberCallExpr;
class Expr;
class FieldDecl;
class FunctionDecl;
class Stmt;
class ValueDecl;
class VarDecl;
}  // namespace clang

namespace streamsan::analyzer {

class Symbols;

struct FreeLists {
  /// A function that takes a block out and hands it out.
  struct Taking {
    const clang::Expr* container = nullptr;   ///< as the function names it
    const clang::VarDecl* through = nullptr;  ///< the local reference that it is named by; nullptr: none
    const clang::Expr* element = nullptr;     ///< what reads it
    /// The call that finds the blocks of a key, if the blocks of each key are a list. Else nullptr.
    const clang::CXXMemberCallExpr* found = nullptr;
    /// `free_[size]`: the key of the list that the container is, an entry of a map; else nullptr.
    const clang::Expr* key_of_entry = nullptr;
    clang::QualType type;                          ///< of a block: a pointer, or a class that has one
    llvm::DenseSet<const clang::VarDecl*> blocks;  ///< variables that hold what is handed out, from wherever
    llvm::DenseSet<const clang::Expr*> returned;   ///< expressions that are returned as they are
    llvm::DenseSet<const clang::Expr*> values;     ///< what variables are set to that comes out of the list
    bool waits = false;  ///< perhaps, for what came out of the list: what is made instead is not the same then
    std::optional<ordering::MemoryKind> memory;  ///< of the blocks, if they are pointers to it
  };
  /// A block goes back.
  struct Giving {
    const clang::Expr* container = nullptr;
    const clang::Expr* block = nullptr;
    const clang::Expr* key = nullptr;  ///< under which; nullptr: there are no keys
    /// The key is that of the block, which the program keeps somewhere: the one that the block was taken out under.
    bool own_key = false;
    bool entry = false;  ///< `container` is a map, and the list is its entry under that key
  };
  llvm::DenseMap<const clang::FunctionDecl*, Taking> takings;          ///< by definition
  llvm::DenseMap<const clang::Stmt*, Giving> givings;                  ///< by the call
  llvm::DenseMap<const clang::ValueDecl*, ordering::MemoryKind> made;  ///< members of blocks: what they are given
};

FreeLists find_free_lists(Symbols& symbols);

}  // namespace streamsan::analyzer
