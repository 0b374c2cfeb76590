// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Parses C++ text as if it stood at the end of a translation unit that was parsed before.
#pragma once

#include <string>

namespace clang {
class Preprocessor;
}

namespace streamsan::analyzer {

class LateParser {
 public:
  /// `preprocessor`: that of a compiler instance which has read the translation unit to its end.
  explicit LateParser(clang::Preprocessor& preprocessor);

  /// False: the text has errors, which are not reported. The declarations before the first error stay.
  bool parse(const std::string& text);

  /// The name of the text in debug information.
  static constexpr const char* kName = "<streamsan>";

 private:
  clang::Preprocessor& preprocessor_;
};

}  // namespace streamsan::analyzer
