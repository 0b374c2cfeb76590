// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "analyzer/ir/links.h"

#include <algorithm>

#include "analyzer/ir/field_memory.h"
#include "analyzer/ir/walk.h"

namespace streamsan::analyzer::ir {
namespace {

constexpr std::string_view kFirstLine = "streamsan-links 1\n";

/// Numbers order nothing, and a variable of the file's own is nobody else's.
std::string shared_name(const Place& place) {
  if (place.type == TypeKind::Other || place.type == TypeKind::Integer) return {};
  if (place.kind == Place::Kind::Field) return place.owner.empty() ? "" : place.owner + "::" + place.name;
  const bool is_shared =
      place.kind == Place::Kind::Global && place.number != kOfThisFile && !place.name.starts_with('$');
  return is_shared ? place.name : "";
}

/// A field of an object that the function has made for itself, or of a part of it: nobody else's.
bool is_of_own_object(const Function& function, PlaceId id) {
  const auto [variable, through_pointer] = root(function, id);
  const Place::Kind kind = function[variable].kind;
  return !through_pointer && (kind == Place::Kind::Local || kind == Place::Kind::Temporary);
}

/// Fields and globals on the way to a place. False: it is behind a variable of the function's own, as far as is seen.
bool add_names(const Function& function, PlaceId id, std::set<std::string>& names) {
  bool any = false;
  for (; id != kNoPlace; id = function[id].base)
    if (std::string name = shared_name(function[id]); !name.empty() && !is_of_own_object(function, id)) {
      names.insert(std::move(name));
      any = true;
    }
  return any;
}

/// One object's fields become those of another: that is no news of what they are.
bool copies_field(const Function& function, const Op& op) {
  return op.kind == OpKind::Assign && op.source.kind == Operand::Kind::Value && op.target != kNoPlace &&
         shared_name(function[op.target]) == shared_name(function[op.source.place]);
}

/// What the function changes for others, or orders with what they do. Enqueueing work alone does neither.
/// `handles`: the fields and globals that it names and that are no memory.
std::set<std::string> changed_by(const Function& function, const std::set<std::string>& handles) {
  std::set<std::string> changed;
  // A handle in a local variable may be that of any field.
  const auto handle = [&](const Operand& operand) {
    const bool is_place = operand.kind == Operand::Kind::Value || operand.kind == Operand::Kind::Address;
    if (is_place && !add_names(function, operand.place, changed)) changed.insert(handles.begin(), handles.end());
  };
  for (const Block& block : function.blocks)
    for (const Op& op : block.ops) switch (op.kind) {
        case OpKind::Assign:
          if (!copies_field(function, op)) add_names(function, op.target, changed);
          break;
        case OpKind::Fresh:
        case OpKind::CreateStream:
        case OpKind::CreateEvent:
        case OpKind::Allocate:
          add_names(function, op.target, changed);
          break;
        case OpKind::Free:
        case OpKind::EndOfLife:
        case OpKind::Escape:
          add_names(function, op.source.place, changed);
          break;
        case OpKind::DestroyHandle:
          handle(op.source);
          break;
        case OpKind::Record:
        case OpKind::Wait:
        case OpKind::SyncStream:
        case OpKind::SyncEvent:
        case OpKind::QueryStream:
        case OpKind::QueryEvent:
          handle(op.stream);
          handle(op.event);
          break;
        case OpKind::SyncDevice:
          changed.insert(handles.begin(), handles.end());
          break;
        default:
          break;
      }
  return changed;
}

}  // namespace

Links links_of(const Program& program, const std::string& source) {
  Links links;
  for (const auto& [usr, function] : program.functions) {
    auto& [used, changed, calls, of_header] = links.functions[usr];
    of_header = function.site != kNoSite && function[function.site].file != source;
    std::set<std::string> handles;
    for (std::size_t i = 0; i < function.places.size(); ++i) {
      std::string name = shared_name(function.places[i]);
      if (name.empty() || is_of_own_object(function, static_cast<PlaceId>(i))) continue;
      // Two methods of one class are two ways to use its objects, whatever they do.
      const PlaceId object = function.places[i].base;
      if (object != kNoPlace && function[object].kind == Place::Kind::This && !function.hidden) changed.insert(name);
      if (function.places[i].type != TypeKind::Pointer) handles.insert(name);
      used.insert(std::move(name));
    }
    changed.merge(changed_by(function, handles));
    for (const Block& block : function.blocks)
      for (const Op& op : block.ops)
        if (op.kind == OpKind::Call) calls.insert(op.callee);
    links.is_program |= function.name == "main";
  }
  return links;
}

std::string print(const Links& links) {
  std::string text = std::string(kFirstLine) + (links.is_program ? "main\n" : "");
  const auto add = [&](char what, const std::string& name) {
    text += what;
    text += ' ';
    text += name;
    text += '\n';
  };
  for (const auto& [usr, uses] : links.functions) {
    add(uses.of_header ? 'h' : 'f', usr);
    for (const auto& [what, names] : {std::pair('u', &uses.used), {'t', &uses.changed}, {'c', &uses.calls}})
      for (const std::string& name : *names) add(what, name);
  }
  return text;
}

bool read_links(std::string_view text, Links& links) {
  if (!text.starts_with(kFirstLine)) return false;
  text.remove_prefix(kFirstLine.size());
  Links::Uses* uses = nullptr;
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    if (end == std::string_view::npos) return false;
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(end + 1);
    if (line == "main") {
      links.is_program = true;
      continue;
    }
    if (line.size() < 3 || line[1] != ' ') return false;
    std::string name(line.substr(2));
    if (line[0] == 'f' || line[0] == 'h') {
      uses = &links.functions[std::move(name)];
      uses->of_header = line[0] == 'h';
    } else if (std::set<std::string>* names = uses == nullptr  ? nullptr
                                              : line[0] == 'u' ? &uses->used
                                              : line[0] == 't' ? &uses->changed
                                              : line[0] == 'c' ? &uses->calls
                                                               : nullptr) {
      names->insert(names->end(), std::move(name));
    } else {
      return false;
    }
  }
  return true;
}

