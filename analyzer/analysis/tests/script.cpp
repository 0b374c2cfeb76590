// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Reading scripts (script.h) into the stream IR. A mistake in a script throws: the test fails with the line.
#include "analyzer/analysis/tests/script.h"

#include <algorithm>
#include <cctype>
#include <map>
#include <sstream>
#include <stdexcept>
#include <vector>

namespace streamsan::analyzer::testing {
namespace {

using namespace streamsan::analyzer::ir;
using ordering::MemoryKind;
using ordering::StreamKind;

TypeKind type_of(std::string_view name) {
  switch (name.front()) {
    case 's':
      return TypeKind::Stream;
    case 'e':
      return TypeKind::Event;
    case 'i':
    case 'n':
      return TypeKind::Integer;
    default:
      return TypeKind::Pointer;
  }
}

class Reader {
 public:
  explicit Reader(Script& script) : script_(script), f_(script.function) { f_.name = "f"; }

  void read(std::string_view text) {
    collect_labels(text);
    f_.blocks.emplace_back();
    std::istringstream in{std::string(text)};
    std::string line;
    while (std::getline(in, line)) {
      ++number_;
      std::istringstream words(line);
      words_.clear();
      next_ = 0;
      for (std::string word; words >> word;) words_.push_back(word);
      if (!words_.empty()) statement();
    }
    if (!ended_ && block_ + 1 == f_.blocks.size()) f_.blocks[block_].successors.clear();
  }

 private:
  [[noreturn]] void fail(const std::string& why) const {
    throw std::runtime_error("line " + std::to_string(number_) + ": " + why);
  }
  std::string word() { return next_ < words_.size() ? words_[next_++] : std::string(); }
  std::string need() {
    if (next_ == words_.size()) fail("a word is missing");
    return words_[next_++];
  }

  void collect_labels(std::string_view text) {
    std::istringstream in{std::string(text)};
    std::uint32_t count = 0;
    for (std::string line; std::getline(in, line);) {
      const std::size_t begin = line.find_first_not_of(' ');
      if (begin == std::string::npos || line.back() != ':') continue;
      std::string name = line.substr(begin, line.size() - begin - 1);
      if (name.starts_with("loop ")) name = name.substr(5);
      labels_[name] = ++count;
    }
  }

  ExprId expr(const std::string& text) {
    const std::size_t at = text.find('@');
    Expr e{.text = text.substr(0, at), .uses = {}, .constant = {}};
    if (at != std::string::npos) e.unit = static_cast<std::uint32_t>(std::stoul(text.substr(at + 1)));
    if (std::all_of(e.text.begin(), e.text.end(), [](unsigned char c) { return std::isdigit(c) != 0; })) {
      e.constant = std::stoll(e.text);
      return f_.add(std::move(e));
    }
    for (const char c : e.text) {
      if (std::isalpha(static_cast<unsigned char>(c)) == 0) continue;
      const PlaceId use = place(std::string(1, c));
      if (std::find(e.uses.begin(), e.uses.end(), use) == e.uses.end()) e.uses.push_back(use);
    }
    return f_.add(std::move(e));
  }

  PlaceId place(const std::string& text) {
    if (text.starts_with("*")) {
      const PlaceId base = place(text.substr(1));
      return f_.add(Place{.kind = Place::Kind::Deref, .type = TypeKind::Stream, .base = base});
    }
    if (text.starts_with("this.")) {
      const PlaceId self = f_.add(Place{.kind = Place::Kind::This, .type = TypeKind::Object, .name = "this"});
      const std::string name = text.substr(5);
      return f_.add(Place{.kind = Place::Kind::Field, .type = type_of(name), .name = name, .owner = "C", .base = self});
    }
    if (const std::size_t bracket = text.find('['); bracket != std::string::npos) {
      const std::string name = text.substr(0, bracket);
      const PlaceId base = parameters_.contains(name)
                               ? place(name)
                               : f_.add(Place{.kind = Place::Kind::Local, .type = TypeKind::Object, .name = name});
      const ExprId index = expr(text.substr(bracket + 1, text.size() - bracket - 2));
      return f_.add(Place{.kind = Place::Kind::Index, .type = type_of(name), .base = base, .index = index});
    }
    if (const auto it = parameters_.find(text); it != parameters_.end()) return it->second;
    return f_.add(Place{.kind = Place::Kind::Local, .type = type_of(text), .name = text});
  }

