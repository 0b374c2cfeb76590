// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// See json.h. Strings come from other programs' symbol tables and may hold any bytes: what is not UTF-8 is replaced,
// never an exception.
#include "report/json.h"

#include <nlohmann/json.hpp>

#include "report/fields.h"
#include "report/text.h"

namespace streamsan::report {
namespace {

using Json = nlohmann::ordered_json;

class Writer {
 public:
  template <typename T>
  void field(const char* name, const T& member) {
    out_[name] = json_of(member);
  }
  void address(const char* name, std::uint64_t member) { out_[name] = hex(member); }
  void derived(const char* name, bool value) { out_[name] = value; }

  Json take() { return std::move(out_); }

  template <typename T>
  static Json json_of(const T& value) {
    if constexpr (std::is_enum_v<T>) {
      return report::name(value);
    } else if constexpr (std::is_arithmetic_v<T> || std::same_as<T, std::string>) {
      return value;
    } else {
      Writer writer;
      fields(writer, value);
      return writer.take();
    }
  }
  template <typename T>
  static Json json_of(const std::optional<T>& value) {
    return value ? json_of(*value) : Json(nullptr);
  }
  template <typename T>
  static Json json_of(const std::vector<T>& values) {
    Json out = Json::array();
    for (const T& value : values) out.push_back(json_of(value));
    return out;
  }

 private:
  Json out_ = Json::object();
};

}  // namespace

std::string json(std::span<const Finding> findings, const Summary& summary) {
  Json out;
  out["schema"] = kJsonSchema;
  out["tool"] = {{"name", "streamsan"}, {"version", STREAMSAN_VERSION}};
  out["findings"] = Json::array();
  for (const Finding& finding : findings) out["findings"].push_back(Writer::json_of(finding));
  out["summary"] = Writer::json_of(summary);
  return out.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace streamsan::report