Neighbours::Neighbours(const std::vector<Links>& units) : units_(units) {
  for (std::size_t unit = 0; unit < units.size(); ++unit)
    for (const auto& [usr, uses] : units[unit].functions) {
      functions_[usr].push_back({unit, &usr, &uses});
      for (const std::string& name : uses.changed) changers_[name].push_back({unit, &usr, &uses});
    }
}

Neighbours::Needed Neighbours::of(const Links& unit, std::size_t position) const {
  Needed needed;
  // What of the unit's own functions counts.
  std::set<std::string> own, used;
  std::vector<const std::string*> open;
  const auto is_kept_before = [&](const std::string& usr) {
    const auto found = functions_.find(usr);
    return found != functions_.end() && found->second.front().unit < position;
  };
  for (const auto& [usr, uses] : unit.functions)
    if ((!uses.of_header || !is_kept_before(usr)) && own.insert(usr).second) open.push_back(&usr);
  // Bodies of others count with those of what they call. If a function only changes a field, those of its unit suffice.
  std::vector<std::pair<Place, bool>> others;
  const auto reach = [&](const std::unordered_map<std::string_view, Places>& index, const std::string& name,
                         const Place* within = nullptr) {
    const auto found = index.find(name);
    if (found == index.end()) return;
    for (const Place& place : found->second) {
      if (within != nullptr && place.unit != within->unit) continue;
      const bool another_program = unit.is_program && units_[place.unit].is_program;
      if (another_program || unit.functions.contains(*place.usr)) continue;
      if (!needed.functions.insert(*place.usr).second) continue;  // of a header: one that has it will do
      needed.units.insert(place.unit);
      others.emplace_back(place, within != nullptr || &index == &changers_);
    }
  };
  const auto call = [&](const std::string& usr) {
    if (const auto here = unit.functions.find(usr); here == unit.functions.end())
      reach(functions_, usr);
    else if (own.insert(usr).second)
      open.push_back(&here->first);
  };
  while (!open.empty()) {
    const Links::Uses& uses = unit.functions.at(*open.back());
    open.pop_back();
    used.insert(uses.used.begin(), uses.used.end());
    for (const std::string& usr : uses.calls) call(usr);
  }
  const auto close = [&] {
    while (!others.empty()) {
      const auto [place, within] = others.back();
      others.pop_back();
      for (const std::string& usr : place.uses->calls) reach(functions_, usr, within ? &place : nullptr);
    }
  };
  close();
  for (const std::string& name : used) reach(changers_, name);
  close();
  return needed;
}

}  // namespace streamsan::analyzer::ir
