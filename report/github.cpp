// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "report/github.h"

#include <algorithm>

#include "report/fingerprint.h"
#include "report/printable.h"
#include "report/text.h"

namespace streamsan::report {
namespace {

/// The escapes of workflow commands; in properties also for what separates them.
std::string escaped(std::string_view text, bool property) {
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

const char* command(Severity severity) {
  switch (severity) {
    case Severity::Error:
      return "error";
    case Severity::Latent:
      return "warning";
    case Severity::Possible:
    case Severity::Note:
      return "notice";
  }
  return "notice";
}

std::string place_of(const Finding& finding, const SourceRoot& root) {
  const Frame* frame = frame_to_show(finding, root);
  if (!frame) return "";
  std::string out = "file=" + escaped(one_line(root.relative(frame->file).value_or(frame->file)), true) + ",";
  if (frame->line) out += "line=" + std::to_string(frame->line) + ",";
  if (frame->line && frame->column) out += "col=" + std::to_string(frame->column) + ",";
  return out;
}

}  // namespace

std::string github(std::span<const Finding> findings, const Summary& summary, const FormatContext& context) {
  std::vector<const Finding*> listed;
  for (const Finding& finding : findings) {
    if (!finding.suppressed && is_listed(finding, context.least)) listed.push_back(&finding);
  }
  std::vector<Folded> folds = folded(listed);
  std::stable_sort(folds.begin(), folds.end(),
                   [](const Folded& a, const Folded& b) { return a.worst->severity < b.worst->severity; });
  std::string out;
  for (const Folded& fold : folds) {
    const Finding& finding = *fold.worst;
    std::string body = one_line(finding.message);
    if (!finding.explanation.empty()) body += "\n" + one_line(finding.explanation);
    if (!finding.fix.empty()) body += "\nFix: " + one_line(finding.fix);
    out += "::" + std::string(command(finding.severity)) + " " + place_of(finding, context.root) +
           "title=" + escaped("streamsan: " + one_line(title(finding)), true) + "::" + escaped(body, false) + "\n";
  }
  if (!summary.whole) {
    out += "::error title=streamsan::the run was not judged to its end; findings may be missing\n";
  }
  return out;
}

}  // namespace streamsan::report
