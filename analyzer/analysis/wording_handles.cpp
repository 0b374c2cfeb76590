// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Words for handles that are used in a wrong state: events not recorded, recorded twice or without timing, streams and
// events after their end, calls that a capture does not allow.
#include "analyzer/analysis/wording_parts.h"

namespace streamsan::analyzer::wording {
namespace {

void word_wait(Draft& draft) {
  const Hazard& hazard = draft.hazard();
  const std::string waiter = stream(draft.later().stream);
  const std::string name = event(hazard.event);
  if (hazard.which == CheckCase::OwnStream) {
    draft.say((waiter.empty() ? "a stream" : waiter) + " waits for " + name +
              ", which it recorded itself: work on another stream, which it seems to be meant for, is not waited for");
    draft.note_edge(name + " is recorded here");
    return draft.advise("record " + name + " in the stream whose work is to be waited for, after that work");
  }
  if (hazard.which == CheckCase::FailingRecord) {
    draft.say("the record of " + name + (waiter.empty() ? std::string() : " in " + waiter) +
              " fails: " + hazard.detail + "; who waits for the event then waits for nothing");
    draft.note_origin(hazard.event, "event");
    return draft.advise("create an event for each device, and record that of the stream's device");
  }
  if (hazard.which == CheckCase::Nowhere) {
    draft.say((waiter.empty() ? what(draft.later()) : waiter) + " waits for " + name +
              ", which nothing ever records: the wait does nothing");
    draft.note_origin(hazard.event, "event");
    return draft.advise("record " + name + " with " + draft.dialect().record_event +
                        " behind the work that is to be waited for");
  }
  draft.say(waiter.empty() ? what(draft.later()) + " waits for nothing: " + name + " was never recorded"
                           : waiter + " waits for " + name + ", which was never recorded: the wait does nothing");
  if (hazard.which == CheckCase::AnotherDevice) {
    draft.note_edge("this record fails: " + name + " was created on another device than the stream");
    draft.note_origin(hazard.event, "event");
    return draft.advise("create " + name + " on the device of the stream that it is recorded in");
  }
  draft.note_edge(name + " is recorded only here, after the wait");
  draft.note_origin(hazard.event, "event");
  draft.advise("record " + name + " with " + draft.dialect().record_event + " before the wait");
}

}  // namespace

template <>
void words_of<Check::EventWaitWithoutRecord>(Draft& draft) {
  draft.hazard().earlier ? word_race(draft) : word_wait(draft);
}

template <>
void words_of<Check::EventNeverWaited>(Draft& draft) {
  const std::string name = event(draft.hazard().event);
  if (draft.hazard().edge) {
    draft.say(name + " of another process is opened and destroyed, and nothing waits for it in between");
    draft.note_edge(name + " is opened here");
    return draft.advise("let the stream that uses the other process's memory wait for " + name + " with " +
                        draft.dialect().wait_event);
  }
  draft.say(name + " is recorded" + on_stream(draft.later().stream) +
            ", but nothing ever waits for it: what should come after the work before it does not");
  draft.advise("wait for " + name + " with " + draft.dialect().wait_event + " or " + draft.dialect().synchronize_event +
               " where the work is used, or its memory is written again");
}

template <>
void words_of<Check::EventRerecord>(Draft& draft) {
  const Hazard& hazard = draft.hazard();
  const Action& first = draft.earlier();
  const std::string name = event(hazard.event);
  draft.say(name + " is recorded again" + on_stream(draft.later().stream) + " before anything waited for its record" +
            on_stream(first.stream) + ": a wait covers only the last record");
  draft.note(first.where, name + " is recorded here first" + on_stream(first.stream), lane(first.stream));
  draft.note_edge("this wait does not cover what " +
                  (first.stream.name.empty() ? "the first stream" : stream(first.stream)) + " did");
  draft.note_origin(hazard.event, "event");
  draft.advise("use one event for each record, or wait for the first before this one");
}

template <>
void words_of<Check::HandleUseAfterDestroy>(Draft& draft) {
  const Hazard& hazard = draft.hazard();
  const bool is_event = !hazard.event.name.empty();
  const Thing& handle = is_event ? hazard.event : draft.later().stream;
  const std::string name = is_event ? event(handle) : handle.name.empty() ? "a handle" : stream(handle);
  draft.say(name + " is used by " + (is_host(draft.later()) ? "this call" : what(draft.later())) +
            " after it was destroyed");
  if (hazard.earlier) {
    draft.note(draft.earlier().where, name + " is destroyed here");
  }
  draft.note_origin(handle, is_event ? "event" : "stream");
}

template <>
void words_of<Check::CaptureUnsafeCall>(Draft& draft) {
  const Hazard& hazard = draft.hazard();
  const std::string captured = hazard.earlier ? stream(draft.earlier().stream) : std::string{};
  if (hazard.which == CheckCase::NotJoined) {
    const std::string fork = named_stream(draft.later().stream, "another stream");
    draft.say("the capture" + (captured.empty() ? "" : " of " + captured) + " ends while work on " + fork +
              " is part of it that " + (captured.empty() ? "the stream" : captured) + " has not waited for");
    draft.note_edge("this work is not joined", lane(draft.later().stream));
    draft.note(draft.earlier().where, "the capture begins here", lane(draft.earlier().stream));
    return draft.advise("record an event in " + fork + " after its last work, and let " +
                        (captured.empty() ? "the captured stream" : captured) + " wait for it before the end");
  }
  const bool runs_at_once = hazard.which == CheckCase::NotInGraph;
  draft.say(what(draft.later()) + (runs_at_once ? " does not become part of the graph" : " is not allowed") +
            " while " + (captured.empty() ? "a stream" : captured) + " is captured" +
            (hazard.detail.empty() ? "" : ": " + hazard.detail));
  if (hazard.earlier) {
    draft.note(draft.earlier().where, "the capture begins here", lane(draft.earlier().stream));
  }
  draft.note_edge("the capture ends here");
  if (runs_at_once)
    return draft.advise("move it out of the capture, or into " + (captured.empty() ? "the captured stream" : captured) +
                        "; it runs at once, or is refused if that is a blocking stream");
  draft.advise("move it out of the capture; it would not be part of the graph");
}

template <>
void words_of<Check::EventTimingMisuse>(Draft& draft) {
  const Hazard& hazard = draft.hazard();
  const std::string name = event(hazard.event);
  const std::string call = what(draft.later());
  if (hazard.which == CheckCase::NoTiming) {
    draft.say(call + " of " + name + ", which was created without timing, fails");
    draft.note_origin(hazard.event, "event");
    draft.advise("create the event without the flag that disables timing");
  } else if (hazard.which == CheckCase::NotRecorded) {
    draft.say(call + " of " + name + ", which was never recorded, fails");
    draft.note_edge(name + " is recorded only here");
    draft.note_origin(hazard.event, "event");
    draft.advise("record " + name + " with " + draft.dialect().record_event + " before");
  } else {
    draft.say(call + " of " + name + ", which may not be complete: nothing has waited for it");
    if (hazard.earlier) {
      draft.note(draft.earlier().where, name + " is recorded here" + on_stream(draft.earlier().stream),
                 lane(draft.earlier().stream));
    }
    draft.note_origin(hazard.event, "event");
    const Dialect& dialect = draft.dialect();
    draft.advise("wait for " + name + " with " + dialect.synchronize_event + " before");
    draft.insert_before_later(dialect.synchronize_event + "(" + spelling(hazard.event, dialect) + ");", {hazard.event});
  }
}

}  // namespace streamsan::analyzer::wording