  Operand operand(std::string text) {
    Operand result;
    if (text == "null") return {.kind = Operand::Kind::Null};
    if (text == "?") return {.kind = Operand::Kind::Unknown};
    if (const std::size_t plus = text.find('+'); plus != std::string::npos) {
      const std::string offset = text.substr(plus + 1);
      result.offset = expr(offset.find('@') == std::string::npos ? offset + "@1" : offset);
      text = text.substr(0, plus);
    }
    result.kind = text.starts_with("&") ? Operand::Kind::Address : Operand::Kind::Value;
    result.place = place(text.starts_with("&") ? text.substr(1) : text);
    return result;
  }

  Operand stream(const std::string& text) {
    if (text == "0") return {.kind = Operand::Kind::DefaultStream};
    if (text == "legacy") return {.kind = Operand::Kind::LegacyStream};
    if (text == "ptds") return {.kind = Operand::Kind::PerThreadStream};
    return operand(text);
  }

  /// w:d
  Access access(const std::string& text) {
    const std::size_t colon = text.find(':');
    if (colon == std::string::npos) fail("access without mode: " + text);
    static const std::map<std::string, Mode> kModes{
        {"r", Mode::Read}, {"w", Mode::Write}, {"rw", Mode::ReadWrite}, {"a", Mode::Atomic}, {"?", Mode::Unknown}};
    return {.memory = operand(text.substr(colon + 1)), .mode = kModes.at(text.substr(0, colon))};
  }

  Op& push(OpKind kind) {
    if (ended_) fail("op after the end of its block");
    Op op;
    op.kind = kind;
    op.site = f_.add(Site{.file = "t.cu", .line = number_, .column = 3, .function = "f"});
    f_.blocks[block_].ops.push_back(std::move(op));
    return f_.blocks[block_].ops.back();
  }

  void start_block(const std::string& label, bool loop) {
    const std::uint32_t next = labels_.at(label);
    while (f_.blocks.size() <= next) f_.blocks.emplace_back();
    if (!ended_) f_.blocks[block_].successors.push_back(BlockId{next});
    block_ = next;
    f_.blocks[block_].loop_head = loop;
    ended_ = false;
  }

  void memory_kind(Op& op) {
    static const std::map<std::string, MemoryKind> kKinds{{"", MemoryKind::Device},
                                                          {"device", MemoryKind::Device},
                                                          {"async", MemoryKind::DeviceAsync},
                                                          {"managed", MemoryKind::Managed},
                                                          {"pinned", MemoryKind::Pinned},
                                                          {"pageable", MemoryKind::Pageable},
                                                          {"registered", MemoryKind::Registered}};
    op.memory = kKinds.at(word());
    if (op.memory == MemoryKind::DeviceAsync) op.stream = stream(need());
    if (op.memory == MemoryKind::Registered) {
      op.source = {.kind = Operand::Kind::Value, .place = op.target};
      op.target = kNoPlace;
    }
  }

  void statement() {
    const std::string what = need();
    if (what == "loop") return start_block(words_[1].substr(0, words_[1].size() - 1), true);
    if (what.back() == ':') return start_block(what.substr(0, what.size() - 1), false);
    if (what == "goto") {
      while (next_ < words_.size()) f_.blocks[block_].successors.push_back(BlockId{labels_.at(need())});
      while (f_.blocks.size() <= labels_.size()) f_.blocks.emplace_back();
      ended_ = true;
      return;
    }
    if (what == "for") {
      const std::string counter = need();
      const PlaceId counted = place(counter);
      f_.blocks[block_].condition = f_.add(Expr{.text = counter + " < 4", .uses = {counted}, .constant = {}});
      const std::uint32_t body = labels_.at(need()), after = labels_.at(need());
      f_.blocks[block_].successors = {BlockId{body}, BlockId{after}};
      while (f_.blocks.size() <= labels_.size()) f_.blocks.emplace_back();
      ended_ = true;
      return;
    }
    if (what == "return") {
      ended_ = true;
      return;
    }
    if (what == "param") {
      const std::string name = need();
      const auto position = static_cast<std::uint32_t>(f_.parameters.size());
      const TypeKind type = word() == "array" ? TypeKind::Pointer : type_of(name);
      parameters_[name] = f_.add(Place{.kind = Place::Kind::Parameter, .type = type, .name = name, .number = position});
      f_.parameters.push_back(parameters_[name]);
      return;
    }
    if (what == "owned") {
      script_.program.fields["C::" + need()] = {.owned = true, .stream_kind = {}, .timing = {}};
      return;
    }
    if (what == "ptds") {
      f_.per_thread_default_stream = true;
      return;
    }
    if (!work(what) && !order(what) && !memory(what)) fail("what is " + what + "?");
  }

