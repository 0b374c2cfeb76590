# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Joins the modules of the page to one script and writes it, the style and the body as C++ strings.
#
#   cmake -DFOLDER=... -DMODULES=dom.js,data.js,... -DOUT=assets.cpp -P embed.cmake
#
# The modules are plain ECMAScript modules, so that tools and tests can import them one by one. Here they share one
# scope: `import` lines go, `export` before a declaration goes, and no two modules declare the same name at the top.

# SHA-256 of a text in base 64.
function(hash text out)
  string(SHA256 hex "${text}")
  set(digits ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/)
  set(base64 "")
  foreach(at RANGE 0 60 6)
    string(SUBSTRING "${hex}00" ${at} 6 group)
    string(LENGTH "${group}" length)
    math(EXPR bits "0x${group}")
    foreach(shift 18 12 6 0)
      math(EXPR digit "(${bits} >> ${shift}) & 63")
      string(SUBSTRING ${digits} ${digit} 1 digit)
      string(APPEND base64 ${digit})
    endforeach()
  endforeach()
  # 32 bytes are ten groups of three and one of two: the last digit is padding.
  string(SUBSTRING ${base64} 0 43 base64)
  set(${out} "${base64}=" PARENT_SCOPE)
endfunction()

function(literal name text)
  if("${text}" MATCHES "\\)STREAMSAN\"")
    message(FATAL_ERROR "${name} holds the end of its own literal")
  endif()
  file(APPEND "${OUT}.new" "const char ${name}[] = R\"STREAMSAN(${text})STREAMSAN\";\n")
endfunction()

file(READ "${FOLDER}/page.css" style)
file(READ "${FOLDER}/page.html" body)
string(REPLACE "," ";" modules "${MODULES}")
set(script "\n'use strict'; (() => {\n")
foreach(module ${modules})
  file(READ "${FOLDER}/${module}" text)
  string(REGEX REPLACE "(^|\n)import [^\n]*" "\\1" text "${text}")
  string(REGEX REPLACE "(^|\n)export " "\\1" text "${text}")
  string(APPEND script "${text}")
endforeach()
string(APPEND script "})();\n")

hash("${style}" style_hash)
hash("${script}" script_hash)
file(WRITE "${OUT}.new" "// Made by embed.cmake.\n#include \"report/html/assets.h\"\n\nnamespace streamsan::report::page {\n")
literal(kStyle "${style}")
literal(kStyleHash "${style_hash}")
literal(kBody "${body}")
literal(kScript "${script}")
literal(kScriptHash "${script_hash}")
file(APPEND "${OUT}.new" "}  // namespace streamsan::report::page\n")
file(RENAME "${OUT}.new" "${OUT}")
