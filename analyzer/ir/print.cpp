// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The text form of the stream IR, written. One statement on a line; `//` starts a comment.
//
//   function "f(float*)" usr "c:@F@f" [per_thread_default_stream] [incomplete "why"] [SITE]
//     parameter p pointer                     in order; `parameter &s stream`: of reference type
//     local s1 stream                         `local i#2 integer`: the third one called i
//     temporary t pointer
//     global ns::g stream
//     place this.Holder::streams_[i] stream   the type of a part; for readers, types of parts may be left out
//   bb0: [loop]                               `loop`: target of a back edge. Any word may be a label
//     OP                                      `  enqueue kernel scale on s1 writes d_a, reads &h bytes {n}  ; a.cu:3:5`
//     goto bb1 | branch [EXPR] bb1 bb2        at the end of a block; none: the function ends here (by
//                                           return; in a function that has a return elsewhere, by abort or throw)
//   handle Holder::stream_ [owned] [nonblocking] [timing | no_timing]      Program::fields, outside of functions
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
//              implicit_stream, unchecked; target, source, to (second event), work, callee, arguments where the op has
//              them against its shape
//            accesses, at the end: (reads | writes | updates | atomics | touches) X [bytes EXPR] [pinned] [pageable]
//              [on_host | on_device], with or without commas
//   X S E    none, null, default (stream), legacy, per_thread, ?, PATH: the value held, &PATH: its address; + EXPR
//   T        none or PATH
//   PATH     like C++: s1, i#2, p@0 (parameter by position), %t (temporary), ::g (global), this, *p, (*p).x, p->x,
//            this.Class::x, a[i], a[@] (index not known), $ in names. `this` is the object: this->x reads as this.x.
//            Odd names in `...`. <PATH : type> where one path has two types
//   EXPR     {text} or, as an index, [text]. Integer variables named in the text are its uses, a number is its own
//            value. Else: {n @ i, this.j @= 4}: uses after @, value (or ?) after @=. Escapes: \{ \} \[ \] \@ \\ \n
//   SITE     ; file:line:column ["text"] [in "function"] [macro] [via file:line:column ...]; `; -`: none
//            For readers: an op without a site gets one, `ir:LINE` of the text, so that sites differ.
//
// Lost: raw source locations and what serves only to place repairs; two sites with nothing to tell them apart become
// one; ids are given anew.
#include <map>

#include "analyzer/ir/text.h"
#include "analyzer/ir/words.h"

namespace streamsan::analyzer::ir {
namespace {

class Printer {
 public:
  explicit Printer(const Function& function) : function_(function) {
    for (std::uint32_t i = 0; i < function.places.size(); ++i) {
      integers_.add(function.places[i], PlaceId{i});
      const Place& place = function.places[i];
      if (place.kind == Place::Kind::Parameter || (place.kind == Place::Kind::Local && place.number == 0)) {
        ++plain_names_[place.name];
      }
    }
    // A part is entered in its table after what it is made of, but nothing relies on it: parts are spelled on demand.
    paths_.resize(function.places.size());
    for (std::uint32_t i = 0; i < function.places.size(); ++i) {
      path(PlaceId{i});
    }
  }

  std::string print() {
    header();
    for (std::size_t i = 0; i < function_.blocks.size(); ++i) {
      block(i);
    }
    return std::move(out_);
  }

 private:
  static bool is_root(const Place& place) { return place.base == kNoPlace; }

