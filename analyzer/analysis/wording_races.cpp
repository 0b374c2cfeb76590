// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Words for two streams that conflict on memory: cross-stream-race, nonblocking-vs-default, and
// event-wait-without-record where the wait should have ordered two accesses.
//
// The notes answer, in this order: where is the other access; which edge exists, and why does it not help; where do the
// streams and the memory come from; and what would help. The cause decides the second answer and the last.
#include "analyzer/analysis/wording_parts.h"

namespace streamsan::analyzer::wording {
namespace {

struct TwoStreams {
  std::string first;   ///< the stream of the earlier work
  std::string second;  ///< the stream of the later work
  bool says_iterations = false;
};

/// The two names always differ: two elements of an array may be spelt alike, and so may two streams of two callers.
TwoStreams names_of(const Draft& draft) {
  TwoStreams out{.first = named_stream(draft.earlier().stream, "the stream of that work"),
                 .second = named_stream(draft.later().stream, "the stream of this work")};
  if (out.first != out.second) return out;
  if (draft.hazard().cause == Cause::OtherIteration) {
    out.first += " of that iteration";
    out.second += " of the next one";
    out.says_iterations = true;
    return out;
  }
  out.first = "the stream of " + what(draft.earlier());
  out.second = "the stream of " + what(draft.later());
  if (out.first == out.second)
    out = {.first = "the stream of the earlier work", .second = "the stream of the later work"};
  return out;
}

/// A note at the existing edge, which says why it does not help. Some causes have none.
void note_cause(Draft& draft) {
  const Hazard& hazard = draft.hazard();
  const auto [first, second, says_iterations] = names_of(draft);
  const std::string action = act(draft.earlier());
  const std::string lane_first = lane(draft.earlier().stream);
  const std::string lane_second = lane(draft.later().stream);
  const std::string name = event(hazard.event);
  switch (hazard.cause) {
    case Cause::SyncTooEarly:  // only a run shows these
    case Cause::OtherDevice:
    case Cause::DependentLaunch:
    case Cause::LaunchEvent:
    case Cause::SourceOrder:
    case Cause::NoPathInGraph:
    case Cause::NoEdge:
    case Cause::NonBlocking:
    case Cause::OtherIteration:
      break;
    case Cause::OnlyOnSomePaths:
      draft.note_edge("this orders them, but only on some of the paths that lead there");
      break;
    case Cause::RecordedTooEarly:
      draft.note_edge(name + " is recorded here, before " + action + ": a wait for it does not cover " + action,
                      lane_first);
      break;
    case Cause::NeverRecorded:
      draft.note_edge("the wait for " + name + " here does nothing: the event was never recorded", lane_second);
      break;
    case Cause::RecordedElsewhere:
      draft.note_edge(name + " is recorded here, in another stream than " + first + ": it does not cover " + action);
      break;
    case Cause::WaitElsewhere:
      draft.note_edge("it is another stream than " + second + " that waits for " + name + " here");
      break;
    case Cause::WaitAfter:
      draft.note_edge("this comes too late: " + what(draft.later()) + " is enqueued already");
      break;
    case Cause::OtherStreamSynced:
      draft.note_edge("this waits for another stream than " + first);
      break;
    case Cause::NeverWaited:
      draft.note_edge(name + " is recorded here, after " + action + ", but " + second + " does not wait for it",
                      lane_first);
      break;
  }
}

void advise_order(Draft& draft) {
  const Hazard& hazard = draft.hazard();
  const auto [first, second, says_iterations] = names_of(draft);
  const std::string action = act(draft.earlier());
  const std::string before = " before " + what(draft.later());
  const std::string& wait = draft.dialect().wait_event;
  const std::string record_and_wait = "record " + event(hazard.event) + " in " + first + " after " + action +
                                      " and let " + second + " wait for it with " + wait + before;
  switch (hazard.cause) {
    case Cause::RecordedTooEarly:
      draft.advise("record " + event(hazard.event) + " in " + first + " after " + action + ", before " + second +
                   " waits for it");
      break;
    case Cause::NeverRecorded:
    case Cause::RecordedElsewhere:
      draft.advise("record " + event(hazard.event) + " in " + first + ", after " + action + " and before the wait");
      break;
    case Cause::WaitElsewhere:
    case Cause::NeverWaited:
      draft.advise("let " + second + " wait for " + event(hazard.event) + " with " + wait + before);
      break;
    case Cause::WaitAfter:
      draft.advise("nothing orders " + second + " after " + first + " in time: wait" + before);
      break;
    case Cause::OnlyOnSomePaths:
      draft.advise("let " + second + " wait for " + first + " on every path" + before);
      break;
    case Cause::OtherIteration:
      draft.advise(what(draft.earlier()) + " may be that of an earlier iteration: " + record_and_wait +
                   (says_iterations ? "" : " of the next iteration"));
      break;
    case Cause::NonBlocking: {
      const bool later_is_default = draft.later().stream.stream_kind != ordering::StreamKind::NonBlocking;
      draft.advise((later_is_default ? second + " does not wait for " + first + ", which is non-blocking"
                                     : second + " is non-blocking: it does not wait for " + first) +
                   "; " + record_and_wait);
      break;
    }
    case Cause::SourceOrder:
      draft.advise(
          "the batch may read this source out of stream order, as its srcAccessOrder says: give it "
          "cudaMemcpySrcAccessOrderStream, or let the host wait for " +
          action + " first");
      break;
    case Cause::SyncTooEarly:  // only a run shows these
    case Cause::OtherDevice:
    case Cause::DependentLaunch:
    case Cause::LaunchEvent:
    case Cause::NoPathInGraph:
    case Cause::NoEdge:
    case Cause::OtherStreamSynced:
      draft.advise("nothing orders " + second + " after " + first + ": " + record_and_wait);
      break;
  }
}

std::string clause(const Hazard& hazard) {
  if (hazard.check != Check::EventWaitWithoutRecord) {
    return {};
  }
  switch (hazard.cause) {
    case Cause::NeverRecorded:
      return ": " + event(hazard.event) + ", which it waits for, was never recorded";
    case Cause::RecordedTooEarly:
      return ": " + event(hazard.event) + ", which it waits for, was recorded before that";
    case Cause::RecordedElsewhere:
      return ": " + event(hazard.event) + ", which it waits for, was recorded in another stream";
    default:
      return {};
  }
}

/// A function that lacks one of the two edges to its caller's stream (duties.h).
void word_duty(Draft& draft) {
  const Hazard& hazard = draft.hazard();
  const std::string mine = named_stream(draft.later().stream, "the function's own stream");
  const std::string callers = named_stream(draft.earlier().stream, "the caller's stream");
  const std::string& function = hazard.function;
  if (hazard.which == CheckCase::NotForked) {
    draft.say(what(draft.later()) + on_stream(draft.later().stream) + " may read " + buffer(hazard.buffer) +
              " before it is written: what '" + function + "' is given is ready on " + callers + ", which " + mine +
              " does not wait for");
    draft.note(draft.earlier().where, "work that was enqueued on " + callers + " before this function may still run",
               lane(draft.earlier().stream));
    draft.note_edge(callers + " waits here for " + mine + ": the way back is there", lane(draft.earlier().stream));
    draft.note_origin(draft.later().stream, "stream");
    return draft.advise("record an event in " + callers + " and let " + mine + " wait for it with " +
                        draft.dialect().wait_event + " before " + what(draft.later()));
  }
  draft.say(what(draft.later()) + on_stream(draft.later().stream) + " may still write " + buffer(hazard.buffer) +
            " when '" + function + "' has returned: nothing lets " + callers + " wait for it");
  draft.note_edge(mine + " waits here for " + callers + ": the way there is there", lane(draft.later().stream));
  draft.note(draft.earlier().where, "work that is enqueued on " + callers + " after this function does not wait",
             lane(draft.earlier().stream));
  draft.note_origin(draft.later().stream, "stream");
  draft.advise("record an event in " + mine + " after " + what(draft.later()) + " and let " + callers +
               " wait for it with " + draft.dialect().wait_event + " before '" + function + "' returns");
}

/// Words for an access of a message-passing library, which lasts until its request is complete.
void word_message(Draft& draft) {
  const Hazard& hazard = draft.hazard();
  const Action& later = draft.later();
  const Action& earlier = draft.earlier();
  const std::string request = named_stream(earlier.stream, "its request");
  draft.say(what(later) + on_stream(later.stream) + " " + may_do(later.mode) + " " + buffer(hazard.buffer) + " while " +
            what(earlier) + " " + still_does(earlier) + " it: nothing has completed " + request);
  draft.note(earlier.where,
             buffer(hazard.buffer) + " " + is_done(earlier) + " from here on, until " + request + " is complete",
             kHostLane);
  draft.note_origin(hazard.buffer, "");
  draft.advise("complete " + request + " with MPI_Wait before " + what(later) +
               ": the library knows no stream, and no stream waits for it");
}

}  // namespace

void word_race(Draft& draft) {
  const Hazard& hazard = draft.hazard();
  if (hazard.which == CheckCase::Message) return word_message(draft);
  if (hazard.which == CheckCase::NotForked || hazard.which == CheckCase::NotJoined) return word_duty(draft);
  const Action& later = draft.later();
  const Action& earlier = draft.earlier();
  const bool kinds = hazard.check == Check::NonblockingVsDefault;
  const bool iteration = hazard.cause == Cause::OtherIteration;
  draft.say(what(later) + on_stream(later.stream, kinds) + " " + may_do(later.mode) + " " + buffer(hazard.buffer) +
            " while " + what(earlier) + on_stream(earlier.stream, kinds) +
            (iteration ? ", in an earlier iteration," : "") + " " + still_does(earlier) + " it" + clause(hazard));

  draft.note(earlier.where, buffer(hazard.buffer) + " " + is_done(earlier) + " here" + comma(on_stream(earlier.stream)),
             lane(earlier.stream));
  if (hazard.level == Level::Definite && !hazard.rule.empty()) {
    draft.note(earlier.where, what(earlier) + " returns when its work may still be running (" + hazard.rule + ")",
               lane(earlier.stream));
  }
  note_cause(draft);
  draft.note_origin(earlier.stream, "stream");
  draft.note_origin(later.stream, "stream");
  draft.note_origin(hazard.buffer, "");
  advise_order(draft);

  // The event covers the earlier access already: a wait is all that is missing.
  if (hazard.cause == Cause::NeverWaited || hazard.cause == Cause::WaitElsewhere) {
    const Dialect& dialect = draft.dialect();
    draft.insert_before_later(
        dialect.wait_event + "(" + spelling(later.stream, dialect) + ", " + spelling(hazard.event, dialect) + ", 0);",
        {later.stream, hazard.event});
  }
}

template <>
void words_of<Check::CrossStreamRace>(Draft& draft) {
  word_race(draft);
}

template <>
void words_of<Check::NonblockingVsDefault>(Draft& draft) {
  word_race(draft);
}

}  // namespace streamsan::analyzer::wording
