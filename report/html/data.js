// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The data of the page, as page.cpp wrote it, made fit for drawing: typed columns, and what is looked up while one
// moves the mouse found once.

/** One process: its operations in the order of submission. */
export class Run {
  constructor(raw, data) {
    this.data = data;
    this.pid = raw.pid;
    this.program = raw.program;
    this.command = raw.command;
    this.operations = raw.operations;
    this.lanes = raw.lanes;
    this.sites = raw.sites.map(([what, api, stack]) => ({what: data.texts[what], api: data.texts[api], stack}));
    this.buffers = raw.buffers.map(([address, bytes, memory, site]) => ({address, bytes, memory: data.texts[memory], site}));
    const ops = raw.ops;
    this.count = ops.number.length;
    this.number = Float64Array.from(ops.number);
    this.lane = Uint32Array.from(ops.lane);
    this.thread = Uint32Array.from(ops.thread);
    this.site = Uint32Array.from(ops.site);
    this.kind = Uint8Array.from(ops.kind);
    this.event = Uint32Array.from(ops.event);
    this.until = Uint32Array.from(ops.until);
    this.bytes = Float64Array.from(ops.bytes);
    this.firstTouch = Uint32Array.from(ops.firstTouch);
    this.touches = raw.touches;
    this.start = Float64Array.from(ops.start);
    this.end = Float64Array.from(ops.end);
    this.gpuTimes = raw.gpuTimes;
    this.timed = 0;
    for (let i = 0; i < this.count; ++i) this.timed += this.end[i] >= 0 ? 1 : 0;

    this.byNumber = new Map();
    for (let i = 0; i < this.count; ++i) if (this.number[i]) this.byNumber.set(this.number[i], i);
    this.edges = [];
    this.into = new Map();
    this.outOf = new Map();
    for (let i = 0; i + 2 < raw.edges.length; i += 3) {
      const edge = {from: raw.edges[i], to: raw.edges[i + 1], kind: data.edgeKinds[raw.edges[i + 2]]};
      this.edges.push(edge);
      push(this.outOf, edge.from, edge);
      push(this.into, edge.to, edge);
    }
    this.bySite = null;
    this.byBuffer = null;
  }

  /** Index of the operation that findings give this number; -1: it is not among those kept. */
  index(number) {
    const at = this.byNumber.get(number);
    return at === undefined ? -1 : at;
  }
  what(i) { return this.sites[this.site[i]].what || this.className(i); }
  className(i) { return this.data.classes[this.kind[i]]; }
  stack(i) { return this.data.stack(this.sites[this.site[i]].stack); }

  /** [{buffer, reads, writes}] */
  touchesOf(i) {
    const last = i + 1 < this.count ? this.firstTouch[i + 1] : this.touches.length;
    return this.touches.slice(this.firstTouch[i], last)
        .map((word) => ({buffer: Math.floor(word / 4), reads: (word & 1) !== 0, writes: (word & 2) !== 0}));
  }

  /** Operations that touch the buffer, in order. */
  history(buffer) {
    if (!this.byBuffer) {
      this.byBuffer = new Map();
      for (let i = 0; i < this.count; ++i) {
        for (const touch of this.touchesOf(i)) push(this.byBuffer, touch.buffer, i);
      }
    }
    return this.byBuffer.get(buffer) || [];
  }

  /** The buffer of a finding, by its address among those that its operations touch; -1: none of them is kept. */
  bufferOf(buffer, numbers) {
    if (!buffer) return -1;
    for (const number of numbers) {
      const i = this.index(number);
      if (i < 0) continue;
      for (const touch of this.touchesOf(i)) {
        if (this.buffers[touch.buffer].address === buffer.address && this.buffers[touch.buffer].bytes === buffer.bytes) return touch.buffer;
      }
    }
    return -1;
  }

  /** Calls of the place (the function called and its whole stack): where the host waits in them, or else their work. */
  callsAt(api, stack) {
    if (!this.bySite) {
      this.bySite = new Map();
      for (let i = 0; i < this.count; ++i) {
        const site = this.sites[this.site[i]];
        push(this.bySite, site.api + '@' + site.stack, i);
      }
    }
    const all = this.bySite.get(api + '@' + stack) || [], waits = all.filter((i) => /^(sync|free)$/.test(this.className(i)));
    return waits.length ? waits : all;
  }
}

function emptyRun(pid) {
  const ops = {number: [], lane: [], thread: [], site: [], kind: [], event: [], until: [], bytes: [], firstTouch: [], start: [], end: []};
  return {pid, program: '', command: '', operations: 0, gpuTimes: false, lanes: [], sites: [], buffers: [], ops, touches: [], edges: []};
}

