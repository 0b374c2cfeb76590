// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "report/junit.h"

#include <map>

#include "report/fingerprint.h"
#include "report/printable.h"
#include "report/short_name.h"
#include "report/text.h"

namespace streamsan::report {
namespace {

/// Text for an element, or, with line ends as references, for an attribute. XML has no way at all to write most control
/// characters.
std::string escaped(std::string_view text, bool attribute) {
  std::string out;
  for (const char c : utf8(text)) {
    switch (c) {
      case '&':
        out += "&amp;";
        break;
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '"':
        out += "&quot;";
        break;
      case '\n':
        out += attribute ? "&#10;" : "\n";
        break;
      case '\t':
        out += attribute ? "&#9;" : "\t";
        break;
      default:
        if (static_cast<unsigned char>(c) >= 0x20 && c != 0x7f) out += c;
    }
  }
  return out;
}

std::string attribute(const char* name, std::string_view value) {
  return " " + std::string(name) + "=\"" + escaped(value, true) + "\"";
}

std::string element(const char* name, std::string_view message, std::string_view type, std::string_view text) {
  std::string out = "      <" + std::string(name) + attribute("message", message);
  if (!type.empty()) out += attribute("type", type);
  return text.empty() ? out + "/>\n" : out + ">" + escaped(text, false) + "</" + name + ">\n";
}

struct Counts {
  std::size_t tests = 0;
  std::size_t failures = 0;
  std::size_t errors = 0;
  std::size_t skipped = 0;
};

std::string attributes(const Counts& counts) {
  return attribute("tests", std::to_string(counts.tests)) + attribute("failures", std::to_string(counts.failures)) +
         attribute("errors", std::to_string(counts.errors));
}

/// "read-after-write race in step()"
std::string test_name(const Finding& finding, const SourceRoot& root) {
  std::string out = one_line(title(finding));
  const Frame* frame = frame_to_show(finding, root);
  for (const std::vector<Frame>* stack : stacks(finding)) {
    for (const Frame& candidate : *stack) {
      if (!frame && !candidate.library && !candidate.function.empty()) frame = &candidate;
    }
  }
  return frame && !frame->function.empty() ? out + " in " + one_line(short_name(frame->function)) : out;
}

}  // namespace

std::string junit(const Results& results, const FormatContext& context) {
  std::vector<const Finding*> listed;
  for (const Finding& finding : results.findings) {
    if (finding.severity < Severity::Note && is_listed(finding, context.least)) listed.push_back(&finding);
  }
  Counts counts{.tests = 1};
  std::string cases;
  std::map<std::string, std::size_t> names;
  const Finding* first = nullptr;
  for (const Folded& fold : folded(listed)) {
    const Finding& finding = *fold.worst;
    std::string name = test_name(finding, context.root);
    if (std::size_t nth = ++names[name]; nth > 1) name += " #" + std::to_string(nth);
    ++counts.tests;
    cases += "    <testcase" + attribute("classname", "streamsan." + std::string(report::name(finding.kind))) +
             attribute("name", name);
    cases += ">\n";
    const std::string all = text(finding, {});
    if (leads(finding, first)) first = &finding;
    if (finding.suppressed) {
      ++counts.skipped;
      cases += element("skipped", "suppressed", "", "");
    } else if (finding.severity == Severity::Error) {
      ++counts.failures;
      cases += element("failure", one_line(finding.message), finding.hazard.text(), all);
    } else {
      ++counts.skipped;
      cases +=
          element("skipped", std::string(report::name(finding.severity)) + ": " + one_line(finding.message), "", "");
      cases += "      <system-out>" + escaped(all, false) + "</system-out>\n";
    }
    cases += "    </testcase>\n";
  }

  std::string run = "    <testcase" + attribute("classname", "streamsan") + attribute("name", "the run was judged");
  std::string warnings;
  for (const std::string& warning : results.summary.warnings) warnings += one_line(warning) + "\n";
  run += ">\n";
  if (!results.summary.whole) {
    ++counts.errors;
    run += element("error", "not judged as a whole; findings may be missing", "incomplete", warnings);
  }
  run += "      <system-out>" + escaped(summary_line(results.summary, first, {}), false) + "</system-out>\n";
  if (!warnings.empty()) run += "      <system-err>" + escaped(warnings, false) + "</system-err>\n";
  run += "    </testcase>\n";

  return "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites" + attribute("name", "streamsan") +
         attributes(counts) + ">\n  <testsuite" + attribute("name", "streamsan") + attributes(counts) +
         attribute("skipped", std::to_string(counts.skipped)) + ">\n" + run + cases + "  </testsuite>\n</testsuites>\n";
}

}  // namespace streamsan::report
