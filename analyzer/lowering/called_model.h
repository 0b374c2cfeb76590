// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The model of a function that is called, for code that reads declarations only and has no Symbols (symbols.h).
#pragma once

namespace clang {
class CallExpr;
}  // namespace clang

namespace streamsan::analyzer {

struct Model;
class Models;

/// nullptr: it has none, or its name is no identifier.
const Model* called_model(const Models& models, const clang::CallExpr& call);

}  // namespace streamsan::analyzer
