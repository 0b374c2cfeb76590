// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Crashes the compiler.
#pragma clang __debug crash
