// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// See json.h. Strings come from other programs' symbol tables and may hold any bytes: what is not UTF-8 is replaced,
// never an exception.
#include "report/json.h"

#include "report/json_value.h"

namespace streamsan::report {
namespace {

/// A synchronising call that is needed, as far as is known: nothing is to be found fault with.
bool is_to_stay(const Finding& finding) {
  if (!finding.sync) return false;
  switch (finding.sync->verdict) {
    case Verdict::Unneeded:
    case Verdict::Narrower:
      return false;
    case Verdict::Timing:
    case Verdict::Unknown:
    case Verdict::Needed:
      return true;
  }
  return false;
}

}  // namespace

std::string json(std::span<const Finding> findings, const Summary& summary) {
  using Document = JsonWriter::Json;
  Document out;
  out["schema"] = kJsonSchema;
  out["tool"] = {{"name", "streamsan"}, {"version", STREAMSAN_VERSION}};
  out["findings"] = Document::array();
  out["waits"] = Document::array();
  for (const Finding& finding : findings) {
    out[is_to_stay(finding) ? "waits" : "findings"].push_back(JsonWriter::value(finding));
  }
  out["summary"] = JsonWriter::value(summary);
  return out.dump(2, ' ', false, Document::error_handler_t::replace) + "\n";
}

std::string json(const Results& results, const FormatContext&) { return json(results.findings, results.summary); }

}  // namespace streamsan::report
