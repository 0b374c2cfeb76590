// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Which ELF files are mapped where: Module records for the symboliser outside.
#pragma once

namespace streamsan::recorder {

/// Writes a Module record for each object that was loaded since the last call. Cheap when nothing was.
/// Two threads at once: the second does nothing, and its Stack record may precede the Module records it needs; the
/// judge looks behind, too.
void note_modules();

}  // namespace streamsan::recorder