export class Data {
  constructor(raw) {
    Object.assign(this, raw);
    // Findings without a picture of their process: an empty one, so that everything else works.
    const known = new Set(raw.runs.map((run) => run.pid));
    for (const finding of raw.findings) {
      if (!known.has(finding.pid)) raw.runs.push(emptyRun(finding.pid));
      known.add(finding.pid);
    }
    this.runs = raw.runs.map((run) => new Run(run, this));
    this.findings.forEach((finding, i) => { finding.index = i; });
    this.groups = new Map();
    for (const finding of this.findings) if (finding.group) push(this.groups, `${finding.pid} ${finding.group}`, finding);
    const kOrder = ['error', 'latent', 'possible', 'note'], rank = (each) => kOrder.indexOf(each.severity);
    for (const group of this.groups.values()) group.sort((a, b) => rank(a) - rank(b));
  }
  /** Frames, innermost first. */
  stack(index) {
    return (this.stacks[index] || []).map((at) => {
      const [func, file, line, column, module, offset, library, language, forward] = this.frames[at];
      const frame = {func: this.texts[func], file: this.texts[file], line, column, module: this.texts[module], offset,
                     library: library === 1, forward: forward === 1};
      frame.python = this.texts[language] === 'python' || frame.file.endsWith('.pyx');
      return frame;
    });
  }
  /** The findings that the repair of this one repairs, itself among them, the most severe first; empty: it stands alone. */
  groupOf(finding) { return (finding.group && this.groups.get(`${finding.pid} ${finding.group}`)) || []; }
  /** The same findings, so that those of one missing edge stand together, the most severe first. */
  inGroups(list) {
    const out = new Set(), there = new Set(list);
    for (const finding of list) for (const each of [...this.groupOf(finding), finding]) if (there.has(each)) out.add(each);
    return [...out];
  }
  runOf(finding) { return this.runs.find((run) => run.pid === finding.pid) || this.runs[0]; }
}

export function push(map, key, value) {
  const list = map.get(key);
  if (list) list.push(value);
  else map.set(key, [value]);
}

/** First index in [0, count) where holds(index); count if none. holds is false, ..., false, true, ..., true. */
export function firstWhere(count, holds) {
  let low = 0, high = count;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (holds(middle)) high = middle;
    else low = middle + 1;
  }
  return low;
}

export function bytesText(bytes) {
  if (bytes < 10240) return `${bytes} bytes`;
  const units = ['KiB', 'MiB', 'GiB', 'TiB'];
  let value = bytes / 1024, unit = 0;
  while (value >= 1024 && unit < 3) { value /= 1024; ++unit; }
  return `${value.toFixed(value < 10 ? 1 : 0)} ${units[unit]}`;
}

export function timeText(ns) {
  const size = Math.abs(ns);
  if (size < 1e3) return `${Math.round(ns)} ns`;
  if (size < 1e6) return `${(ns / 1e3).toPrecision(4)} µs`;
  if (size < 1e9) return `${(ns / 1e6).toPrecision(4)} ms`;
  return `${(ns / 1e9).toPrecision(4)} s`;
}

/** A place on an axis with marks `step` apart: no more digits than tell them apart. */
export function markText(ns, step) {
  const [unit, name] = [[1e9, 's'], [1e6, 'ms'], [1e3, 'µs'], [1, 'ns']].find(([each]) => Math.abs(ns) >= each) || [1, 'ns'];
  return `${(ns / unit).toFixed(Math.max(0, Math.ceil(Math.log10(unit / step) - 1e-9)))} ${name}`;
}

export function milliseconds(ms) { return timeText(ms * 1e6); }

export function counted(count, noun) { return `${count.toLocaleString('en')} ${noun}${count === 1 ? '' : 's'}`; }

/** What a box is labelled with: without the words that its colour says. */
export function shortLabel(what) {
  if (what.startsWith('the ')) return what;
  const way = /\((host|device) to (host|device)\)/.exec(what);
  const name = what.replace(/^kernel /, '').replace(/\((\.\.\.|anonymous namespace)\)::/g, '').replace(/[<(].*$/, '').trim().replace(/^.* /, '').replace(/^.*::/, '');
  const bare = name.replace(/^cu(da)?(?=[A-Z])/, '') || what;
  return way && !/[HD]to[HD]/.test(bare) ? `${bare} ${way[1][0].toUpperCase()}→${way[2][0].toUpperCase()}` : bare;
}

/** A sentence that begins with a word begins with a capital; a name stays as it is. */
export function sentence(text) {
  return /^[a-z]+('s)?[ ,]/.test(text) ? text[0].toUpperCase() + text.slice(1) : text;
}
