// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "report/github.h"

#include <algorithm>
#include <utility>

#include "report/common/annotation.h"
#include "report/fingerprint.h"
#include "report/printable.h"
#include "report/text.h"

namespace streamsan::report {
namespace {

AnnotationLevel annotation_level(Severity severity) {
  switch (severity) {
    case Severity::Error:
      return AnnotationLevel::Error;
    case Severity::Latent:
      return AnnotationLevel::Warning;
    case Severity::Possible:
    case Severity::Note:
      return AnnotationLevel::Notice;
  }
  return AnnotationLevel::Notice;
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
    Annotation annotation{.level = annotation_level(finding.severity),
                          .title = "streamsan: " + one_line(title(finding)),
                          .body = std::move(body)};
    if (const Frame* frame = frame_to_show(finding, context.root)) {
      annotation.file = one_line(context.root.relative(frame->file).value_or(frame->file));
      annotation.line = frame->line;
      annotation.column = frame->column;
    }
    out += text(annotation);
  }
  if (!summary.whole) {
    std::string body = "the run was not judged as a whole; findings may be missing";
    for (const std::string& warning : summary.warnings) body += "\n" + one_line(warning);
    out += text(Annotation{.title = "streamsan", .body = std::move(body)});
  }
  return out;
}

}  // namespace streamsan::report
