// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// From what a user wrote of a function to its Model.
//
// An entry says one verb. A function that does two things (records an event, then waits for another) is better read
// than described: its body is lowered like any other, or the functions that it calls are modelled. What belongs to
// another verb (`timing` of a copy) is an error too, because it shows that the author meant something else.
#include "analyzer/models/entry.h"

#include <algorithm>

namespace streamsan::analyzer {

namespace {

using namespace api;
using ordering::MemoryKind;

Position position(int argument) { return static_cast<Position>(argument); }

/// These mean nothing without a stream.
bool wants_stream(const Entry& entry) {
  switch (entry.verbs.front().first) {
    case Verb::Works:
    case Verb::Records:
    case Verb::Waits:
    case Verb::SetsStream:
    case Verb::Keeps:
    case Verb::MakesCurrent:
      return true;
    case Verb::Synchronises:
      return entry.sync == Sync::Stream;
    default:
      return false;
  }
}

Effect allocation(MemoryKind memory, bool ordered, Position out, Position bytes, Position stream) {
  switch (memory) {
    case MemoryKind::Device:
      if (!ordered) return alloc(out, bytes);
      [[fallthrough]];
    case MemoryKind::DeviceAsync:
      return alloc_async(out, bytes, stream);
    case MemoryKind::Managed:
      return alloc_managed(out, bytes);
    case MemoryKind::Registered:
      return register_host(out, bytes);
    case MemoryKind::Pinned:
    case MemoryKind::Pageable:
    case MemoryKind::Array:  // no entry has it
      break;
  }
  return alloc_host(out, bytes);
}

/// Of memory that CUDA knows; the end of pageable memory is the host's own.
Effect release(MemoryKind memory, bool ordered, Position pointer, Position stream) {
  switch (memory) {
    case MemoryKind::Device:
    case MemoryKind::Managed:
      if (!ordered) return free_device(pointer);
      [[fallthrough]];
    case MemoryKind::DeviceAsync:
      return free_async(pointer, stream);
    case MemoryKind::Registered:
      return unregister_host(pointer);
    case MemoryKind::Pinned:
    case MemoryKind::Pageable:
    case MemoryKind::Array:
      break;
  }
  return free_host(pointer);
}

/// Keys that say nothing about this verb.
std::string misplaced(const Entry& entry) {
  const auto& [verb, key] = entry.verbs.front();
  const auto only = [&, said = key](bool there, std::initializer_list<Verb> verbs, const char* word) -> std::string {
    if (!there || std::find(verbs.begin(), verbs.end(), verb) != verbs.end()) return {};
    return std::string("'") + word + "' says nothing about '" + said + "'";
  };
  for (std::string reason : {only(entry.timing.has_value(), {Verb::CreatesEvent}, "timing"),
                             only(entry.kind.has_value(), {Verb::CreatesStream}, "kind"),
                             only(entry.memory.has_value(), {Verb::Allocates, Verb::Frees}, "memory"),
                             only(entry.bytes.has_value(), {Verb::Allocates}, "bytes"),
                             only(entry.synchronous, {Verb::Works}, "synchronous"),
                             only(entry.event.has_value(), {Verb::Synchronises}, "event")})
    if (!reason.empty()) return reason;
  return {};
}

}  // namespace

void Entry::says(Verb verb, const std::string& key) {
  if (verbs.empty() || verbs.back().first != verb) verbs.emplace_back(verb, key);
}

std::string make_model(const Entry& entry, UserModel& out) {
  if (entry.function.empty()) return "a model wants a 'function'";
  const std::string whose = "the model of '" + entry.function + "' ";
  if (entry.verbs.empty())
    return whose +
           "does not say what it does: reads, writes, updates, host_reads, host_writes, sync, record, wait, allocates, "
           "frees, creates_stream, creates_event, destroys_stream, destroys_event, returns, sets_stream_of, keeps, "
           "makes_current or nothing";
  if (entry.verbs.size() > 1)
    return whose + "does two things, '" + entry.verbs[0].second + "' and '" + entry.verbs[1].second +
           "'; a model says one";
  const Verb verb = entry.verbs.front().first;
  if (verb == Verb::SetsStream && !entry.stream) return whose + "wants a 'stream'";
  if (!entry.stream && !entry.handle && wants_stream(entry))
    return whose + "wants a 'stream', or a 'handle' that has one";
  if (entry.returns_stream && !entry.handle) return whose + "returns the stream of a 'handle', but does not say which";
  if (entry.stream && entry.handle && verb != Verb::SetsStream) return whose + "has both a 'stream' and a 'handle'";
  if (std::string reason = misplaced(entry); !reason.empty()) return whose + "is wrong: " + reason;

  Model& model = out.model;
  out.function = model.name = entry.function;
  out.arguments = entry.arguments;
  if (entry.stream) {
    model.stream_from = entry.stream->from;
    model.stream_argument = entry.stream->argument;
  } else if (entry.handle) {
    model.stream_from = StreamFrom::Handle;
  }
  if (entry.handle) model.handle_argument = *entry.handle == kObject ? -1 : *entry.handle;

  const Position operand = position(entry.operand);
  const Position stream = position(model.stream_argument);
  const bool ordered = model.stream_from != StreamFrom::None;
  const MemoryKind memory = entry.memory.value_or(ordered ? MemoryKind::DeviceAsync : MemoryKind::Device);
  switch (verb) {
    case Verb::Works:
      model.action = ActionKind::LibraryWork;
      model.roles = entry.roles;
      model.effect.form = entry.synchronous ? CallForm::Synchronous : CallForm::Asynchronous;
      break;
    case Verb::HostTouches:
      model.action = ActionKind::HostTouch;
      model.roles = entry.roles;
      break;
    case Verb::Records:
      model.effect = event_record(operand, stream);
      break;
    case Verb::Waits:
      model.effect = event_wait(stream, operand, kAbsent);
      break;
    case Verb::Synchronises:
      if (entry.sync == Sync::Event && !entry.event) return whose + "wants an 'event'";
      if (entry.sync == Sync::Stream) model.effect = sync_stream(stream);
      if (entry.sync == Sync::Event) model.effect = sync_event(position(*entry.event));
      if (entry.sync == Sync::Device) model.effect = sync_context();
      break;
    case Verb::Allocates:
      model.memory = memory;
      model.effect = allocation(memory, ordered, operand, position(entry.bytes.value_or(kAbsent)), stream);
      break;
    case Verb::Frees:
      model.memory = memory;
      if (memory == MemoryKind::Pageable) {
        model.action = ActionKind::MayThrowAway;
        model.roles = {{.argument = entry.operand}};
      } else {
        model.effect = release(memory, ordered, operand, stream);
      }
      break;
    case Verb::CreatesStream:
      model.effect = stream_create(operand, kAbsent);
      model.stream_kind = entry.kind;
      break;
    case Verb::CreatesEvent:
      model.effect = event_create(operand, kAbsent);
      model.timing = entry.timing;
      break;
    case Verb::DestroysStream:
      model.effect = stream_destroy(operand);
      break;
    case Verb::DestroysEvent:
      model.effect = event_destroy(operand);
      break;
    case Verb::Returns:
      model.action = model.stream_from == StreamFrom::Current ? ActionKind::GetCurrent : ActionKind::Wrapper;
      model.value_argument = entry.operand;
      break;
    case Verb::SetsStream:
      model.action = ActionKind::SetHandleStream;
      break;
    case Verb::Keeps:
      model.action = ActionKind::KeepAlive;
      model.roles = {{.argument = entry.operand}};
      break;
    case Verb::MakesCurrent:
      model.action = ActionKind::MakeCurrent;
      break;
    case Verb::Nothing:
      model.action = ActionKind::Nothing;
      break;
  }
  return {};
}

}  // namespace streamsan::analyzer
