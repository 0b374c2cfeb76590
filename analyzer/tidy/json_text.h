// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Strings in JSON.
#pragma once

#include <string>

#include "llvm/Support/JSON.h"

namespace streamsan::analyzer {

/// Source text and file names may be in any encoding; JSON is UTF-8.
inline std::string utf8(const std::string& bytes) {
  return llvm::json::isUTF8(bytes) ? bytes : llvm::json::fixUTF8(bytes);
}

/// The string under `key`, or nothing.
inline std::string text_of(const llvm::json::Object& object, const char* key) {
  return object.getString(key).value_or("").str();
}

}  // namespace streamsan::analyzer
