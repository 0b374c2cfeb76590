// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// C++ text that is parsed as if it stood at the end of a translation unit whose own text has been parsed already.
#pragma once

#include <string>

namespace clang {
class Preprocessor;
}

namespace streamsan::analyzer {

class LateParser {
 public:
  /// `preprocessor`: a compiler instance's, which has read the translation unit to its end.
  explicit LateParser(clang::Preprocessor& preprocessor);

  /// False: the text has errors, which nobody hears of; what was declared before the first of them stays.
  bool parse(const std::string& text);

  /// The name of the text in debug information.
  static constexpr const char* kName = "<streamsan>";

 private:
  clang::Preprocessor& preprocessor_;
};

}  // namespace streamsan::analyzer
