// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Where statements do not go on to the next one, and which conditions only ask whether a call of CUDA failed.
//
// After `if (!enabled_) return;` a function goes on in some cases only. After `if (cudaStreamCreate(&s_) !=
// cudaSuccess) return false;` it does so as well, but what is left behind is an object that could not be made, not one
// that is used without a stream.
#pragma once

#include <cstdint>
#include <optional>

namespace clang {
class Expr;
class Stmt;
}  // namespace clang

namespace streamsan::analyzer {

class Models;

/// How far a statement leads that never goes on to the next one.
enum class Leaving : std::uint8_t { Break, Continue, Function, Throw, Program };

std::optional<Leaving> leaves(const clang::Stmt* statement_or_null);

/// Whether a `case` of the body leads out of more than the switch.
bool case_leaves(const clang::Stmt* body);

/// `condition` asks for the success of calls of CUDA, and for nothing else: it holds if all succeeded (true), or if one
/// failed (false). Absent: it asks for something else.
std::optional<bool> tells_success(const clang::Expr& condition, const Models& models);

/// The one thing that such a condition asks for: a call of CUDA, or the variable that holds its result.
const clang::Expr* asked_result(const clang::Expr& condition, const Models& models);

}  // namespace streamsan::analyzer
