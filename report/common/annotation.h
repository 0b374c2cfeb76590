// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// One annotation of a GitHub workflow: "::error file=a.cu,line=3,col=5,title=T::text" on a line of its own.
#pragma once

#include <cstdint>
#include <string>

#include "report/common/words.h"

namespace streamsan::report {

struct Annotation {
  AnnotationLevel level = AnnotationLevel::Error;
  std::string file;  ///< relative to the root of the repository; empty: none
  std::uint32_t line = 0;
  std::uint32_t column = 0;  ///< 0: not known, as `line`
  std::string title;
  std::string body;  ///< may have several lines
};

std::string text(const Annotation& annotation);

}  // namespace streamsan::report
