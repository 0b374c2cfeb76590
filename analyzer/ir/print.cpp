// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The text form of the stream IR, written. One statement on a line; `//` starts a comment.
//
//   function "f(float*)" usr "c:@F@f" [per_thread_default_stream] [hidden] [incomplete "why"] [SITE]
//     parameter p pointer                     in order; `parameter &s stream`: of reference type
//     local s1 stream                         `local i#2 integer`: the third one called i
//     temporary t pointer
//     global ns::g stream
//     place this.Holder::streams_[i] stream   the type of a part; for readers, types of parts may be left out
//   bb0: [loop]                               `loop`: target of a back edge. Any word may be a label
//     OP                                      `  enqueue kernel scale on s1 writes d_a, reads &h bytes {n}  ; a.cu:3:5`
//     goto bb1 | branch [EXPR] bb1 bb2        at the end of a block; none: the function ends here (by
//                                           return; in a function that has a return elsewhere, by abort or throw)
//   handle Holder::stream_ [owned] [copied] [nonblocking] [timing | no_timing]   Program::fields, outside of functions
//
//   OP       name, operands, attributes. The operands are those of shape() in words.cpp:
//              assign T = X | fresh T | create_stream T | create_event T | allocate T
//              destroy X | free X | end_of_life X | keep_alive X | swap_capture_mode X | escape X
//              return [X]
//              wait S | sync_stream S | query_stream S | capture_begin S | capture_end S
//              record E | sync_event E | query_event E | elapsed E E | sync_device | host | may_sync
//              group_begin | group_end | set_device
//              enqueue (kernel | copy | fill | library | communication | host_function | graph_launch | other) NAME
//              call [T =] "usr"(X, X)
//            attributes, in any order: on S (stream), for E (event), object X (of a call), api NAME, detail "...",
//              nonblocking ... (kind of a stream), pinned ... (kind of memory), timing, no_timing, tensor, synchronous,
//              implicit_stream, unchecked, relaxed, pooled, of_object, transfers, of_tensors, limited, for_value,
//              host_only, [perhaps_](programmatic | waits | triggers_first); target, source, to (second event), work,
//              callee, arguments where the op has them against its shape
//            accesses, at the end: (reads | writes | updates | atomics | touches) X [bytes EXPR] [pinned] [pageable]
//              [by_data] [inside [N] | single [N] | from N (bits of arguments)]
//              [on_host | on_device] [early MODE | perhaps_early MODE], with or without commas
//   X S E    none, null, default (stream), legacy, per_thread, ?, PATH: the value held, &PATH: its address; + EXPR;
//            number + EXPR: an integer
//   T        none or PATH
//   PATH     like C++: s1, i#2, p@0 (parameter by position), %t (temporary), ::g (global), this, *p, (*p).x, p->x,
//            this.Class::x, a[i], a[@] (index not known), $ in names. `this` is the object: this->x reads as this.x.
//            Odd names in `...`. <PATH : type> where one path has two types
//   EXPR     {text} or, as an index, [text]. Integer variables named in the text are its uses, a number is its own
//            value. Else: {n @ i, this.j @= 4 @* 8}: uses after @, value (or ?) after @=, bytes
//            of a step after @*. Escapes: \{ \} \[ \] \@ \\ \n
//   SITE     ; file:line:column ["text"] [launch | scope_end] [in "function"] [macro] [API] [via SITE]; `; -`: none
//            API: runtime, driver, hip. For readers: an op without a site gets one, `ir:LINE` of the text,
//            so that sites differ.
//
// Lost: raw source locations and what serves only to place repairs; two sites with nothing to tell them apart become
// one; ids are given anew.
//
// Paths, expressions and operands are in print_places.cpp.
#include "analyzer/ir/print_places.h"
#include "analyzer/ir/text.h"
#include "analyzer/ir/words.h"

namespace streamsan::analyzer::ir {
namespace {

class Printer {
 public:
  explicit Printer(const Function& function) : function_(function), places_(function) {}

  std::string print() {
    header();
    for (std::size_t i = 0; i < function_.blocks.size(); ++i) {
      block(i);
    }
    return std::move(out_);
  }

