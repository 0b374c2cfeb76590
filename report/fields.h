// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The one list of the fields of a finding: fields(archive, value) passes each member with its name in JSON to an
// archive.
//
// The writer (json.cpp), the reader (read_json.cpp) and the cleaner (printable.cpp) are archives. A field that is added
// here is written, read and cleaned; it cannot be forgotten in one of them.
//
// An archive has
//   field(name, member)     text, truth values, numbers, enumerators and Words (by their words: common/words.h),
//                           structs, vectors and optionals of these
//   address(name, member)   a number that is written as "0x7f12": many readers of JSON lose 64-bit numbers
//   derived(name, value)    what follows from other members: written, never read
#pragma once

#include <concepts>
#include <type_traits>

#include "report/finding.h"

namespace streamsan::report {

/// T, const or not.
template <typename T, typename Plain>
concept Some = std::same_as<std::remove_const_t<T>, Plain>;

template <typename Archive>
void fields(Archive& archive, Some<Frame> auto& frame) {
  archive.address("address", frame.address);
  archive.field("function", frame.function);
  archive.field("file", frame.file);
  archive.field("line", frame.line);
  archive.field("column", frame.column);
  archive.field("module", frame.module);
  archive.address("offset", frame.offset);
  archive.field("language", frame.language);
  archive.field("forward", frame.forward);
  archive.field("library", frame.library);
  archive.field("symbolised", frame.symbolised);
}

template <typename Archive>
void fields(Archive& archive, Some<Stream> auto& stream) {
  archive.field("name", stream.name);
  archive.field("kind", stream.kind);
  archive.address("handle", stream.handle);
}

template <typename Archive>
void fields(Archive& archive, Some<AccessReport> auto& access) {
  archive.field("verb", access.verb);
  archive.field("what", access.what);
  archive.field("api", access.api);
  archive.field("kernel", access.kernel);
  archive.field("stream", access.stream);
  archive.field("op", access.op);
  archive.field("thread", access.thread);
  archive.field("thread_name", access.thread_name);
  archive.field("main_thread", access.main_thread);
  archive.derived("exact", access.evidence == Evidence::Exact);
  archive.field("bytes", access.evidence);
  archive.address("begin", access.begin);
  archive.address("end", access.end);
  archive.field("stack", access.stack);
  archive.field("mark", access.mark);
}

template <typename Archive>
void fields(Archive& archive, Some<BufferReport> auto& buffer) {
  archive.field("memory", buffer.memory);
  archive.field("name", buffer.name);
  archive.field("allocator", buffer.allocator);
  archive.field("variable", buffer.variable);
  archive.address("address", buffer.address);
  archive.field("bytes", buffer.bytes);
  archive.field("stack", buffer.stack);
}

template <typename Archive>
void fields(Archive& archive, Some<OverlapReport> auto& overlap) {
  archive.field("bytes", overlap.bytes);
  archive.field("runs", overlap.runs);
  archive.field("width", overlap.width);
  archive.field("pitch", overlap.pitch);
  archive.address("end", overlap.end);
  archive.field("more", overlap.more);
}

template <typename Archive>
void fields(Archive& archive, Some<RelatedOp> auto& related) {
  archive.field("what", related.what);
  archive.field("api", related.api);
  archive.field("stream", related.stream);
  archive.field("op", related.op);
  archive.field("stack", related.stack);
}

template <typename Archive>
void fields(Archive& archive, Some<OrderedPair> auto& pair) {
  archive.field("earlier", pair.earlier);
  archive.field("later", pair.later);
  archive.field("buffer", pair.buffer);
  archive.field("rule", pair.rule);
  archive.field("count", pair.count);
}

template <typename Archive>
void fields(Archive& archive, Some<SyncReport> auto& sync) {
  archive.field("verdict", sync.verdict);
  archive.field("waits", sync.waits);
  archive.field("what", sync.what);
  archive.field("api", sync.api);
  archive.field("stream", sync.stream);
  archive.field("calls", sync.calls);
  archive.field("idle_calls", sync.idle_calls);
  archive.field("stack", sync.stack);
  archive.field("library", sync.library);
  archive.field("orders", sync.orders);
  archive.field("reasons", sync.reasons);
  archive.field("replacement", sync.replacement);
  archive.field("evidence", sync.evidence);
  archive.field("group", sync.group);
  archive.field("removable", sync.removable);
  archive.field("blocked_ms", sync.blocked_ms);
  archive.field("gpu_idle_ms", sync.gpu_idle_ms);
  archive.field("overlap_ms", sync.overlap_ms);
}

template <typename Archive>
void fields(Archive& archive, Some<Finding> auto& finding) {
  archive.field("kind", finding.kind);
  archive.field("severity", finding.severity);
  archive.field("message", finding.message);
  archive.field("pid", finding.pid);
  archive.field("hazard", finding.hazard);
  archive.field("cause", finding.cause);
  archive.field("rule", finding.rule);
  archive.field("accesses", finding.accesses);
  archive.field("buffer", finding.buffer);
  archive.address("overlap_begin", finding.overlap_begin);
  archive.address("overlap_end", finding.overlap_end);
  archive.field("overlap", finding.overlap);
  archive.field("explanation", finding.explanation);
  archive.field("related", finding.related);
  archive.field("sync", finding.sync);
  archive.field("fix", finding.fix);
  archive.field("mark", finding.mark);
  archive.field("tests", finding.tests);
  archive.field("fingerprint", finding.fingerprint);
  archive.field("count", finding.count);
  archive.field("weaker", finding.weaker);
  archive.field("passed_on", finding.passed_on);
  archive.field("group", finding.group);
  archive.field("suppressed", finding.suppressed);
}

template <typename Archive>
void fields(Archive& archive, Some<Summary> auto& summary) {
  archive.field("errors", summary.errors);
  archive.field("latent", summary.latent);
  archive.field("possible", summary.possible);
  archive.field("notes", summary.notes);
  archive.field("suppressed", summary.suppressed);
  archive.field("operations", summary.operations);
  archive.field("processes", summary.processes);
  archive.field("syncs", summary.syncs);
  archive.field("whole", summary.whole);
  archive.field("warnings", summary.warnings);
}

}  // namespace streamsan::report