  bool work(const std::string& what) {
    if (what == "launch") {
      Op& op = push(OpKind::Enqueue);
      op.work = Work::Kernel;
      op.name = need();
      f_.sites.back().text = "kernel '" + op.name + "'";
      f_.sites.back().kind = Site::Kind::Launch;
      op.stream = stream(need());
      accesses(op);
    } else if (what == "hostfn") {
      Op& op = push(OpKind::Enqueue);
      op.work = Work::HostFunction;
      op.stream = stream(need());
      accesses(op);
    } else if (what == "copy") {
      Op& op = push(OpKind::Enqueue);
      op.work = Work::Copy;
      op.stream = stream(need());
      op.accesses.push_back({.memory = operand(need()), .mode = Mode::Write});
      op.accesses.push_back({.memory = operand(need()), .mode = Mode::Read});
      options(op);
    } else if (what == "fill") {
      Op& op = push(OpKind::Enqueue);
      op.work = Work::Fill;
      op.stream = stream(need());
      op.accesses.push_back({.memory = operand(need()), .mode = Mode::Write});
      options(op);
    } else if (what == "send") {
      Op& op = push(OpKind::Enqueue);
      op.work = Work::Communication;
      op.stream = stream(need());
      accesses(op);
    } else if (what == "host") {
      Op& op = push(OpKind::HostAccess);
      accesses(op);
    } else {
      return false;
    }
    return true;
  }

  void accesses(Op& op) {
    while (next_ < words_.size()) {
      const std::string text = need();
      if (text.starts_with("args:")) {
        std::istringstream scalars(text.substr(5));
        for (std::string one; std::getline(scalars, one, ',');)
          op.arguments.push_back({.kind = Operand::Kind::None, .offset = expr(one)});
      } else {
        op.accesses.push_back(access(text));
      }
    }
  }

  void options(Op& op) {
    while (next_ < words_.size()) {
      const std::string text = need();
      if (text == "sync") {
        op.form = Form::Synchronous;
      } else if (text == "d2h" || text == "h2d") {
        op.accesses[0].on_host = text == "d2h";
        op.accesses[1].on_host = text == "h2d";
      } else {
        for (Access& side : op.accesses) side.bytes = expr(text);
      }
    }
  }

  bool order(const std::string& what) {
    static const std::map<std::string, OpKind> kOfStream{
        {"sync", OpKind::SyncStream},       {"query", OpKind::QueryStream}, {"capture", OpKind::CaptureBegin},
        {"endcapture", OpKind::CaptureEnd}, {"device", OpKind::SyncDevice}, {"maysync", OpKind::MaySync},
        {"group", OpKind::GroupBegin},      {"endgroup", OpKind::GroupEnd}};
    static const std::map<std::string, OpKind> kOfEvent{{"syncevent", OpKind::SyncEvent},
                                                        {"queryevent", OpKind::QueryEvent}};
    if (const auto it = kOfStream.find(what); it != kOfStream.end()) {
      Op& op = push(it->second);
      const bool of_stream = op.kind != OpKind::SyncDevice && op.kind != OpKind::MaySync &&
                             op.kind != OpKind::GroupBegin && op.kind != OpKind::GroupEnd;
      if (of_stream) op.stream = stream(need());
      if (op.kind == OpKind::CaptureBegin) op.relaxed = word() == "relaxed";
    } else if (what == "setdevice") {
      push(OpKind::SetDevice).detail = word();
    } else if (what == "swapmode") {
      push(OpKind::SwapCaptureMode).source = operand(need());
    } else if (what == "libsync") {
      Op& op = push(OpKind::SyncStream);
      op.work = Work::Library;
      op.stream = stream(need());
    } else if (const auto of_event = kOfEvent.find(what); of_event != kOfEvent.end()) {
      push(of_event->second).event = operand(need());
    } else if (what == "record") {
      Op& op = push(OpKind::Record);
      op.event = operand(need());
      op.stream = stream(need());
    } else if (what == "wait") {
      Op& op = push(OpKind::Wait);
      op.stream = stream(need());
      op.event = operand(need());
    } else if (what == "elapsed") {
      Op& op = push(OpKind::Elapsed);
      op.event = operand(need());
      op.event2 = operand(need());
    } else if (what == "stream") {
      Op& op = push(OpKind::CreateStream);
      op.target = place(need());
      const std::string kind = word();
      if (kind != "unknown") op.stream_kind = kind == "nonblocking" ? StreamKind::NonBlocking : StreamKind::Blocking;
    } else if (what == "event") {
      Op& op = push(OpKind::CreateEvent);
      op.target = place(need());
      op.timing = word() != "notiming";
    } else if (what == "destroy") {
      push(OpKind::DestroyHandle).source = operand(need());
    } else {
      return false;
    }
    return true;
  }

