// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// One op on a line: what shape() in words.cpp tells to expect, then attributes, then where it stands.
#include "analyzer/ir/parse_ops.h"

#include <utility>

#include "analyzer/ir/words.h"

namespace streamsan::analyzer::ir {
namespace {

constexpr std::uint32_t kLongestCallChain = 100;

TypeKind created(OpKind kind) {
  switch (kind) {
    case OpKind::CreateStream:
      return TypeKind::Stream;
    case OpKind::CreateEvent:
      return TypeKind::Event;
    case OpKind::Allocate:
      return TypeKind::Pointer;
    default:
      return TypeKind::Other;
  }
}

void work(Cursor& line, Op& op) {
  const auto work = find<Work>(line.peek_word());
  if (!work) {
    line.fail("kernel, copy, fill, library, communication, host_function, graph_launch or other expected");
  }
  line.word("work");
  op.work = *work;
}

bool flag(const std::string& word, Op& op) {
  if (const auto stream = find<ordering::StreamKind>(word)) {
    op.stream_kind = stream;
  } else if (const auto memory = find<ordering::MemoryKind>(word)) {
    op.memory = memory;
  } else if (word == "timing" || word == "no_timing") {
    op.timing = word == "timing";
  } else if (word == "tensor") {
    op.tensor = true;
  } else if (word == "synchronous") {
    op.form = Form::Synchronous;
  } else if (word == "implicit_stream") {
    op.implicit_stream = true;
  } else if (word == "unchecked") {
    op.unchecked = true;
  } else if (word == "relaxed") {
    op.relaxed = true;
  } else if (word == "pooled") {
    op.pooled = true;
  } else if (word == "of_object") {
    op.of_object = true;
  } else if (word == "transfers") {
    op.transfers = true;
  } else if (word == "of_tensors") {
    op.of_tensors = true;
  } else if (word == "limited") {
    op.limited = true;
  } else if (word == "for_value") {
    op.for_value = true;
  } else if (word == "host_only") {
    op.host_only = true;
  } else if (word == "programmatic" || word == "perhaps_programmatic") {
    op.programmatic = word == "programmatic" ? Certainty::Yes : Certainty::Perhaps;
  } else if (word == "waits" || word == "perhaps_waits") {
    op.waits = word == "waits" ? Certainty::Yes : Certainty::Perhaps;
  } else if (word == "triggers_first" || word == "perhaps_triggers_first") {
    op.triggers_first = word == "triggers_first" ? Certainty::Yes : Certainty::Perhaps;
  } else {
    return false;
  }
  return true;
}

}  // namespace

Op OpReader::op(Cursor& line, std::uint32_t number) {
  const auto kind = find<OpKind>(line.peek_word());
  if (!kind) {
    line.fail("no op or declaration of that name");
  }
  line.word("op");
  Op op{.kind = *kind};
  for (const char position : shape(*kind)) {
    operand(line, op, position);
  }
  if (op.kind == OpKind::Assign && op.target != kNoPlace && op.source.kind == Operand::Kind::Value) {
    places_.suggest(op.target, function_[op.source.place].type);
    places_.suggest(op.source.place, function_[op.target].type);
  }
  while (!line.at_end() && line.peek() != ';') {
    attribute(line, op);
    line.take(",");
  }
  if (!line.take(";")) {
    op.site = function_.add({.file = "ir", .line = number, .function = function_.name});
  } else if (!line.take("-")) {
    op.site = site(line);
  }
  return op;
}

void OpReader::operand(Cursor& line, Op& op, char position) {
  switch (position) {
    case 't':
      op.target = places_.target(line, created(op.kind));
      break;
    case 'v':
      if (!line.at_end() && line.peek() != ';') {
        op.source = places_.operand(line, TypeKind::Other);
      }
      break;
    case 's':
      op.stream = places_.operand(line, TypeKind::Stream);
      break;
    case 'e':
      op.event = places_.operand(line, TypeKind::Event);
      break;
    case 'f':
      op.event2 = places_.operand(line, TypeKind::Event);
      break;
    case 'w':
      work(line, op);
      op.name = line.text("name of what is enqueued");
      break;
    case 'c':
      call(line, op);
      break;
    default:
      line.expect("=");
  }
}

void OpReader::call(Cursor& line, Op& op) {
  if (line.peek() != '"') {
    op.target = places_.target(line, TypeKind::Other);
    line.expect("=");
  }
  op.callee = line.text("callee");
  arguments(line, op);
}

void OpReader::arguments(Cursor& line, Op& op) {
  line.expect("(");
  while (!line.take(")")) {
    op.arguments.push_back(places_.operand(line, TypeKind::Other));
    if (line.peek() != ')') {
      line.expect(",");
    }
  }
}

void OpReader::attribute(Cursor& line, Op& op) {
  const std::string word = line.word("attribute");
  if (const auto mode = find<Mode>(word)) {
    access(line, op, *mode);
  } else if (word == "on") {
    op.stream = places_.operand(line, TypeKind::Stream);
  } else if (word == "for") {
    op.event = places_.operand(line, TypeKind::Event);
  } else if (word == "to") {
    op.event2 = places_.operand(line, TypeKind::Event);
  } else if (word == "object") {
    op.object = places_.operand(line, TypeKind::Object);
  } else if (word == "source") {
    op.source = places_.operand(line, TypeKind::Other);
  } else if (word == "target") {
    op.target = places_.target(line, TypeKind::Other);
  } else if (word == "work") {
    work(line, op);
  } else if (word == "api") {
    op.name = line.text("name");
  } else if (word == "detail") {
    op.detail = line.text("detail");
  } else if (word == "callee") {
    op.callee = line.text("callee");
  } else if (word == "arguments") {
    arguments(line, op);
  } else if (!flag(word, op)) {
    line.fail("'" + word + "' is no attribute");
  }
}

Part OpReader::part(Cursor& line, Part::Kind kind) {
  Part result{.kind = kind};
  const char next = line.peek();
  if (next >= '0' && next <= '9') result.bytes = line.signed_number("bytes");
  return result;
}

void OpReader::access(Cursor& line, Op& op, Mode mode) {
  Access access{.memory = places_.operand(line, TypeKind::Pointer), .mode = mode};
  while (true) {
    if (line.take_word("bytes")) {
      access.bytes = places_.expr(line);
    } else if (line.take_word("pinned")) {
      access.pinned = true;
    } else if (line.take_word("pageable")) {
      access.pageable = true;
    } else if (line.take_word("by_data")) {
      access.by_data = true;
    } else if (line.take_word("somewhere")) {
      access.part = part(line, Part::Kind::Unknown);
    } else if (line.take_word("inside")) {
      access.part = part(line, Part::Kind::Inside);
    } else if (line.take_word("single")) {
      access.part = part(line, Part::Kind::Single);
    } else if (line.take_word("from")) {
      access.part = {.kind = Part::Kind::From, .arguments = line.number("bits")};
    } else if (line.take_word("on_host")) {
      access.on_host = true;
    } else if (line.take_word("on_device")) {
      access.on_host = false;
    } else if (const bool surely = line.peek_word() == "early"; surely || line.peek_word() == "perhaps_early") {
      access.before_wait = surely ? Certainty::Yes : Certainty::Perhaps;
      line.word("early");
      const auto early = find<Mode>(line.word("mode"));
      if (!early) {
        line.fail("'early' wants what is done");
      }
      access.early = early.value_or(Mode::Unknown);
    } else {
      break;
    }
  }
  op.accesses.push_back(access);
}

SiteId OpReader::site(Cursor& line, std::uint32_t depth) {
  if (depth > kLongestCallChain) {
    line.fail("chain of calls too long");
  }
  Site at;
  at.function = function_.name;
  at.file = line.file();
  line.expect(":");
  at.line = line.number("line number");
  if (line.take_adjacent(":")) {
    at.column = line.number("column");
  }
  if (line.take("\"")) {
    at.text = line.quoted('"');
  }
  for (const Site::Kind kind : {Site::Kind::Launch, Site::Kind::ScopeEnd}) {
    if (line.take_word(name(kind))) {
      at.kind = kind;
    }
  }
  if (line.take_word("in")) {
    at.function = line.text("function");
  }
  at.in_macro = line.take_word("macro");
  for (const Api api : {Api::Runtime, Api::Driver, Api::Hip}) {
    if (line.take_word(name(api))) {
      at.api = api;
    }
  }
  if (line.take_word("via")) {
    at.call = site(line, depth + 1);
  }
  return intern(std::move(at));
}

SiteId OpReader::intern(Site at) {
  const auto key = std::tuple(at.file, at.line, at.column, at.text, at.kind, at.function, at.in_macro, at.api, at.call);
  const auto found = sites_.find(key);
  if (found != sites_.end()) {
    return found->second;
  }
  const SiteId id = function_.add(std::move(at));
  sites_.emplace(key, id);
  return id;
}

}  // namespace streamsan::analyzer::ir
