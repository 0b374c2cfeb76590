// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "judge/textures.h"

namespace streamsan::judge {

using ordering::AccessMode;

void Textures::made(const trace::Record& record) {
  const auto& w = record.as<trace::Kind::Texture>();
  ordering::Range range{w.address, w.address + w.bytes};
  if (w.address == 0 || range.empty()) range = {};
  (w.surface == 1 ? surfaces_ : textures_)[w.handle] = range;
}

void Textures::add_to(LaunchBytes& bytes, Code& code, const Launch& launch) {
  bytes.through_textures = bytes.unknown_textures = false;
  if (!code.enabled() || !code.uses_textures(launch.index, launch.kernel)) return;
  arguments_.clear();
  const bool all = code.add_textures(launch.index, launch.kernel, launch.hash, arguments_);
  // Where all bytes are known, pointers do not count; those that are added here do.
  if (bytes.exact.complete) bytes.pointers.clear();
  const std::size_t before = bytes.pointers.size();
  const bool known = add(arguments_, bytes.pointers);
  bytes.unknown_textures = !all || !known;
  bytes.through_textures = bytes.pointers.size() != before || bytes.unknown_textures;
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
    pointers.push_back(
        {.address = range->begin, .mode = argument.written ? written : AccessMode::Read, .reach = range->size()});
  }
  return known;
}

}  // namespace streamsan::judge
