// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// See json.h. Strings come from other programs' symbol tables and may hold any bytes: what is not UTF-8 is replaced,
// never an exception.
#include "report/json.h"

#include <nlohmann/json.hpp>

#include "report/text.h"

namespace streamsan::report {
namespace {

using Json = nlohmann::ordered_json;

Json value(const std::vector<Frame>& stack) {
  Json out = Json::array();
  for (const Frame& frame : stack) {
    out.push_back({{"address", hex(frame.address)},
                   {"function", frame.function},
                   {"file", frame.file},
                   {"line", frame.line},
                   {"column", frame.column},
                   {"module", frame.module},
                   {"offset", hex(frame.offset)},
                   {"library", frame.library}});
  }
  return out;
}

Json value(const Stream& stream) {
  return {{"name", stream.name}, {"kind", stream.kind}, {"handle", hex(stream.handle)}};
}

Json value(const AccessReport& access) {
  return {{"verb", access.verb},
          {"what", access.what},
          {"api", access.api},
          {"kernel", access.kernel},
          {"stream", value(access.stream)},
          {"op", access.op},
          {"thread", access.thread},
          {"exact", access.evidence == Evidence::Exact},
          {"bytes", name(access.evidence)},
          {"begin", hex(access.begin)},
          {"end", hex(access.end)},
          {"stack", value(access.stack)}};
}

Json value(const Finding& finding) {
  Json out{{"kind", name(finding.kind)}, {"severity", name(finding.severity)}, {"message", finding.message},
           {"pid", finding.pid},         {"hazard", finding.hazard},           {"cause", finding.cause},
           {"rule", finding.rule}};
  out["accesses"] = Json::array();
  for (const AccessReport& access : finding.accesses) out["accesses"].push_back(value(access));
  out["buffer"] = nullptr;
  if (finding.buffer) {
    out["buffer"] = {{"memory", finding.buffer->memory},       {"name", finding.buffer->name},
                     {"allocator", finding.buffer->allocator}, {"address", hex(finding.buffer->address)},
                     {"bytes", finding.buffer->bytes},         {"stack", value(finding.buffer->stack)}};
  }
  out["overlap_begin"] = hex(finding.overlap_begin);
  out["overlap_end"] = hex(finding.overlap_end);
  out["explanation"] = finding.explanation;
  out["related"] = Json::array();
  for (const RelatedOp& related : finding.related) {
    out["related"].push_back({{"what", related.what},
                              {"api", related.api},
                              {"stream", value(related.stream)},
                              {"op", related.op},
                              {"stack", value(related.stack)}});
  }
  out["fix"] = finding.fix;
  out["fingerprint"] = finding.fingerprint;
  out["count"] = finding.count;
  out["suppressed"] = finding.suppressed;
  return out;
}

}  // namespace

std::string json(std::span<const Finding> findings, const Summary& summary) {
  Json out;
  out["findings"] = Json::array();
  for (const Finding& finding : findings) out["findings"].push_back(value(finding));
  out["summary"] = {{"errors", summary.errors},         {"latent", summary.latent},
                    {"possible", summary.possible},     {"notes", summary.notes},
                    {"suppressed", summary.suppressed}, {"operations", summary.operations},
                    {"processes", summary.processes},   {"warnings", summary.warnings}};
  return out.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace streamsan::report
