// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "report/read_json.h"

#include <algorithm>
#include <charconv>
#include <iterator>
#include <limits>
#include <nlohmann/json.hpp>

#include "report/fields.h"
#include "report/printable.h"

namespace streamsan::report {
namespace {

using Value = nlohmann::json;

/// What is wrong, and where.
struct Fault {
  std::string text;
};

class Reader {
 public:
  Reader(const Value& value, std::string place) : value_(value), place_(std::move(place)) {
    if (!value.is_object()) fail(place_, "an object");
  }

  template <typename T>
  void field(const char* name, T& member) {
    if (auto it = value_.find(name); it != value_.end()) return read(*it, at(name), member);
    if constexpr (std::same_as<T, Evidence>) {
      // The first versions only said whether it was exact.
      bool exact = true;
      field("exact", exact);
      member = exact ? Evidence::Exact : Evidence::Inferred;
    }
  }
  void address(const char* name, std::uint64_t& member) {
    auto it = value_.find(name);
    if (it == value_.end()) return;
    std::string text;
    read(*it, at(name), text);
    const char* end = text.data() + text.size();
    auto [stop, error] = std::from_chars(text.data() + std::min<std::size_t>(2, text.size()), end, member, 16);
    if (!text.starts_with("0x") || error != std::errc{} || stop != end) fail(at(name), "an address like \"0x7f12\"");
  }
  void derived(const char*, bool) {}

 private:
  [[noreturn]] static void fail(const std::string& place, const std::string& expected) {
    throw Fault{place + ": " + expected + " is expected"};
  }
  [[nodiscard]] std::string at(const char* name) const { return place_.empty() ? name : place_ + "." + name; }

  template <typename T>
  static void read(const Value& value, const std::string& place, T& out) {
    if constexpr (std::same_as<T, bool>) {
      if (!value.is_boolean()) fail(place, "true or false");
      out = value.get<bool>();
    } else if constexpr (std::same_as<T, double>) {
      if (!value.is_number()) fail(place, "a number");
      out = value.get<double>();
    } else if constexpr (std::is_integral_v<T>) {
      if (!value.is_number_unsigned() || value.get<std::uint64_t>() > std::numeric_limits<T>::max()) {
        fail(place, "a whole number up to " + std::to_string(std::numeric_limits<T>::max()));
      }
      out = value.get<T>();
    } else if constexpr (std::same_as<T, std::string>) {
      if (!value.is_string()) fail(place, "text");
      out = value.get_ref<const std::string&>();
    } else if constexpr (std::is_enum_v<T>) {
      read_name(value, place, out);
    } else {
      Reader reader(value, place);
      fields(reader, out);
    }
  }
  template <typename T>
  static void read(const Value& value, const std::string& place, std::optional<T>& out) {
    if (value.is_null()) return out.reset();
    read(value, place, out.emplace());
  }
  template <typename T>
  static void read(const Value& value, const std::string& place, std::vector<T>& out) {
    if (!value.is_array()) fail(place, "a list");
    out.resize(value.size());
    for (std::size_t i = 0; i < out.size(); ++i) read(value[i], place + "[" + std::to_string(i) + "]", out[i]);
  }
  template <typename Enum>
  static void read(const Value& value, const std::string& place, Word<Enum>& out) {
    std::string word;
    read(value, place, word);
    out = Word<Enum>::of(word);
  }
  template <typename Enum>
  static void read_name(const Value& value, const std::string& place, Enum& out) {
    const std::optional<Enum> found =
        value.is_string() ? find<Enum>(value.get_ref<const std::string&>()) : std::nullopt;
    if (!found) fail(place, "one of " + listed<Enum>());
    out = *found;
  }

  const Value& value_;
  std::string place_;
};

/// "line 3, column 7: not JSON: ..." The library's text is "[json.exception...] parse error at line 3, column 7: ...".
std::string syntax_fault(const Value::parse_error& error) {
  std::string text = error.what();
  for (std::string_view skipped : {std::string_view("] "), std::string_view("parse error at ")}) {
    if (std::size_t at = text.find(skipped); at != std::string::npos) text.erase(0, at + skipped.size());
  }
  return one_line(text);
}

}  // namespace

std::string read_json(std::string_view text, FindingsFile& out) {
  out = {};
  try {
    const Value json = Value::parse(text);
    if (!json.is_object() || !json.contains("findings") || !json.contains("summary")) {
      return "not a file of findings: \"findings\" and \"summary\" are missing (streamsan run --json=FILE writes such "
             "files)";
    }
    Reader reader(json, "");
    reader.field("schema", out.schema);
    reader.field("findings", out.findings);
    std::vector<Finding> waits;
    reader.field("waits", waits);
    std::move(waits.begin(), waits.end(), std::back_inserter(out.findings));
    reader.field("summary", out.summary);
  } catch (const Value::parse_error& error) {
    return "not JSON: " + syntax_fault(error);
  } catch (const Fault& fault) {
    return fault.text;
  } catch (const Value::exception& error) {
    return one_line(error.what());
  }
  return {};
}

}  // namespace streamsan::report
