// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "judge/textures.h"

namespace streamsan::judge {

using ordering::AccessMode;

void Textures::made(const trace::Record& record) {
  const auto& w = record.as<trace::Kind::Texture>();
  ordering::Range range{w.address, w.address + w.bytes};
  if (w.address == 0 || range.empty()) range = {};
  (w.surface == 1 ? surfaces_ : textures_)[w.handle] = range;
  any_ = true;
}

bool Textures::add(std::span<const Code::TextureArgument> arguments,
                   std::vector<ordering::PointerArgument>& pointers) const {
  bool known = true;
  for (const Code::TextureArgument& argument : arguments) {
    const ordering::Range* range = (argument.surface ? surfaces_ : textures_).find(argument.handle);
    if (!range || range->empty()) {
      known = false;
      continue;
    }
    // Of several objects the kernel may write one, and only read or leave alone the others.
    const AccessMode written = argument.chosen ? AccessMode::Unknown : AccessMode::Write;
    pointers.push_back({.address = range->begin,
                        .mode = argument.written ? written : AccessMode::Read,
                        .reach = range->size()});
  }
  return known;
}

}  // namespace streamsan::judge
