// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Files that cannot be written or read: one line says which and why, and the exit code is 2. Nothing is half written.
//
// RUN: %build %s -o %t
// RUN: rm -rf %t.dir && mkdir %t.dir
// RUN: %expect 0 %streamsan run --json %t.dir/new/deep/x.json --sarif %t.dir/new/x.sarif -- %t
// RUN: %python %S/inputs/check_sarif.py %t.dir/new/x.sarif | %filecheck %s --check-prefix=EMPTY
// RUN: %expect 2 %streamsan run --sarif /dev/full -- %t 2>&1 | %filecheck %s --check-prefix=FULL
// RUN: %expect 2 %streamsan run --junit /proc/no/x.xml --json %t.dir/other.json -- %t 2>&1 | %filecheck %s --check-prefix=ABSENT
// RUN: test -s %t.dir/other.json
// RUN: %expect 2 sh -c 'exec "$@" > /dev/full' - %streamsan report --sarif %t.dir/other.json 2>&1 | %filecheck %s --check-prefix=STDOUT
// RUN: %expect 2 %streamsan run --json=- --sarif=- -- %t 2>&1 | %filecheck %s --check-prefix=BOTH
// RUN: %expect 2 %streamsan run --json=- --github -- %t 2>&1 | %filecheck %s --check-prefix=GITHUB
// RUN: %expect 0 %streamsan run --json=- -- %t | %filecheck %s --check-prefix=WROTE
//
// A full disk leaves the file of yesterday.
// RUN: echo yesterday > %t.dir/x.sarif
// RUN: %expect 2 sh -c 'trap "" XFSZ; ulimit -f 1; exec "$@"' - %streamsan report --sarif=%t.dir/x.sarif %t.dir/other.json 2>&1 | %filecheck %s --check-prefix=LIMIT
// RUN: grep -q yesterday %t.dir/x.sarif
// RUN: ls %t.dir | %filecheck %s --check-prefix=LS
//
// Files of findings that are none. What is read is never taken for what is to be written.
// RUN: head -c 100 %t.dir/other.json > %t.dir/cut.json
// RUN: %expect 2 %streamsan report --sarif=%t.dir/never.sarif %t.dir/other.json %t.dir/cut.json 2>&1 | %filecheck %s --check-prefix=CUT
// RUN: not test -e %t.dir/never.sarif
// RUN: sed 's/"operations": [0-9]*/"operations": "many"/' %t.dir/other.json > %t.dir/bad.json
// RUN: %expect 2 %streamsan report %t.dir/bad.json 2>&1 | %filecheck %s --check-prefix=BAD
// RUN: %expect 2 %streamsan diff %t.dir/other.json %t.dir/bad.json 2>&1 | %filecheck %s --check-prefix=BAD
// RUN: %expect 2 %streamsan report %t.dir/none.json 2>&1 | %filecheck %s --check-prefix=NONE
// RUN: %expect 2 %streamsan report %t.dir 2>&1 | %filecheck %s --check-prefix=DIRECTORY
// RUN: cp %t.dir/other.json %t.dir/more.json
// RUN: %expect 2 %streamsan report --sarif %t.dir/more.json %t.dir/other.json 2>&1 | %filecheck %s --check-prefix=OVER
// RUN: cmp %t.dir/more.json %t.dir/other.json
// RUN: env LD_PRELOAD=%preload STREAMSAN_OPTIONS=trace_path=%t.dir/x.trace %t
// RUN: %expect 2 %streamsan report %t.dir/x.trace 2>&1 | %filecheck %s --check-prefix=TRACE
// RUN: %expect 2 %streamsan report --perfetto=x %t.dir/other.json 2>&1 | %filecheck %s --check-prefix=PERFETTO
// RUN: %expect 2 %streamsan diff %t.dir/other.json 2>&1 | %filecheck %s --check-prefix=TWO
// RUN: %expect 2 %streamsan diff --fail-on=grave %t.dir/other.json %t.dir/other.json 2>&1 | %filecheck %s --check-prefix=GRAVE
//
// EMPTY: successful: True exit code: 0
// FULL: streamsan: cannot write /dev/full: No space left on device
// ABSENT: streamsan: cannot write /proc/no/x.xml: cannot create /proc/no
// STDOUT: streamsan: cannot write to stdout: No space left on device
// BOTH: streamsan: json and sarif cannot both go to stdout
// GITHUB: streamsan: github and json cannot both go to stdout
// WROTE: "schema": 3
// LIMIT: streamsan: cannot write {{.*}}x.sarif: File too large
// LS-NOT: x.sarif.
// CUT: streamsan: {{.*}}cut.json: not JSON: line {{[0-9]+}}, column {{[0-9]+}}:
// BAD: streamsan: {{.*}}bad.json: summary.operations: a whole number up to 18446744073709551615 is expected
// NONE: streamsan: cannot read {{.*}}none.json: No such file or directory
// DIRECTORY: streamsan: cannot read {{.*}}: Is a directory
// OVER: streamsan: {{.*}}more.json holds results: --sarif={{.*}}more.json writes over them, --sarif=- writes to stdout
// TRACE: x.trace: a trace, not a file of findings: streamsan check judges it
// PERFETTO: streamsan: a file of findings has no operations to draw
// TWO: streamsan: AFTER is required
// GRAVE: streamsan: {{.*}}fail-on
#include "must.h"

int main() {
  char* buffer;
  must(cudaMalloc(&buffer, 4096));
  must(cudaMemset(buffer, 0, 4096));
  must(cudaDeviceSynchronize());
}