  void header() {
    out_ += "function " + quote(function_.name, '"') + " usr " + quote(function_.usr, '"');
    if (function_.per_thread_default_stream) {
      out_ += " per_thread_default_stream";
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
      out_ += "  parameter " + (expected ? parameter(function_[id]) : declared(id)) + '\n';
    }
    for (const bool roots : {true, false}) {
      for (std::uint32_t i = 0; i < function_.places.size(); ++i) {
        const Place& place = function_.places[i];
        const bool listed = place.kind == Place::Kind::Parameter && is_listed(PlaceId{i});
        if (is_root(place) == roots && !listed) {
          out_ += std::string("  ") + keyword(place) + ' ' + declared(PlaceId{i}) + '\n';
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

  /// The one whose number is its place in the list.
  static std::string parameter(const Place& place) {
    return (place.reference ? "&" : "") + plain(place) + ' ' + name(place.type);
  }

  std::string declared(PlaceId id) {
    if (id == kNoPlace) {
      return "none";
    }
    const Place& place = function_[id];
    if (!is_root(place) || place.kind == Place::Kind::This) {
      return path(id) + ' ' + name(place.type);
    }
    if (place.kind == Place::Kind::Parameter) {
      return (place.reference ? "&" : "") + plain(place) + '@' + std::to_string(place.number) + ' ' + name(place.type);
    }
    return root_name(place) + ' ' + name(place.type);
  }

  static std::string plain(const Place& place) {
    const bool bare = place.kind == Place::Kind::Global ? is_bare_qualified(place.name)
                                                        : is_bare(place.name) && !is_reserved(place.name);
    return bare ? place.name : quote(place.name, '`');
  }

  /// Without the sigil: `i#2`, `p@0`.
  std::string root_name(const Place& place) const {
    if (place.kind == Place::Kind::Parameter) {
      const bool unique = plain_names_.at(place.name) == 1;
      return plain(place) + (unique ? "" : '@' + std::to_string(place.number));
    }
    return plain(place) + (place.number == 0 ? "" : '#' + std::to_string(place.number));
  }

  static bool is_bare_qualified(std::string_view name) {
    while (true) {
      const std::size_t colons = name.find("::");
      if (!is_bare(name.substr(0, colons))) {
        return false;
      }
      if (colons == std::string_view::npos) {
        return true;
      }
      name.remove_prefix(colons + 2);
    }
  }

  static std::string maybe_quoted(std::string_view word) {
    return is_bare(word) ? std::string(word) : quote(word, '`');
  }

  /// A base in front of `.` or `[`.
  std::string base(PlaceId id) {
    const std::string& text = path(id);
    return text.starts_with('*') ? '(' + text + ')' : text;
  }

  const std::string& path(PlaceId id) {
    std::string& text = paths_[static_cast<std::size_t>(id)];
    if (text.empty()) {
      std::string spelled = spell(function_[id]);
      const bool taken = !spelled_.emplace(spelled, id).second;
      text = taken ? '<' + spelled + " : " + name(function_[id].type) + '>' : std::move(spelled);
    }
    return text;
  }

  std::string spell(const Place& place) {
    switch (place.kind) {
      case Place::Kind::Local:
      case Place::Kind::Parameter:
        return root_name(place);
      case Place::Kind::Temporary:
        return '%' + root_name(place);
      case Place::Kind::Global:
        return "::" + root_name(place);
      case Place::Kind::This:
        return "this";
      case Place::Kind::Deref:
        return '*' + path(place.base);
      case Place::Kind::Index:
        return base(place.base) + (place.index == kNoExpr ? "[@]" : expr(place.index, '[', ']'));
      case Place::Kind::Field: {
        std::string owner;
        if (!place.owner.empty()) {
          owner = (is_bare_qualified(place.owner) ? place.owner : quote(place.owner, '`')) + "::";
        }
        const std::string field = owner + maybe_quoted(place.name);
        const std::string& of = path(place.base);
        return of.starts_with('*') && !of.starts_with("**") && of != "*this" ? of.substr(1) + "->" + field
                                                                             : base(place.base) + '.' + field;
      }
    }
    return {};
  }

  /// Every `close` has its `open` before it: the parser finds the end without escapes.
  static bool is_nested(std::string_view text, char open, char close) {
    int depth = 0;
    for (const char c : text) {
      depth += c == open ? 1 : c == close ? -1 : 0;
      if (depth < 0) {
        return false;
      }
    }
    return depth == 0;
  }

  std::string expr(ExprId id, char open, char close) {
    const Expr& e = function_[id];
    const bool nested = is_nested(e.text, open, close);
    std::string text(1, open);
    for (const char c : e.text) {
      if (c == '\n' || c == '\r') {
        text += c == '\n' ? "\\n" : "\\r";
        continue;
      }
      if (((c == open || c == close) && !nested) || c == '@' || c == '\\') {
        text += '\\';
      }
      text += c;
    }
    if (e.uses != integers_.used_in(e.text)) {
      text += " @";
      for (std::size_t i = 0; i < e.uses.size(); ++i) {
        text += (i == 0 ? " " : ", ") + path(e.uses[i]);
      }
    }
    if (e.constant != literal(e.text)) {
      text += " @= " + (e.constant ? std::to_string(*e.constant) : "?");
    }
    return text + close;
  }

  std::string braced(ExprId id) { return expr(id, '{', '}'); }

  std::string operand(const Operand& operand) {
    std::string text = name(operand.kind);
    if (operand.place != kNoPlace) {
      text = (operand.kind == Operand::Kind::Address ? "&" : "") + path(operand.place);
    }
    return operand.offset == kNoExpr ? text : text + " + " + braced(operand.offset);
  }

  std::string target(PlaceId id) { return id == kNoPlace ? "none" : path(id); }

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
    if (at.function != function_.name) {
      text += " in " + quote(at.function, '"');
    }
    if (at.in_macro) {
      text += " macro";
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
      out_ += ' ' + braced(block.condition);
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
      text += (text.size() == 1 ? "" : ", ") + operand(argument);
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
          text += ' ' + target(op.target);
          break;
        case 'v':
          text += ' ' + operand(op.source);
          break;
        case 's':
          text += ' ' + operand(op.stream);
          break;
        case 'e':
          text += ' ' + operand(op.event);
          break;
        case 'f':
          text += ' ' + operand(op.event2);
          break;
        case 'w':
          text += std::string(" ") + name(op.work) + ' ' + word(op.name);
          break;
        case 'c':
          text +=
              (op.target == kNoPlace ? " " : ' ' + target(op.target) + " = ") + quote(op.callee, '"') + arguments(op);
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
      attribute("target", target(op.target));
    }
    const auto given = [](const Operand& operand) { return operand != Operand{}; };
    if (!has('v') && given(op.source)) {
      attribute("source", operand(op.source));
    }
    if (!has('s') && given(op.stream)) {
      attribute("on", operand(op.stream));
    }
    if (!has('e') && given(op.event)) {
      attribute("for", operand(op.event));
    }
    if (!has('f') && given(op.event2)) {
      attribute("to", operand(op.event2));
    }
    if (given(op.object)) {
      attribute("object", operand(op.object));
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
    return text;
  }

  std::string access(const Access& access) {
    std::string text = std::string(name(access.mode)) + ' ' + operand(access.memory);
    if (access.bytes != kNoExpr) {
      text += " bytes " + braced(access.bytes);
    }
    if (access.pinned) {
      text += " pinned";
    }
    if (access.pageable) {
      text += " pageable";
    }
    if (access.on_host) {
      text += *access.on_host ? " on_host" : " on_device";
    }
    return text;
  }

  const Function& function_;
  IntegerNames integers_;
  std::map<std::string, int> plain_names_;  ///< how many variables need more than their name
  std::vector<std::string> paths_;
  std::map<std::string, PlaceId> spelled_;
  std::string out_;
};

}  // namespace

std::string print(const Function& function) { return Printer(function).print(); }

}  // namespace streamsan::analyzer::ir
