// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Paths by recursive descent, in C++'s own precedence: `*p.x` is `*(p.x)`.
//
// Text written by print() declares every place, so nothing is guessed when it is read. A person declares variables and
// leaves out the parts: a part's type is then what its first telling use suggests (`on ss[i]`: a stream; in front of a
// `.`: an object), and stays Other if none does.
#include "analyzer/ir/parse_places.h"

#include <utility>

namespace streamsan::analyzer::ir {
namespace {

constexpr std::uint32_t kDeepest = 200;  // paths within paths; a damaged file must not end the stack

/// One level deeper, for as long as it lives.
class Level {
 public:
  Level(std::uint32_t& depth, const Cursor& line) : depth_(depth) {
    if (depth_ == kDeepest) {
      line.fail("path too deep");
    }
    ++depth_;
  }
  Level(const Level&) = delete;
  Level& operator=(const Level&) = delete;
  ~Level() { --depth_; }

 private:
  std::uint32_t& depth_;
};

}  // namespace

PlaceReader::Key PlaceReader::key(const Place& place) {
  const bool positional = place.kind == Place::Kind::Parameter;
  return {place.kind, positional ? "" : place.name, place.owner, place.number, place.base, place.index};
}

PlaceId PlaceReader::declare(Place place) {
  const PlaceId id = function_.add(place);
  integers_.add(place, id);
  places_.emplace(key(place), id);
  if (place.kind == Place::Kind::Parameter) {
    parameters_.emplace(place.name, id);
  }
  return id;
}

PlaceId PlaceReader::part(Place place) {
  const auto found = places_.find(key(place));
  if (found != places_.end()) {
    return found->second;
  }
  const PlaceId id = declare(std::move(place));
  undecided_.insert(id);
  return id;
}

void PlaceReader::suggest(PlaceId place, TypeKind type) {
  if (place != kNoPlace && type != TypeKind::Other && undecided_.erase(place) != 0) {
    function_.places[static_cast<std::size_t>(place)].type = type;
  }
}

PlaceId PlaceReader::path(Cursor& line, TypeKind suggested) { return prefix(line, suggested); }

PlaceId PlaceReader::declare_path(Cursor& line) {
  const PlaceId place = path(line, TypeKind::Other);
  const auto type = find<TypeKind>(line.word("type"));
  if (!type) {
    line.fail("not a type");
  }
  undecided_.erase(place);
  function_.places[static_cast<std::size_t>(place)].type = *type;
  return place;
}

PlaceId PlaceReader::target(Cursor& line, TypeKind suggested) {
  return line.take_word("none") ? kNoPlace : path(line, suggested);
}

PlaceId PlaceReader::prefix(Cursor& line, TypeKind suggested) {
  const Level level(depth_, line);
  PlaceId place;
  if (line.take("*")) {
    place = part({.kind = Place::Kind::Deref, .base = prefix(line, TypeKind::Pointer)});
  } else {
    place = postfix(line, primary(line));
  }
  suggest(place, suggested);
  return place;
}

PlaceId PlaceReader::postfix(Cursor& line, PlaceId place) {
  while (true) {
    if (line.take_adjacent("->")) {
      if (function_[place].kind == Place::Kind::This) {
        place = field(line, place);
        continue;
      }
      suggest(place, TypeKind::Pointer);
      place = field(line, part({.kind = Place::Kind::Deref, .base = place}));
    } else if (line.take_adjacent(".")) {
      place = field(line, place);
    } else if (line.take_adjacent("[")) {
      suggest(place, TypeKind::Object);
      const ExprId index = line.take_adjacent("@]") ? kNoExpr : expression(line, '[', ']');
      place = part({.kind = Place::Kind::Index, .base = place, .index = index});
    } else {
      return place;
    }
  }
}

PlaceId PlaceReader::field(Cursor& line, PlaceId base) {
  suggest(base, TypeKind::Object);
  Place place{.kind = Place::Kind::Field, .name = line.name("field name"), .base = base};
  while (line.take_adjacent("::")) {
    place.owner += (place.owner.empty() ? "" : "::") + place.name;
    place.name = line.name("field name");
  }
  return part(std::move(place));
}

PlaceId PlaceReader::primary(Cursor& line) {
  if (line.take("(")) {
    const PlaceId place = prefix(line, TypeKind::Other);
    line.expect(")");
    return place;
  }
  if (line.take("<")) {
    Place place = function_[prefix(line, TypeKind::Other)];
    line.expect(":");
    const auto type = find<TypeKind>(line.word("type"));
    line.expect(">");
    if (!type) {
      line.fail("not a type");
    }
    place.type = *type;
    return function_.add(std::move(place));
  }
  return variable(line);
}

PlaceId PlaceReader::variable(Cursor& line) {
  if (line.take_word("this")) {
    return part({.kind = Place::Kind::This, .type = TypeKind::Object});
  }
  Place place;
  const bool global = line.take("::");
  const bool temporary = !global && line.take("%");
  place.name = line.name("variable");
  while (global && line.take_adjacent("::")) {
    place.name += "::" + line.name("name");
  }
  if (line.take_adjacent("@")) {
    place.kind = Place::Kind::Parameter;
    place.number = line.number("position");
    return part(std::move(place));
  }
  if (line.take_adjacent("#")) {
    place.number = line.number("number");
  }
  if (global || temporary) {
    place.kind = global ? Place::Kind::Global : Place::Kind::Temporary;
    return part(std::move(place));
  }
  if (const auto found = places_.find(key(place)); found != places_.end()) {
    return found->second;
  }
  const auto parameter = parameters_.find(place.name);
  if (parameter == parameters_.end() || place.number != 0) {
    line.fail("no variable '" + place.name + "' is declared");
  }
  return parameter->second;
}

ExprId PlaceReader::expr(Cursor& line) {
  line.expect("{");
  return expression(line, '{', '}');
}

ExprId PlaceReader::expression(Cursor& line, char open, char close) {
  Expr expr;
  expr.text = line.expression_text(open, close);
  expr.constant = literal(expr.text);
  bool listed = false;
  while (line.peek() == '@') {
    if (line.take("@=")) {
      expr.constant = line.take("?") ? std::nullopt : std::optional(line.signed_number("value"));
    } else if (line.take("@*")) {
      expr.unit = line.number("bytes of a step");
    } else {
      line.expect("@");
      listed = true;
      while (line.peek() != close && line.peek() != '@') {
        expr.uses.push_back(path(line, TypeKind::Integer));
        line.take(",");
      }
    }
  }
  if (!listed) {
    expr.uses = integers_.used_in(expr.text);
  }
  line.expect(std::string_view(&close, 1));
  return function_.add(std::move(expr));
}

Operand PlaceReader::operand(Cursor& line, TypeKind suggested) {
  Operand operand;
  if (line.take("?")) {
    operand.kind = Operand::Kind::Unknown;
  } else if (const auto word = find<Operand::Kind>(line.peek_word()); word && !line.peek_word().empty()) {
    operand.kind = *word;
    line.word("operand");
  } else if (line.take("&")) {
    operand.kind = Operand::Kind::Address;
    operand.place = path(line, TypeKind::Object);
  } else {
    operand.kind = Operand::Kind::Value;
    operand.place = path(line, suggested);
  }
  if (line.take("+")) {
    operand.offset = expr(line);
  }
  return operand;
}

}  // namespace streamsan::analyzer::ir
