// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Names, paths and expressions, so that parse_places.cpp finds its way back. The grammar is in print.cpp.
#include "analyzer/ir/print_places.h"

#include <utility>

namespace streamsan::analyzer::ir {
namespace {

bool is_bare_qualified(std::string_view name) {
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

std::string maybe_quoted(std::string_view word) { return is_bare(word) ? std::string(word) : quote(word, '`'); }

/// Every `close` has its `open` before it: the parser finds the end without escapes.
bool is_nested(std::string_view text, char open, char close) {
  int depth = 0;
  for (const char c : text) {
    depth += c == open ? 1 : c == close ? -1 : 0;
    if (depth < 0) {
      return false;
    }
  }
  return depth == 0;
}

}  // namespace

PlaceWriter::PlaceWriter(const Function& function) : function_(function) {
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

std::string PlaceWriter::parameter(const Place& place) {
  return (place.reference ? "&" : "") + plain(place) + ' ' + name(place.type);
}

std::string PlaceWriter::declared(PlaceId id) {
  if (id == kNoPlace) {
    return "none";
  }
  const Place& place = function_[id];
  if (place.base != kNoPlace || place.kind == Place::Kind::This) {
    return path(id) + ' ' + name(place.type);
  }
  if (place.kind == Place::Kind::Parameter) {
    return (place.reference ? "&" : "") + plain(place) + '@' + std::to_string(place.number) + ' ' + name(place.type);
  }
  return root_name(place) + ' ' + name(place.type);
}

std::string PlaceWriter::plain(const Place& place) {
  const bool bare = place.kind == Place::Kind::Global ? is_bare_qualified(place.name)
                                                      : is_bare(place.name) && !is_reserved(place.name);
  return bare ? place.name : quote(place.name, '`');
}

std::string PlaceWriter::root_name(const Place& place) const {
  if (place.kind == Place::Kind::Parameter) {
    const bool unique = plain_names_.at(place.name) == 1;
    return plain(place) + (unique ? "" : '@' + std::to_string(place.number));
  }
  return plain(place) + (place.number == 0 ? "" : '#' + std::to_string(place.number));
}

std::string PlaceWriter::base(PlaceId id) {
  const std::string& text = path(id);
  return text.starts_with('*') ? '(' + text + ')' : text;
}

const std::string& PlaceWriter::path(PlaceId id) {
  std::string& text = paths_[static_cast<std::size_t>(id)];
  if (text.empty()) {
    std::string spelled = spell(function_[id]);
    const bool taken = !spelled_.emplace(spelled, id).second;
    text = taken ? '<' + spelled + " : " + name(function_[id].type) + '>' : std::move(spelled);
  }
  return text;
}

std::string PlaceWriter::spell(const Place& place) {
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

std::string PlaceWriter::expr(ExprId id, char open, char close) {
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
  if (e.unit != 0) {
    text += " @* " + std::to_string(e.unit);
  }
  return text + close;
}

std::string PlaceWriter::operand(const Operand& operand) {
  std::string text = name(operand.kind);
  if (operand.place != kNoPlace) {
    text = (operand.kind == Operand::Kind::Address ? "&" : "") + path(operand.place);
  }
  return operand.offset == kNoExpr ? text : text + " + " + braced(operand.offset);
}

}  // namespace streamsan::analyzer::ir
