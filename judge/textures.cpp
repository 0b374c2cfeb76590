// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "judge/textures.h"

#include <algorithm>

namespace streamsan::judge {

using ordering::AccessMode;

void Textures::made(const trace::Record& record, ordering::ContextId context) {
  const auto& w = record.as<trace::Kind::Texture>();
  ordering::Range range{w.address, w.address + w.bytes};
  if (w.address == 0 || range.empty()) range = {};
  std::vector<Object>& all = (w.surface == 1 ? surfaces_ : textures_)[w.handle];
  std::erase_if(all, [context](const Object& old) { return old.context == context; });
  all.push_back({context, range, w.parts > 1});
}

const Textures::Object* Textures::find(const Objects& objects, std::uint64_t handle,
                                       std::optional<ordering::ContextId> context) {
  const std::vector<Object>* all = objects.find(handle);
  if (!all) return nullptr;
  const auto own = std::ranges::find(*all, context, [](const Object& each) { return std::optional(each.context); });
  if (own != all->end()) return &*own;
  // A stream of a green context has another one than who made the object.
  return all->size() == 1 ? &all->front() : nullptr;
}

void Textures::add_to(LaunchBytes& bytes, Code& code, const Launch& launch) {
  arguments_.clear();
  const bool all = code.add_textures(launch.index, launch.kernel, launch.hash, arguments_);
  // Where all bytes are known, pointers do not count; those that are added here do.
  if (bytes.exact.complete) bytes.pointers.clear();
  const std::size_t before = bytes.pointers.size();
  const bool known = add(launch.context, bytes.pointers);
  bytes.unknown_textures = !all || !known;
  bytes.through_textures = bytes.pointers.size() != before || bytes.unknown_textures;
}

bool Textures::add(std::optional<ordering::ContextId> context, std::vector<ordering::PointerArgument>& pointers) const {
  bool known = true;
  for (const Code::TextureArgument& argument : arguments_) {
    const Object* object = find(argument.surface ? surfaces_ : textures_, argument.handle, context);
    if (!object || object->range.empty()) {
      known = false;
      continue;
    }
    // Of several objects the kernel may write one, and only read or leave alone the others.
    const AccessMode written = argument.chosen ? AccessMode::Unknown : AccessMode::Write;
    pointers.push_back({.address = object->range.begin,
                        .mode = argument.written ? written : AccessMode::Read,
                        .reach = object->range.size(),
                        .parted = object->parted});
  }
  return known;
}

}  // namespace streamsan::judge
