// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Whether a kernel goes over the elements behind a pointer one by one: `out[first + threadIdx.x]`, and not `out[2 *
// i]`, nor `out[i]` for the even ones only.
//
// Errs to say no.
#pragma once

namespace clang {
class FunctionDecl;
class ParmVarDecl;
}  // namespace clang

namespace streamsan::analyzer::device {

bool is_dense(const clang::FunctionDecl& kernel, const clang::ParmVarDecl& pointer);

}  // namespace streamsan::analyzer::device
