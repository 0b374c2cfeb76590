// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Words for the host's side: it reads or writes too early, memory ends too early, a tensor goes back to its allocator
// too early.
//
// One repair is certain for all of them: a wait, in the line before, for the stream that is still at work. It may not
// be the fastest repair, so the notes name it and --fix does only that.
#include "analyzer/analysis/wording_parts.h"

namespace streamsan::analyzer::wording {
namespace {

/// "stream 's1'", or a description if the stream has no name.
std::string its_stream(const Action& action) { return named_stream(action.stream, "its stream"); }

void note_other_side(Draft& draft, const std::string& memory) {
  const Hazard& hazard = draft.hazard();
  const Action& earlier = draft.earlier();
  const std::string action = act(earlier);
  draft.note(earlier.where, memory + " " + is_done(earlier) + " here" + comma(on_stream(earlier.stream)),
             lane(earlier.stream));
  switch (hazard.cause) {
    case Cause::OtherStreamSynced:
      draft.note_edge("this waits for another stream than " + its_stream(earlier));
      break;
    case Cause::OnlyOnSomePaths:
      draft.note_edge("this waits for it, but only on some of the paths that lead there");
      break;
    case Cause::RecordedTooEarly:
      draft.note_edge(
          event(hazard.event) + " is recorded here, before " + action + ": waiting for it does not cover " + action,
          lane(earlier.stream));
      break;
    case Cause::NeverRecorded:
      draft.note_edge("the wait for " + event(hazard.event) + " here does nothing: the event was never recorded");
      break;
    case Cause::RecordedElsewhere:
      draft.note_edge(event(hazard.event) + " is recorded here, in another stream than " + its_stream(earlier));
      break;
    case Cause::WaitElsewhere:
      draft.note_edge("another stream waits for " + event(hazard.event) + " here, not the host");
      break;
    case Cause::WaitAfter:
      draft.note_edge("this waits for it, but comes too late");
      break;
    case Cause::NeverWaited:
      draft.note_edge(
          event(hazard.event) + " is recorded here, after " + action + ", but the host does not wait for it",
          lane(earlier.stream));
      break;
    case Cause::SyncTooEarly:  // only a run shows these
    case Cause::OtherDevice:
    case Cause::DependentLaunch:
    case Cause::LaunchEvent:
    case Cause::SourceOrder:
    case Cause::NoPathInGraph:
    case Cause::NoEdge:
    case Cause::NonBlocking:
      break;
    case Cause::OtherIteration:
      if (hazard.edge)
        draft.note_edge(event(hazard.event) + " is recorded here, after " + action +
                            ", but the host does not wait for it before the next iteration",
                        lane(earlier.stream));
      break;
  }
  draft.note_origin(earlier.stream, "stream");
  draft.note_origin(hazard.buffer, "");
}

/// "; while WORK on stream 's1' still reads it"
std::string while_at_work(const Draft& draft) {
  const Action& earlier = draft.earlier();
  const bool iteration = draft.hazard().cause == Cause::OtherIteration;
  return " while " + what(earlier) + on_stream(earlier.stream) + (iteration ? ", in an earlier iteration," : "") + " " +
         still_does(earlier) + " it";
}

void synchronise_first(Draft& draft, const std::string& before) {
  const Dialect& dialect = draft.dialect();
  const Thing& at_work = draft.earlier().stream;
  const std::string whole = its_stream(draft.earlier()) + " with " + dialect.synchronize_stream;
  const Cause cause = draft.hazard().cause;
  const bool has_event = cause == Cause::NeverWaited || cause == Cause::WaitElsewhere ||
                         (cause == Cause::OtherIteration && draft.hazard().edge);
  // A loop that records an event for each buffer would lose its overlap by waiting for the stream.
  if (has_event) {
    draft.advise("wait for " + event(draft.hazard().event) + " with " + dialect.synchronize_event + ", or for all of " +
                 whole + ", before " + before);
  } else {
    draft.advise("wait for " + whole + " before " + before);
  }
  draft.insert_before_later(dialect.synchronize_stream + "(" + spelling(at_work, dialect) + ");", {at_work});
}

void word_host_access(Draft& draft) {
  const Hazard& hazard = draft.hazard();
  const std::string memory = buffer(hazard.buffer);
  Action touch = draft.later();
  if (hazard.check == Check::HostReadBeforeDone && touch.mode == ir::Mode::Unknown) {
    touch.mode = ir::Mode::Read;
  }
  draft.say(what(touch) + " " + may_do(touch.mode) + " " + memory + while_at_work(draft));
  note_other_side(draft, memory);
  synchronise_first(draft, act(touch));
}

}  // namespace

template <>
void words_of<Check::HostReadBeforeDone>(Draft& draft) {
  word_host_access(draft);
}

template <>
void words_of<Check::HostWriteBeforeDone>(Draft& draft) {
  word_host_access(draft);
}

template <>
void words_of<Check::AsyncCopyLifetime>(Draft& draft) {
  const Hazard& hazard = draft.hazard();
  const std::string memory = hazard.buffer.name.empty() ? "a temporary" : buffer(hazard.buffer);
  const std::string end = !hazard.detail.empty()       ? hazard.detail
                          : hazard.buffer.name.empty() ? "dies at the end of the statement"
                                                       : "goes out of scope";
  draft.say(memory + " " + end + while_at_work(draft));
  note_other_side(draft, memory);
  synchronise_first(draft, "that, or keep the memory alive for longer");
}

template <>
void words_of<Check::PrematureFree>(Draft& draft) {
  const Hazard& hazard = draft.hazard();
  const std::string memory = buffer(hazard.buffer);
  if (hazard.which == CheckCase::Captured && draft.later().what.empty()) {
    draft.say("the host writes " + memory + ", which went back to its pool, but a graph that was captured with it " +
              "lives on: " + what(draft.earlier()) + " uses it at each launch");
    draft.note(draft.earlier().where, memory + " becomes part of the graph here", lane(draft.earlier().stream));
    draft.advise("keep the block as long as the graph can be launched");
    return;
  }
  if (hazard.which == CheckCase::Captured) {
    draft.say(memory + " is freed by " + what(draft.later()) +
              ", but a graph that was captured with it lives on: " + what(draft.earlier()) + " uses it at each launch");
    draft.note(draft.earlier().where, memory + " becomes part of the graph here", lane(draft.earlier().stream));
    draft.note_origin(hazard.buffer, "");
    draft.advise("keep the memory as long as the graph can be launched");
    return;
  }
  if (hazard.which == CheckCase::UseAfterFree) {
    const bool named = !hazard.buffer.name.empty();
    draft.say(what(draft.later()) + on_stream(draft.later().stream) + " " + may_do(draft.later().mode) + " " +
              (named ? memory : "memory") + " after " + what(draft.earlier()) + on_stream(draft.earlier().stream) +
              " has freed it");
    draft.note(draft.earlier().where,
               (named ? memory : "the memory") + " is freed here" + on_stream(draft.earlier().stream),
               lane(draft.earlier().stream));
    draft.note_origin(hazard.buffer, "");
    if (draft.later().work == ir::Work::GraphLaunch)
      return draft.advise("make the graph anew once its memory is freed, or keep the memory while it can be launched");
    draft.advise("free it after the last use, on " + its_stream(draft.later()) + " or on a stream that waits for it");
    return;
  }
  draft.say(memory + " is freed by " + what(draft.later()) + on_stream(draft.later().stream) + while_at_work(draft));
  note_other_side(draft, memory);
  if (draft.later().stream.name.empty()) {
    synchronise_first(draft, "it is freed");
  } else {
    draft.advise("free it on " + its_stream(draft.earlier()) + ", or let " + its_stream(draft.later()) +
                 " wait for it first: record an event in " + its_stream(draft.earlier()) + " after " +
                 act(draft.earlier()) + " and use " + draft.dialect().wait_event);
  }
}

template <>
void words_of<Check::MissingRecordStream>(Draft& draft) {
  const Hazard& hazard = draft.hazard();
  const std::string memory = hazard.buffer.name.empty() ? "a tensor" : "tensor " + buffer(hazard.buffer);
  const std::string home = its_stream(draft.later());
  draft.say("memory of " + memory + " is returned to the allocator, which may reuse it on " + home + "," +
            while_at_work(draft));
  note_other_side(draft, memory);
  draft.advise("call record_stream(" + lane(draft.earlier().stream) +
               ") on the tensor after its last use there, or let " + home + " wait for " + its_stream(draft.earlier()) +
               " before the tensor is released");
}

}  // namespace streamsan::analyzer::wording