 private:
  void header() {
    out_ += "function " + quote(function_.name, '"') + " usr " + quote(function_.usr, '"');
    if (function_.per_thread_default_stream) {
      out_ += " per_thread_default_stream";
    }
    if (function_.hidden) {
      out_ += " hidden";
    }
    if (!function_.incomplete.empty()) {
      out_ += " incomplete " + quote(function_.incomplete, '"');
    }
    if (function_.site != kNoSite) {
      out_ += "  ; " + site(function_.site);
    }
    out_ += '\n';
    for (std::size_t i = 0; i < function_.parameters.size(); ++i) {
      const PlaceId id = function_.parameters[i];
      const bool expected = id != kNoPlace && function_[id].number == i;
      out_ += "  parameter " + (expected ? PlaceWriter::parameter(function_[id]) : places_.declared(id)) + '\n';
    }
    for (const bool roots : {true, false}) {
      for (std::uint32_t i = 0; i < function_.places.size(); ++i) {
        const Place& place = function_.places[i];
        const bool listed = place.kind == Place::Kind::Parameter && is_listed(PlaceId{i});
        if ((place.base == kNoPlace) == roots && !listed) {
          out_ += std::string("  ") + keyword(place) + ' ' + places_.declared(PlaceId{i}) + '\n';
        }
      }
    }
  }

  [[nodiscard]] bool is_listed(PlaceId id) const {
    for (const PlaceId parameter : function_.parameters) {
      if (parameter == id) {
        return true;
      }
    }
    return false;
  }

  static const char* keyword(const Place& place) {
    switch (place.kind) {
      case Place::Kind::Local:
        return "local";
      case Place::Kind::Temporary:
        return "temporary";
      case Place::Kind::Global:
        return "global";
      case Place::Kind::Parameter:
      case Place::Kind::This:
      case Place::Kind::Field:
      case Place::Kind::Index:
      case Place::Kind::Deref:
        return "place";
    }
    return "";
  }

  std::string site(SiteId id) {
    const Site& at = function_[id];
    const bool plain = !at.file.empty() && at.file.find_first_of(" \t\n\r:\"`;") == std::string::npos &&
                       at.file.find("//") == std::string::npos;
    std::string text = (plain ? at.file : quote(at.file, '"')) + ':' + std::to_string(at.line);
    if (at.column != 0) {
      text += ':' + std::to_string(at.column);
    }
    if (!at.text.empty()) {
      text += ' ' + quote(at.text, '"');
    }
    if (at.kind != Site::Kind::Call) {
      text += std::string(" ") + name(at.kind);
    }
    if (at.function != function_.name) {
      text += " in " + quote(at.function, '"');
    }
    if (at.in_macro) {
      text += " macro";
    }
    if (at.api != Api::None) {
      text += std::string(" ") + name(at.api);
    }
    return at.call == kNoSite ? text : text + " via " + site(at.call);
  }

  void block(std::size_t number) {
    const Block& block = function_.blocks[number];
    out_ += "bb" + std::to_string(number) + ':' + (block.loop_head ? " loop" : "") + '\n';
    for (const Op& op : block.ops) {
      out_ += "  " + this->op(op) + "  ; " + (op.site == kNoSite ? "-" : site(op.site)) + '\n';
    }
    if (block.successors.empty() && block.condition == kNoExpr) {
      return;
    }
    out_ += block.successors.size() == 1 && block.condition == kNoExpr ? "  goto" : "  branch";
    if (block.condition != kNoExpr) {
      out_ += ' ' + places_.braced(block.condition);
    }
    for (const BlockId next : block.successors) {
      out_ += " bb" + std::to_string(static_cast<std::uint32_t>(next));
    }
    out_ += '\n';
  }

  static std::string word(std::string_view text) { return is_bare(text) ? std::string(text) : quote(text, '"'); }

  std::string arguments(const Op& op) {
    std::string text = "(";
    for (const Operand& argument : op.arguments) {
      text += (text.size() == 1 ? "" : ", ") + places_.operand(argument);
    }
    return text + ')';
  }

