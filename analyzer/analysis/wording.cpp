// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// From a hazard to what the user reads: one message, notes in the order a reader needs them, and a repair where one is
// certain.
//
// The style is clang-tidy's: lower case, no full stop, names from the source in single quotes. A message says both
// sides of a conflict and the memory. The notes say where the other side is, which edge exists and why it does not
// help, where streams and memory come from, and last what would help. Latent hazards name the rule of docs/model.md
// that the program relies on without knowing.
//
// Each check has its words in one of wording_races.cpp, wording_host.cpp, wording_handles.cpp, wording_dependents.cpp
// and wording_advice.cpp; this file calls them, and has the draft that they all write on.
#include <algorithm>

#include "analyzer/analysis/wording_parts.h"

namespace streamsan::analyzer {

namespace {

constexpr void (*kWords[])(wording::Draft&) = {
#define SS_CHECK(enumerator, id, group, summary) &wording::words_of<Check::enumerator>,
#include "analyzer/analysis/checks.def"
#undef SS_CHECK
};

}  // namespace

Finding word(const Hazard& hazard) {
  wording::Draft draft(hazard);
  kWords[static_cast<std::size_t>(hazard.check)](draft);
  return draft.take();
}

namespace wording {
namespace {

bool same_place(const ir::Site& a, const ir::Site& b) {
  return a.file == b.file && a.line == b.line && a.column == b.column && a.begin == b.begin;
}

Dialect dialect_of(ir::Api api) {
  switch (api) {
    case ir::Api::None:
    case ir::Api::Runtime:
      return {};
    case ir::Api::Driver:
      return {"cuStreamSynchronize", "cuStreamWaitEvent",    "cuEventRecord", "cuEventSynchronize",
              "CU_STREAM_LEGACY",    "CU_STREAM_PER_THREAD", "cuMemAllocHost"};
    case ir::Api::Hip:
      return {"hipStreamSynchronize", "hipStreamWaitEvent", "hipEventRecord", "hipEventSynchronize",
              "hipStreamLegacy",      "hipStreamPerThread", "hipHostMalloc"};
  }
  return {};
}

/// The API that the program uses at the hazard: that of the first call that has one.
ir::Api api_of(const Hazard& hazard) {
  std::vector<const Where*> calls{&hazard.later.where};
  if (hazard.earlier) {
    calls.push_back(&hazard.earlier->where);
  }
  if (hazard.edge) {
    calls.push_back(&*hazard.edge);
  }
  for (const Thing* thing :
       {&hazard.later.stream, hazard.earlier ? &hazard.earlier->stream : nullptr, &hazard.event, &hazard.buffer}) {
    if (thing != nullptr && thing->origin) {
      calls.push_back(&*thing->origin);
    }
  }
  const auto known = std::ranges::find_if(calls, [](const Where* call) { return call->site.api != ir::Api::None; });
  return known == calls.end() ? ir::Api::None : (*known)->site.api;
}

/// At a call; `inside` is what was reached through it.
std::string in_call(const ir::Site& call, const ir::Site& inside) {
  switch (call.kind) {
    case ir::Site::Kind::Call:
      break;
    case ir::Site::Kind::Launch:
      return call.text + " is launched here";
    case ir::Site::Kind::ScopeEnd:
      return call.text + " here";
  }
  return "in the call to " + quoted(inside.function) + " here";
}

/// What makes a function's own finding of the operation, if one call led to both; nullptr: it stands alone.
const Where* other_side(const Hazard& hazard) {
  if (hazard.earlier) return &hazard.earlier->where;
  if (hazard.edge) return &*hazard.edge;
  return hazard.event.origin ? &*hazard.event.origin : nullptr;
}

std::string origin_verb(const Thing& thing) {
  if (thing.origin->site.text.empty() && !thing.by_class) {
    return "is declared";
  }
  return thing.memory_kind || thing.allocated ? "is allocated" : "is created";
}

}  // namespace

Draft::Draft(const Hazard& hazard) : hazard_(hazard), dialect_(dialect_of(api_of(hazard))) {
  finding_.check = hazard.check;
  finding_.level = hazard.level;
  std::vector<ir::Site> mine = hazard.later.where.calls;
  finding_.depth = mine.size();
  if (const Where* other = other_side(hazard)) {
    std::vector<ir::Site> theirs = other->calls;
    if (hazard.earlier) finding_.depth += theirs.size();
    while (!mine.empty() && !theirs.empty() && same_place(mine.back(), theirs.back())) {
      context_.insert(context_.begin(), mine.back());
      mine.pop_back();
      theirs.pop_back();
    }
  }
  const std::vector<ir::Site> way = stripped(hazard.later.where);
  const auto here = std::find_if(way.begin(), way.end(), [&](const ir::Site& site) {
    return site.file == way.back().file && (site.begin != 0 || way.back().begin == 0);
  });
  stand_ = static_cast<std::size_t>(here - way.begin());
  finding_.site = *here;
  if (finding_.site.begin == 0) {
    // Read from another translation unit's summary: the nearest call that is written in this one.
    const auto call = std::find_if(context_.begin(), context_.end(), [](const ir::Site& s) { return s.begin != 0; });
    if (call != context_.end()) {
      finding_.site = *call;
    }
  }
  finding_.function = finding_.site.function.empty() ? hazard.function : finding_.site.function;
  finding_.lanes.push_back(lane(hazard.later.stream));
  finding_.sites = {way.front(), way.back()};
  if (hazard.earlier) {
    const std::vector<ir::Site> other = stripped(hazard.earlier->where);
    finding_.sites.insert(finding_.sites.end(), {other.front(), other.back()});
  } else if (hazard.edge) {
    finding_.sites.push_back(hazard.edge->site);
  }
}

std::vector<ir::Site> Draft::stripped(const Where& where) const {
  std::vector<ir::Site> way{where.site};
  way.insert(way.end(), where.calls.begin(), where.calls.end());
  for (auto call = context_.rbegin(); call != context_.rend() && way.size() > 1 && same_place(way.back(), *call);
       ++call) {
    way.pop_back();
  }
  return way;
}

void Draft::say(std::string message) {
  switch (hazard_.level) {
    case Level::Definite:
    case Level::Likely:
      break;
    case Level::Latent:
      message += "; only undocumented behaviour of today's driver prevents it";
      if (!hazard_.rule.empty()) {
        message += " (" + hazard_.rule + ")";
      }
      break;
    case Level::Maybe:
      message += hazard_.condition.empty() ? ", on some path" : ", if " + hazard_.condition;
      break;
  }
  finding_.message = std::move(message);

  const std::vector<ir::Site> way = stripped(hazard_.later.where);
  const std::string mine = finding_.lanes.front();
  if (stand_ > 0) {
    const bool launched = hazard_.later.work == ir::Work::Kernel || hazard_.later.work == ir::Work::GraphLaunch;
    add_note(way.front(),
             is_host(hazard_.later) ? "the host does it here"
                                    : what(hazard_.later) + (launched ? " is launched here" : " is called here"),
             mine);
  }
  for (std::size_t i = 1; i < way.size(); ++i) {
    if (i != stand_) {
      add_note(way[i], in_call(way[i], way[i - 1]), mine);
    }
  }
}

void Draft::add_note(const ir::Site& site, std::string message, const std::string& note_lane) {
  if (site.line == 0 && site.begin == 0) {
    return;
  }
  const bool noted = std::any_of(finding_.notes.begin(), finding_.notes.end(), [&](const Note& known) {
    return known.message == message && same_place(known.site, site);
  });
  if (!noted) {
    finding_.notes.push_back({std::move(message), site});
    finding_.lanes.push_back(note_lane);
  }
}

void Draft::note(const Where& where, std::string message, const std::string& note_lane) {
  const std::vector<ir::Site> way = stripped(where);
  add_note(way.front(), std::move(message), note_lane);
  for (std::size_t i = 1; i < way.size(); ++i) {
    add_note(way[i], in_call(way[i], way[i - 1]), note_lane);
  }
}

void Draft::note_edge(std::string message, const std::string& note_lane) {
  if (hazard_.edge) {
    note(*hazard_.edge, std::move(message), note_lane);
  }
}

void Draft::note_origin(const Thing& thing, const char* noun) {
  if (!thing.origin || thing.name.empty()) {
    return;
  }
  // A check that has evidence at the same place says more there.
  const bool is_evidence = std::any_of(hazard_.evidence.begin(), hazard_.evidence.end(), [&](const Evidence& evidence) {
    return same_place(evidence.where.site, thing.origin->site);
  });
  if (thing.by_class && is_evidence) {
    return;
  }
  // "the current stream" needs no noun.
  const Named subject = named(thing);
  std::string text = (*noun == '\0' || subject.described ? "" : std::string(noun) + " ") + subject.quoted() + " " +
                     origin_verb(thing) + " here";
  if (thing.stream_kind == ordering::StreamKind::NonBlocking) {
    text += " (non-blocking)";
  }
  note(*thing.origin, std::move(text));
}

void Draft::advise(std::string message) {
  finding_.notes.push_back({std::move(message), finding_.site});
  finding_.lanes.push_back(finding_.lanes.front());
}

void Draft::insert_before_later(std::string text, std::initializer_list<Thing> names) {
  std::vector<std::string> spelled;
  for (const Thing& thing : names) {
    const std::string name = spelling(thing, dialect_);
    if (name.empty()) {
      return;
    }
    if (thing.name == name) {
      spelled.push_back(name);
    }
  }
  const ir::Site& site = hazard_.later.where.site;
  // Before the statement is too early if the other side is part of it.
  const bool in_it = hazard_.earlier && hazard_.earlier->where.site.begin >= site.statement &&
                     hazard_.earlier->where.site.begin <= site.statement_end;
  if (site.statement != 0 && !in_it) {
    repair(Fix::Kind::InsertBefore, std::move(text), std::move(spelled));
  }
}

void Draft::repair(Fix::Kind kind, std::string text, std::vector<std::string> names) {
  const bool inlined = !hazard_.later.where.calls.empty() ||
                       (hazard_.earlier && (!hazard_.earlier->where.calls.empty() ||
                                            hazard_.earlier->where.site.function != hazard_.later.where.site.function));
  // A whole statement can be inserted or removed around a macro; within a macro no repair is certain.
  const bool in_statement = kind == Fix::Kind::ReplaceCall || kind == Fix::Kind::PassStream;
  if (inlined || hazard_.level == Level::Maybe || hazard_.level == Level::Likely ||
      (in_statement && hazard_.later.where.site.in_macro)) {
    return;
  }
  finding_.fixes.push_back({kind, hazard_.later.where.site, std::move(text), std::move(names)});
}

Finding Draft::take() {
  const std::vector<ir::Site> way = stripped(hazard_.later.where);
  for (const Evidence& evidence : hazard_.evidence) {
    note(evidence.where, evidence.what);
  }
  for (std::size_t i = 0; i < context_.size(); ++i) {
    add_note(context_[i], in_call(context_[i], i == 0 ? way.back() : context_[i - 1]), kHostLane);
  }
  return std::move(finding_);
}

}  // namespace wording
}  // namespace streamsan::analyzer
