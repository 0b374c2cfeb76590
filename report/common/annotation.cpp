// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "report/common/annotation.h"

#include "report/common/utf8.h"

namespace streamsan::report {
namespace {

/// A percent sign and line ends would end a command; in its properties commas and colons, too.
std::string escaped(const std::string& text, bool property) {
  std::string out;
  for (const char c : utf8(text)) {
    switch (c) {
      case '%':
        out += "%25";
        break;
      case '\r':
        out += "%0D";
        break;
      case '\n':
        out += "%0A";
        break;
      case ':':
        out += property ? "%3A" : ":";
        break;
      case ',':
        out += property ? "%2C" : ",";
        break;
      default:
        out += c;
    }
  }
  return out;
}

}  // namespace

std::string text(const Annotation& annotation) {
  std::string out = std::string("::") + name(annotation.level) + " ";
  if (!annotation.file.empty()) {
    out += "file=" + escaped(annotation.file, true) + ",";
    if (annotation.line != 0) out += "line=" + std::to_string(annotation.line) + ",";
    if (annotation.line != 0 && annotation.column != 0) out += "col=" + std::to_string(annotation.column) + ",";
  }
  return out + "title=" + escaped(annotation.title, true) + "::" + escaped(annotation.body, false) + "\n";
}

}  // namespace streamsan::report
