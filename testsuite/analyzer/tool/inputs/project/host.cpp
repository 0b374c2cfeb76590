// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <string>

std::string title() { return TITLE; }
