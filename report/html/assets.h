// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The fixed parts of the page, made from the files of this folder when StreamSan is built (embed.cmake).
#pragma once

namespace streamsan::report::page {

extern const char kStyle[];
extern const char kStyleHash[];  ///< SHA-256 in base 64, as a Content-Security-Policy wants it
extern const char kBody[];
extern const char kScript[];
extern const char kScriptHash[];

}  // namespace streamsan::report::page
