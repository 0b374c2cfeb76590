// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// std::string of libstdc++: the members that are in the shared library. An object is a pointer to the text, its length,
// and 16 bytes that hold a short text or the capacity of a long one.
#include <cstring>

#include "analyzer/interpreter/library.h"
#include "analyzer/interpreter/values.h"

namespace streamsan::analyzer::interpreter {
namespace {

constexpr Word kLength = 8, kLocal = 16, kSize = 32, kLocalRoom = 15;

bool take(Machine& machine, Word object, std::string& text) {
  if (!machine.reads(object, kSize)) return false;
  const Word at = load_word(object), size = load_word(object + kLength);
  if (!machine.memory().contains(at, size + 1)) {
    machine.stop("a text that is nowhere");
    return false;
  }
  text.assign(reinterpret_cast<const char*>(at), size);
  return true;
}

constexpr Word kLongest = Word{16} << 20U;  ///< a longer text is an error

/// In place if there is room, as the library does: pointers into the text stay valid then.
bool assign(Machine& machine, Word object, const std::string& text) {
  Word at = load_word(object);
  const Word room = at == object + kLocal ? kLocalRoom : load_word(object + kLocal);
  if (text.size() > room) {
    const Word more = std::max<Word>(text.size(), 2 * room);
    Byte* const fresh = machine.memory().heap(more + 1);
    if (fresh == nullptr) {
      machine.stop("no memory");
      return false;
    }
    at = reinterpret_cast<Word>(fresh);
    store_word(object, at);
    store_word(object + kLocal, more);
  }
  store_word(object + kLength, text.size());
  std::memcpy(reinterpret_cast<void*>(at), text.c_str(), text.size() + 1);
  return true;
}

bool bytes(Machine& machine, Word at, Word size, std::string& text) {
  if (size != 0 && !machine.reads(at, size)) return false;
  text.assign(reinterpret_cast<const char*>(at), size);
  return true;
}

}  // namespace

Outcome Library::call_text(Machine& machine, std::string_view name, const Arguments& arguments, Byte* result) {
  constexpr std::string_view kMember = "_ZNSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEE";
  constexpr std::string_view kConst = "_ZNKSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEE";
  const bool changes = name.starts_with(kMember);
  if (!changes && !name.starts_with(kConst)) return Outcome::Unknown;
  name.remove_prefix(changes ? kMember.size() : kConst.size());
  const Word object = arguments.word(0), a = arguments.word(1), b = arguments.word(2), c = arguments.word(3),
             d = arguments.word(4);
  std::string text, other;
  for (const Word size : {a, b, c, d})
    if (!machine.memory().contains(size, 1) && size > kLongest && size != ~Word{0}) {
      machine.stop("a text that is too long");
      return Outcome::Stop;
    }
  if (name == "9_M_createERmm") {
    if (!machine.reads(a, 8)) return Outcome::Stop;
    give(result, reinterpret_cast<Word>(machine.memory().heap(load_word(a) + 1)));
    return Outcome::Done;
  }
  if (name == "12_M_constructEmc") {
    if (!machine.writes(object, kSize)) return Outcome::Stop;
    store_word(object, object + kLocal);
    return assign(machine, object, std::string(a, static_cast<char>(b))) ? Outcome::Done : Outcome::Stop;
  }
  if (!take(machine, object, text)) return Outcome::Stop;
  const auto from = static_cast<std::size_t>(std::min<Word>(a, text.size()));
  give(result, object);
  if (name == "10_M_replaceEmmPKcm") {
    if (!bytes(machine, c, d, other)) return Outcome::Stop;
    text.replace(from, b, other);
  } else if (name == "14_M_replace_auxEmmmc") {
    text.replace(from, b, c, static_cast<char>(d));
  } else if (name == "9_M_appendEPKcm") {
    if (!bytes(machine, a, b, other)) return Outcome::Stop;
    text += other;
  } else if (name == "9_M_assignERKS4_") {
    if (!take(machine, a, text)) return Outcome::Stop;
  } else if (name == "9_M_mutateEmmPKcm") {
    if (c != 0 && !bytes(machine, c, d, other)) return Outcome::Stop;
    other.resize(d);
    const Word length = text.size();
    text.replace(from, b, other);
    if (!assign(machine, object, text)) return Outcome::Stop;
    store_word(object + kLength, length);  // the caller sets it
    return Outcome::Done;
  } else if (name == "8_M_eraseEmm") {
    text.erase(from, b);
  } else if (name == "7reserveEm" || name == "7reserveEv") {
    const std::string before = text;
    if (name == "7reserveEm") text.resize(std::max<std::size_t>(text.size(), a));
    if (!assign(machine, object, text)) return Outcome::Stop;
    text = before;
  } else if (name == "6resizeEmc") {
    text.resize(a, static_cast<char>(b));
  } else if (name == "4swapERS4_") {
    if (!take(machine, a, other)) return Outcome::Stop;
    return assign(machine, object, other) && assign(machine, a, text) ? Outcome::Done : Outcome::Stop;
  } else if (name == "4findEPKcmm" || name == "5rfindEPKcmm" || name == "13find_first_ofEPKcmm" ||
             name == "12find_last_ofEPKcmm") {
    if (!bytes(machine, a, c, other)) return Outcome::Stop;
    give(result, name == "4findEPKcmm"             ? text.find(other, b)
                 : name == "5rfindEPKcmm"          ? text.rfind(other, b)
                 : name == "13find_first_ofEPKcmm" ? text.find_first_of(other, b)
                                                   : text.find_last_of(other, b));
    return Outcome::Done;
  } else if (name == "4findEcm" || name == "5rfindEcm") {
    give(result, name == "4findEcm" ? text.find(static_cast<char>(a), b) : text.rfind(static_cast<char>(a), b));
    return Outcome::Done;
  } else if (name == "7compareEPKc" || name == "7compareERKS4_") {
    if (name == "7compareEPKc" ? !machine.reads_text(a, other) : !take(machine, a, other)) return Outcome::Stop;
    const int order = text.compare(other);
    if (result != nullptr) std::memcpy(result, &order, sizeof order);
    return Outcome::Done;
  } else {
    return Outcome::Unknown;
  }
  return assign(machine, object, text) ? Outcome::Done : Outcome::Stop;
}

}  // namespace streamsan::analyzer::interpreter
