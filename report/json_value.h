// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Makes a JSON value of anything that fields.h knows; for the writers of JSON.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "report/fields.h"
#include "report/text.h"

namespace streamsan::report {

class JsonWriter {
 public:
  using Json = nlohmann::ordered_json;

  template <typename T>
  void field(const char* name, const T& member) {
    out_[name] = value(member);
  }
  void address(const char* name, std::uint64_t member) { out_[name] = hex(member); }
  void derived(const char* name, bool member) { out_[name] = member; }

  template <typename T>
  static Json value(const T& plain) {
    if constexpr (std::is_enum_v<T>) {
      return report::name(plain);
    } else if constexpr (requires { plain.known(); }) {
      return plain.text();
    } else if constexpr (std::is_arithmetic_v<T> || std::same_as<T, std::string>) {
      return plain;
    } else {
      JsonWriter writer;
      fields(writer, plain);
      return std::move(writer.out_);
    }
  }
  template <typename T>
  static Json value(const std::optional<T>& perhaps) {
    return perhaps ? value(*perhaps) : Json(nullptr);
  }
  template <typename T>
  static Json value(const std::vector<T>& list) {
    Json out = Json::array();
    for (const T& one : list) out.push_back(value(one));
    return out;
  }

 private:
  Json out_ = Json::object();
};

}  // namespace streamsan::report