  std::string op(const Op& op) {
    const std::string_view positions = shape(op.kind);
    const auto has = [&](char c) { return positions.find(c) != std::string_view::npos; };
    std::string text = name(op.kind);
    for (const char position : positions) {
      switch (position) {
        case 't':
          text += ' ' + places_.target(op.target);
          break;
        case 'v':
          text += ' ' + places_.operand(op.source);
          break;
        case 's':
          text += ' ' + places_.operand(op.stream);
          break;
        case 'e':
          text += ' ' + places_.operand(op.event);
          break;
        case 'f':
          text += ' ' + places_.operand(op.event2);
          break;
        case 'w':
          text += std::string(" ") + name(op.work) + ' ' + word(op.name);
          break;
        case 'c':
          text += (op.target == kNoPlace ? " " : ' ' + places_.target(op.target) + " = ") + quote(op.callee, '"') +
                  arguments(op);
          break;
        default:
          text += " =";
      }
    }
    const bool call = has('c');
    const auto attribute = [&text](const char* key, const std::string& value) {
      text += std::string(" ") + key + ' ' + value;
    };
    if (!has('t') && !call && op.target != kNoPlace) {
      attribute("target", places_.target(op.target));
    }
    const auto given = [](const Operand& operand) { return operand != Operand{}; };
    if (!has('v') && given(op.source)) {
      attribute("source", places_.operand(op.source));
    }
    if (!has('s') && given(op.stream)) {
      attribute("on", places_.operand(op.stream));
    }
    if (!has('e') && given(op.event)) {
      attribute("for", places_.operand(op.event));
    }
    if (!has('f') && given(op.event2)) {
      attribute("to", places_.operand(op.event2));
    }
    if (given(op.object)) {
      attribute("object", places_.operand(op.object));
    }
    if (!has('w') && op.work != Work::Other) {
      attribute("work", name(op.work));
    }
    if (!has('w') && !op.name.empty()) {
      attribute("api", word(op.name));
    }
    if (!call && !op.callee.empty()) {
      attribute("callee", quote(op.callee, '"'));
    }
    if (!call && !op.arguments.empty()) {
      attribute("arguments", arguments(op));
    }
    if (!op.detail.empty()) {
      attribute("detail", quote(op.detail, '"'));
    }
    text += flags(op);
    for (std::size_t i = 0; i < op.accesses.size(); ++i) {
      text += (i == 0 ? " " : ", ") + access(op.accesses[i]);
    }
    return text;
  }

  static std::string flags(const Op& op) {
    std::string text;
    const auto flag = [&text](bool set, const char* word) {
      if (set) {
        text += std::string(" ") + word;
      }
    };
    flag(op.stream_kind.has_value(), op.stream_kind ? name(*op.stream_kind) : "");
    flag(op.memory.has_value(), op.memory ? name(*op.memory) : "");
    flag(op.timing == true, "timing");
    flag(op.timing == false, "no_timing");
    flag(op.tensor, "tensor");
    flag(op.form == Form::Synchronous, "synchronous");
    flag(op.implicit_stream, "implicit_stream");
    flag(op.unchecked, "unchecked");
    flag(op.relaxed, "relaxed");
    flag(op.pooled, "pooled");
    flag(op.of_object, "of_object");
    flag(op.transfers, "transfers");
    flag(op.of_tensors, "of_tensors");
    flag(op.limited, "limited");
    flag(op.for_value, "for_value");
    flag(op.host_only, "host_only");
    flag(op.programmatic == Certainty::Yes, "programmatic");
    flag(op.programmatic == Certainty::Perhaps, "perhaps_programmatic");
    flag(op.waits == Certainty::Yes, "waits");
    flag(op.waits == Certainty::Perhaps, "perhaps_waits");
    flag(op.triggers_first == Certainty::Yes, "triggers_first");
    flag(op.triggers_first == Certainty::Perhaps, "perhaps_triggers_first");
    return text;
  }

  static std::string bytes_of(const Part& part) { return part.bytes ? ' ' + std::to_string(*part.bytes) : ""; }

  std::string access(const Access& access) {
    std::string text = std::string(name(access.mode)) + ' ' + places_.operand(access.memory);
    if (access.bytes != kNoExpr) {
      text += " bytes " + places_.braced(access.bytes);
    }
    if (access.pinned) {
      text += " pinned";
    }
    if (access.pageable) {
      text += " pageable";
    }
    if (access.by_data) {
      text += " by_data";
    }
    switch (access.part.kind) {
      case Part::Kind::Whole:
        break;
      case Part::Kind::Unknown:
        text += " somewhere" + bytes_of(access.part);
        break;
      case Part::Kind::Inside:
        text += " inside" + bytes_of(access.part);
        break;
      case Part::Kind::Single:
        text += " single" + bytes_of(access.part);
        break;
      case Part::Kind::From:
        text += " from " + std::to_string(access.part.arguments);
        break;
    }
    if (access.on_host) {
      text += *access.on_host ? " on_host" : " on_device";
    }
    if (access.before_wait != Certainty::No) {
      text += std::string(access.before_wait == Certainty::Yes ? " early " : " perhaps_early ") + name(access.early);
    }
    return text;
  }

  const Function& function_;
  PlaceWriter places_;
  std::string out_;
};

}  // namespace

std::string print(const Function& function) { return Printer(function).print(); }

}  // namespace streamsan::analyzer::ir
