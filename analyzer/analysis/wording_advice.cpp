// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Words for code that is correct but slow, and for policy. Each message says what to use instead; if that is a piece of
// code, it is also the repair.
#include "analyzer/analysis/wording_parts.h"

namespace streamsan::analyzer::wording {

template <>
void words_of<Check::ImplicitDefaultStream>(Draft& draft) {
  const Thing in_scope{.name = draft.hazard().detail, .stream_kind = {}, .memory_kind = {}, .origin = {}};
  draft.say(what(draft.later()) + " goes to the default stream although " +
            (in_scope.name.empty() ? "a stream" : stream(in_scope)) + " is in scope");
  draft.note_edge(stream(in_scope) + " is created here", lane(in_scope));
  const std::string text = spelling(in_scope, draft.dialect());
  if (!text.empty() && draft.later().where.site.stream_begin != 0) {
    draft.repair(Fix::Kind::PassStream, text, {text});
  }
}

template <>
void words_of<Check::OmittedStream>(Draft& draft) {
  const Thing given{.name = draft.hazard().detail, .stream_kind = {}, .memory_kind = {}, .origin = {}};
  const std::string name = named_stream(given, "the stream of the work around it");
  if (draft.hazard().earlier) {
    const std::string other = what(draft.earlier());
    draft.say(what(draft.later()) + " goes to the default stream, not to " +
              (given.name.empty() ? "that of " + other : name + " as " + other) +
              " on the same memory: nothing orders the two if that stream does not wait for the default one");
    draft.note(draft.earlier().where, other + " goes to " + named_stream(given, "another stream"), lane(given));
    draft.advise("use the form that takes a stream, and pass " + name);
    return;
  }
  const bool never_set = draft.hazard().which == CheckCase::NeverSet;
  const std::string field = "'" + draft.later().stream.name + "'";
  draft.say(what(draft.later()) + " goes to the default stream, not to " + name + ": " +
            (never_set ? field + " is never set" : "its stream argument is left out"));
  draft.advise((never_set ? "set " + field + " to " : "pass ") + name + "; if the default stream is meant, write 0");
}

template <>
void words_of<Check::DeviceWideSync>(Draft& draft) {
  const Hazard& hazard = draft.hazard();
  const std::string one = stream(draft.later().stream);
  const std::string call = what(draft.later());
  if (one.empty()) {
    draft.say(call + " waits for the whole device where only " +
              (hazard.detail.empty() ? "some streams" : "streams " + hazard.detail) + " can have work");
    draft.advise("wait for each of them with " + draft.dialect().synchronize_stream + ", or for an event in each");
    return;
  }
  draft.say(call + " waits for the whole device where only " + one + " can have work");
  if (hazard.earlier) {
    draft.note(draft.earlier().where, what(draft.earlier()) + " is the last work on " + one,
               lane(draft.later().stream));
  }
  draft.note_origin(draft.later().stream, "stream");
  const std::string name = spelling(draft.later().stream, draft.dialect());
  const std::string text =
      hazard.detail.empty() && !name.empty() ? draft.dialect().synchronize_stream + "(" + name + ")" : hazard.detail;
  if (text.empty()) {
    draft.advise("wait for " + one + " with " + draft.dialect().synchronize_stream);
    return;
  }
  draft.advise("'" + text + "' waits for the same work");
  if (!name.empty()) {
    draft.repair(Fix::Kind::ReplaceCall, text,
                 name == draft.later().stream.name ? std::vector{name} : std::vector<std::string>{});
  }
}

template <>
void words_of<Check::RedundantSync>(Draft& draft) {
  const Hazard& hazard = draft.hazard();
  if (hazard.edge && !hazard.earlier) {
    const std::string next = hazard.edge->site.text.empty() ? "the call after it" : hazard.edge->site.text;
    draft.say(what(draft.later()) + on_stream(draft.later().stream) + " is not needed: " + next +
              " waits for the same work");
    draft.note_edge(next + " is called here");
  } else {
    draft.say(what(draft.later()) + on_stream(draft.later().stream) +
              " is not needed: nothing was enqueued since the last synchronisation");
    if (hazard.earlier) {
      draft.note(draft.earlier().where, what(draft.earlier()) + " has waited for the same work here");
    }
  }
  draft.repair(Fix::Kind::RemoveStatement, {});
}

template <>
void words_of<Check::SyncInLoop>(Draft& draft) {
  draft.say(what(draft.later()) + on_stream(draft.later().stream) +
            " in every iteration of a loop: the device is idle while the host prepares the next one");
  draft.note_edge("the loop is here");
  draft.advise("synchronise after the loop, or let streams wait for events with " + draft.dialect().wait_event);
}

template <>
void words_of<Check::AllocInLoop>(Draft& draft) {
  const Hazard& hazard = draft.hazard();
  const std::string memory = hazard.buffer.name.empty() ? "" : " of " + buffer(hazard.buffer);
  draft.say(what(draft.later()) + memory + " in every iteration of a loop may synchronise the device");
  draft.note_edge("the loop is here");
  draft.advise("allocate before the loop and free after it, or use stream-ordered memory");
}

template <>
void words_of<Check::PageableAsyncCopy>(Draft& draft) {
  const Hazard& hazard = draft.hazard();
  draft.say(what(draft.later()) + on_stream(draft.later().stream) + " of pageable memory " +
            (hazard.buffer.name.empty() ? "" : buffer(hazard.buffer) + " ") +
            "may block the host and does not overlap with other work");
  draft.note_origin(hazard.buffer, "");
  draft.advise("use pinned memory, from " + draft.dialect().allocate_pinned);
}

template <>
void words_of<Check::SelfWait>(Draft& draft) {
  const Hazard& hazard = draft.hazard();
  const std::string own = stream(draft.later().stream);
  draft.say((own.empty() ? "a stream" : own) + " waits for " + event(hazard.event) +
            ", which it recorded itself: the wait does nothing");
  if (hazard.earlier) {
    draft.note(draft.earlier().where, event(hazard.event) + " is recorded here" + on_stream(draft.earlier().stream),
               lane(draft.earlier().stream));
  }
  draft.repair(Fix::Kind::RemoveStatement, {});
}

}  // namespace streamsan::analyzer::wording
