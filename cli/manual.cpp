// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "cli/manual.h"

#include <string_view>

#include "cli/options.h"

namespace streamsan::cli {
namespace {

/// Text for troff: a backslash and a dash mean something else, and so does a dot or a quote that begins a line.
std::string escaped(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (out.empty() && (c == '.' || c == '\'')) out += "\\&";
    if (c == '\\') {
      out += "\\e";
    } else if (c == '-') {
      out += "\\-";
    } else {
      out += c;
    }
  }
  return out;
}

constexpr const char* kBeforeOptions = R"(.TH STREAMSAN 1 "" "streamsan )" STREAMSAN_VERSION R"(" "User Commands"
.SH NAME
streamsan \- find stream\-ordering bugs in CUDA programs
.SH SYNOPSIS
.B streamsan run
.RI [ options ]
.RB [ \-\- ]
.I program
.RI [ arguments ]
.br
.B streamsan check
.RI [ options ]
.IR trace ...
.br
.B streamsan report
.RI [ options ]
.IR findings.json ...
.br
.B streamsan diff
.RI [ options ]
.I before after
.br
.B streamsan footprints
.RB [ \-\-json=\fIfile ]
.IR trace ...
.br
.B streamsan doctor
.br
.B streamsan help
.RI [ command | options ]
.SH DESCRIPTION
.B streamsan
runs an unmodified CUDA program, records its calls of the driver, and reports pairs of operations on common memory that no
stream, event or synchronisation puts in order: races between streams, races between the host and the GPU, and memory that is
freed while it is in use.
.TP
.B run
runs a program and reports its races. The program's output and exit code are its own, unless something is found.
.TP
.B check
judges traces that were recorded earlier: by a run with
.BR \-\-keep_trace ,
or by a program that ran with the preload library alone.
.TP
.B report
shows the findings of earlier runs, or converts them to another format.
.TP
.B diff
says what is new and what is gone between two runs.
.TP
.B footprints
shows which bytes kernels touched.
.TP
.B doctor
checks the set\-up and says what to do.
.SH EXIT STATUS
.TP
.B 66
an unsuppressed error was found (option
.BR exitcode ).
.TP
.B 2
the command could not do its work, or, with
.BR require_activity ,
nothing was checked.
.TP
.B 126, 127
the program could not be run, or was not found.
.TP
otherwise
that of the program.
.SH ENVIRONMENT
.TP
.B STREAMSAN_OPTIONS
options as
.IR key = value ,
separated by blanks, commas, colons or line ends. A value in quotes, '...' or "...", is taken as it is:
.B STREAMSAN_OPTIONS="log_path='/tmp/my log':verbosity=1"
.br
A flag wins over the variable.
.TP
.B CI
set, and not to false or 0: a run in which nothing was checked fails (option
.BR require_activity ).
.TP
.B NO_COLOR
set: no colours, unless
.BR \-\-color=always .
.SH OPTIONS
Each option is a flag
.BI \-\- name = value
of the commands in brackets, and a key of
.BR STREAMSAN_OPTIONS .
.I guest
is the recorder inside the program; an option that only the guest reads has no flag.
)";

constexpr const char* kBehindOptions = R"(.SH EXAMPLES
.nf
streamsan run \-\- ./app input.dat
streamsan run \-\-json=findings.%p.json \-\-html=report.html \-\- mpirun \-n 2 ./app
streamsan report \-\-sarif=findings.sarif findings.*.json
.fi
.SH SEE ALSO
.BR compute\-sanitizer (1)
)";

}  // namespace

std::string manual() {
  std::string out = kBeforeOptions;
  for (const OptionRow& row : option_rows()) {
    out += ".TP\n.B " + escaped(row.name) + "=" + escaped(row.default_value) + "\n" + escaped(row.description) + " [" +
           option_readers(row) + "]\n";
  }
  return out + kBehindOptions;
}

}  // namespace streamsan::cli
