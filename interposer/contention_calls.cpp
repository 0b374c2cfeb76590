// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "interposer/contention.h"
#include "interposer/learning.h"

namespace streamsan::recorder {
namespace {

using trace::Kind;

void follow_copy(const CallWords& call) {
  const auto& w = call.as<Kind::Copy>();
  operation_submitted(stream_of(call), w.dst, w.src);
  if (host_waited_in(call)) host_waited_for_stream(stream_of(call));
}

void follow_allocation(const CallWords& call) {
  const auto& w = call.as<Kind::Alloc>();
  memory_given(w.address, w.bytes, is_host_memory(w.memory));
  if (w.stream) operation_submitted({w.stream, w.context, 0}, w.address, 0);
}

void follow_free(const CallWords& call) {
  const auto& w = call.as<Kind::Free>();
  if (w.way == trace::FreeKind::Async) operation_submitted({w.stream, w.context, 0}, w.address, 0);
}

}  // namespace

void follow_call(const CallWords& call) {
  if (call.empty || any_capture()) return;
  switch (call.kind) {
    case Kind::Copy:
      return follow_copy(call);
    case Kind::Fill:
      return operation_submitted(stream_of(call), call.as<Kind::Fill>().dst, 0);
    case Kind::Alloc:
      return follow_allocation(call);
    case Kind::Free:
      return follow_free(call);
    case Kind::EventCreate:
    case Kind::EventDestroy:
      return event_made_or_gone(call.as<Kind::EventCreate>().handle);
    case Kind::EventRecord:
      return event_recorded_in(call.as<Kind::EventRecord>().event, stream_of(call));
    case Kind::EventWait:
      return stream_waits(stream_of(call), call.as<Kind::EventWait>().event);
    case Kind::SyncStream:
    case Kind::QueryStream:
      return host_waited_for_stream(stream_of(call));
    case Kind::SyncEvent:
    case Kind::QueryEvent:
      return host_waited_for_event(call.as<Kind::SyncEvent>().event);
    case Kind::SyncContext:
      return host_waited_for_context(call.as<Kind::SyncContext>().context);
    default:
      return;
  }
}

}  // namespace streamsan::recorder