  bool memory(const std::string& what) {
    if (what == "alloc") {
      Op& op = push(OpKind::Allocate);
      op.target = place(need());
      memory_kind(op);
    } else if (what == "tensor") {
      Op& op = push(OpKind::Allocate);
      op.target = place(need());
      op.tensor = true;
      op.memory = MemoryKind::Device;
      op.stream = stream(need());
    } else if (what == "free" || what == "freehost" || what == "freeasync" || what == "delete" || what == "release") {
      Op& op = push(OpKind::Free);
      op.source = operand(need());
      op.memory = what == "freehost"    ? MemoryKind::Pinned
                  : what == "freeasync" ? MemoryKind::DeviceAsync
                  : what == "delete"    ? MemoryKind::Pageable
                                        : MemoryKind::Device;
      op.tensor = what == "release";
      if (op.tensor || what == "freeasync") op.stream = stream(need());
    } else if (what == "end") {
      push(OpKind::EndOfLife).source = operand(need());
    } else if (what == "keep") {
      Op& op = push(OpKind::KeepAlive);
      op.source = operand(need());
      op.stream = stream(need());
    } else if (what == "escape") {
      push(OpKind::Escape).source = operand(need());
    } else if (what == "assign") {
      Op& op = push(OpKind::Assign);
      op.target = place(need());
      op.source = stream(need());
    } else if (what == "fresh") {
      push(OpKind::Fresh).target = place(need());
    } else {
      return false;
    }
    return true;
  }

  Script& script_;
  Function& f_;
  std::map<std::string, std::uint32_t> labels_;
  std::map<std::string, PlaceId> parameters_;
  std::vector<std::string> words_;
  std::size_t next_ = 0;
  std::uint32_t number_ = 0;
  std::uint32_t block_ = 0;
  bool ended_ = false;
};

std::string list(const Script& script, bool all) {
  const Verdict verdict = analyze(script.function, script.program);
  if (!verdict.gave_up.empty()) return "gave up: " + verdict.gave_up;
  std::string result;
  for (const Hazard& h : verdict.hazards) {
    if (!all && (h.level == Level::Maybe || group(h.check) != Group::Correctness)) continue;
    if (!result.empty()) result += "\n";
    result += std::string(id(h.check)) + " " + name(h.level) + " " + std::to_string(h.later.where.site.line);
    if (h.earlier) result += "<" + std::to_string(h.earlier->where.site.line);
    if (h.cause != Cause::NoEdge) result += std::string(" ") + name(h.cause);
    if (!h.rule.empty()) result += " " + h.rule;
    if (h.which != CheckCase::Usual) result += std::string(" (") + name(h.which) + ")";
    if (!h.detail.empty()) result += " (" + h.detail + ")";
  }
  return result;
}

}  // namespace

Script read(std::string_view text) {
  Script script;
  Reader(script).read(text);
  return script;
}

std::string reported(const Script& script) { return list(script, false); }
std::string reported(std::string_view text) { return list(read(text), false); }
std::string reported_all(std::string_view text) { return list(read(text), true); }

}  // namespace streamsan::analyzer::testing
