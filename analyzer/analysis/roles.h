// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Which pairs of streams the code of a translation unit treats as different ones. roles.cpp explains it.
#pragma once

#include <compare>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "analyzer/ir/ir.h"

namespace streamsan::analyzer {

/// A variable that holds a stream from elsewhere.
struct Slot {
  enum class Kind : std::uint8_t { None, Field, Global, Parameter, Local };
  Kind kind = Kind::None;
  std::string name;          ///< Field: "Class::field". Global: its name. Else the USR of the function
  std::uint32_t number = 0;  ///< Parameter: its position. Local: its place
  [[nodiscard]] bool empty() const { return kind == Kind::None; }
  friend auto operator<=>(const Slot&, const Slot&) = default;
};
Slot slot_of_field(const std::string& class_and_name);
Slot slot_of_global(const std::string& name);
Slot slot_of_parameter(const std::string& usr, std::uint32_t number);

class Roles {
 public:
  explicit Roles(const ir::Program& program);

  struct Reason {
    std::string what;  ///< "one waits for the work of the other here"
    ir::Site site;
  };
  /// Code that makes no sense if both hold one stream; nullptr: there is none.
  [[nodiscard]] const Reason* two(const Slot& a, const Slot& b) const;
  /// Code by which both may hold one stream: one is assigned to the other, they are compared, one value is given to
  /// both.
  [[nodiscard]] bool perhaps_one(const Slot& a, const Slot& b) const;
  /// A function other than `bodies` makes the stream wait for something.
  [[nodiscard]] bool waits_elsewhere(const Slot& stream, const std::set<std::string>& bodies) const;
  /// A function other than `bodies`, and not a destructor, records an event behind the stream's work, or makes the host
  /// wait for it.
  [[nodiscard]] bool is_joined_elsewhere(const Slot& stream, const std::set<std::string>& bodies) const;
  /// Where a stream or the host waits for the event, somewhere; nullptr: nowhere in sight.
  [[nodiscard]] const ir::Site* awaited(const Slot& event) const;

 private:
  friend class RoleCollector;
  using Pair = std::pair<Slot, Slot>;
  static Pair pair(const Slot& a, const Slot& b) { return a < b ? Pair{a, b} : Pair{b, a}; }

  std::map<Pair, Reason> two_;
  std::set<Pair> perhaps_one_;
  std::map<Slot, std::set<std::string>> waits_, joined_;  ///< the functions, by stream
  std::map<Slot, ir::Site> awaited_;                      ///< where it is waited for, by event
  std::set<std::string> device_syncs_;                    ///< functions that synchronise the device
};

}  // namespace streamsan::analyzer
