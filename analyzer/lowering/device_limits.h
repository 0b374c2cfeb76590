// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Which integers a kernel is given only to know how much there is.
//
//   __global__ void add(float* sum, const float* part, int n) { if (i < n) sum[i] += part[i]; }
//
// `n` says where the work ends. Two launches that differ in `n` alone begin at the same element, so they meet there. An
// integer that is used in any other way (`part[first + i]`, `if (row == mine)`) may say where the work begins.
//
// A use is understood if it is the upper limit of a comparison that holds wherever memory is touched: the condition of
// a loop or of an `if` without `else`, the opposite of the condition under which a function or a round is left; or if
// the integer is handed on to a device function that uses it so. Errs to miss: an integer whose uses are not all
// understood counts as one that may say where the work begins.
#pragma once

#include <cstdint>

namespace clang {
class FunctionDecl;
class Stmt;
}  // namespace clang

namespace streamsan::analyzer::device {

/// A bit for each of the first 32 parameters: it is a limit. Without a body: 0.
std::uint32_t limits_of(const clang::FunctionDecl& function);

/// Assembly by which the thread that gets there ends.
bool ends_thread(const clang::Stmt& statement);

/// Nothing that stands behind the statement is reached from it.
bool leaves(const clang::Stmt* statement);

}  // namespace streamsan::analyzer::device
