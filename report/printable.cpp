// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "report/printable.h"

#include "report/fields.h"

namespace streamsan::report {
namespace {

class Cleaner {
 public:
  template <typename T>
  void field(const char*, T& member) {
    clean(member);
  }
  void address(const char*, std::uint64_t&) {}
  void derived(const char*, bool) {}

 private:
  void clean(std::string& text) { text = one_line(text); }
  template <typename Enum>
  void clean(Word<Enum>& word) {
    word.clean(one_line);
  }
  template <typename T>
  void clean(std::vector<T>& values) {
    for (T& value : values) clean(value);
  }
  template <typename T>
  void clean(std::optional<T>& value) {
    if (value) clean(*value);
  }
  template <typename T>
  void clean(T& value) {
    if constexpr (std::is_class_v<T>) fields(*this, value);
  }
};

}  // namespace

Finding printable(Finding finding) {
  Cleaner cleaner;
  fields(cleaner, finding);
  return finding;
}

}  // namespace streamsan::report
