// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Hazards filled as hazard.h says, and findings as one text, for the tests of the words:
//
//   LINE: MESSAGE
//   LINE: note: MESSAGE
//   fix: KIND LINE TEXT {names}
#pragma once

#include <gtest/gtest.h>

#include <string>

#include "analyzer/analysis/hazard.h"

namespace streamsan::analyzer::samples {

using ordering::MemoryKind;
using ordering::StreamKind;

inline Where at(std::uint32_t line, std::string text = {}, std::string function = "run") {
  ir::Site site;
  site.file = "a.cu";
  site.line = line;
  site.column = 3;
  site.function = std::move(function);
  if (text.starts_with("kernel '")) site.kind = ir::Site::Kind::Launch;
  if (text.ends_with("goes out of scope")) site.kind = ir::Site::Kind::ScopeEnd;
  site.text = std::move(text);
  site.begin = site.end = line * 100;
  site.statement = site.begin;
  site.statement_end = site.begin + 50;
  site.stream_begin = site.begin + 10;
  return {site, {}};
}

inline Thing stream(const char* name, std::uint32_t line = 0, std::optional<StreamKind> kind = {}) {
  Thing thing;
  thing.name = name;
  thing.unnamed = report::find<UnnamedStream>(name).value_or(UnnamedStream::None);
  thing.stream_kind = kind;
  if (line != 0) {
    thing.origin = at(line, "cudaStreamCreate");
  }
  return thing;
}

inline Thing memory(const char* name, std::uint32_t line = 0) {
  Thing thing = stream(name);
  thing.memory_kind = MemoryKind::Device;
  if (line != 0) {
    thing.origin = at(line, "cudaMalloc");
  }
  return thing;
}

inline Action action(std::uint32_t line, const char* what, ir::Mode mode = ir::Mode::Unknown, Thing on = {}) {
  return {at(line, what), what, mode, std::string_view(what).starts_with("kernel") ? ir::Work::Kernel : ir::Work::Other,
          std::move(on)};
}

inline constexpr const char* kUpload = "cudaMemcpyAsync (host to device)";
inline constexpr const char* kDownload = "cudaMemcpyAsync (device to host)";

inline Hazard race(Check check = Check::CrossStreamRace, Cause cause = Cause::NoEdge) {
  Hazard hazard;
  hazard.check = check;
  hazard.cause = cause;
  hazard.earlier = action(10, kUpload, ir::Mode::Write, stream("s1", 1));
  hazard.later = action(20, "kernel 'consume'", ir::Mode::Read, stream("s2", 2));
  hazard.buffer = memory("d_buf", 3);
  hazard.event = stream("e0");
  hazard.function = "run";
  return hazard;
}

inline Hazard host(Check check = Check::HostReadBeforeDone) {
  Hazard hazard;
  hazard.check = check;
  const bool reads = check == Check::HostReadBeforeDone;
  hazard.earlier = action(10, reads ? kDownload : kUpload, reads ? ir::Mode::Write : ir::Mode::Read, stream("s1"));
  hazard.later = action(20, "", reads ? ir::Mode::Read : ir::Mode::Write);
  hazard.buffer = stream("h");
  return hazard;
}

inline std::string text(const Hazard& hazard) {
  const Finding finding = word(hazard);
  std::string result = std::to_string(finding.site.line) + ": " + finding.message + "\n";
  for (const Note& note : finding.notes) {
    result += std::to_string(note.site.line) + ": note: " + note.message + "\n";
  }
  for (const Fix& fix : finding.fixes) {
    const char* kinds[] = {"before", "replace", "remove", "pass"};
    result += std::string("fix: ") + kinds[static_cast<int>(fix.kind)] + " " + std::to_string(fix.site.line) + " " +
              fix.text + " {";
    for (const std::string& name : fix.names) {
      result += name + (&name == &fix.names.back() ? "" : " ");
    }
    result += "}\n";
  }
  EXPECT_EQ(finding.lanes.size(), finding.notes.size() + 1);
  return result;
}

inline std::string message(const Hazard& hazard) { return word(hazard).message; }

/// The notes that differ from cause to cause: at the edge, line 15, and the last.
inline std::string cause_notes(Hazard hazard) {
  hazard.edge = at(15, "cudaStreamWaitEvent");
  const Finding finding = word(hazard);
  std::string result;
  for (const Note& note : finding.notes) {
    if (note.site.line == 15) {
      result += note.message + "\n";
    }
  }
  return result + finding.notes.back().message + "\n";
}

}  // namespace streamsan::analyzer::samples
