// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What calls do with containers of the standard library, as the source says it. See container_calls.cpp.
#pragma once

#include <cstdint>

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"

namespace clang {
class CXXMemberCallExpr;
class Expr;
class ValueDecl;
class VarDecl;
}  // namespace clang

namespace streamsan::analyzer {

/// Where in a container something is put, or taken out. ByKey: where its size or name says.
enum class ListEnd : std::uint8_t { None, Front, Back, ByKey };

ListEnd end_put_at(llvm::StringRef method);
ListEnd end_taken_at(llvm::StringRef method);
bool takes_out(llvm::StringRef method);
/// Gives an iterator, or a node.
bool finds(llvm::StringRef method);
/// The same, by a key that the call says: another key is another element.
bool finds_by_key(llvm::StringRef method);

/// The call of a method and its name; nullptr: another expression.
const clang::CXXMemberCallExpr* method_call(const clang::Expr* expression, llvm::StringRef* name);

/// Through std::move, std::forward and std::exchange too.
const clang::Expr* unwrapped(const clang::Expr* expression);

/// `{key, value}`, `std::pair(key, value)`, `std::make_pair(key, value)`: both. `{value}`, `Type(value)`: that one.
/// Else what is given, unwrapped.
llvm::ArrayRef<const clang::Expr*> parts_of(const clang::Expr* const& given);

struct Named {
  const clang::ValueDecl* container = nullptr;
  const clang::VarDecl* through = nullptr;  ///< the local reference that it is named by
};

/// A container of the standard library that lives longer than a call.
Named named_container(const clang::Expr* expression);

/// It gives out the greatest element, whichever went in last.
bool is_sorted_queue(const clang::ValueDecl& container);

}  // namespace streamsan::analyzer
