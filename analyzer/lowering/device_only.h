// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Which functions the host does not have.
#pragma once

namespace clang {
class FunctionDecl;
}

namespace streamsan::analyzer {

/// A kernel, or a function of the device that the host does not have.
bool runs_on_device_only(const clang::FunctionDecl& function);

}  // namespace streamsan::analyzer
