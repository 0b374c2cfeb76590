// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What part of a run is seen: rows of operations, and a piece of the x axis. Knows neither canvas nor mouse; paint.js
// draws it, timeline.js moves it.
//
// The x axis is the order of submission (one step for each operation) or, where times are known, real time in
// nanoseconds. In real time operations without a time have no place.
import {firstWhere} from './data.js';

export const kRow = 30, kAxis = 22, kGutter = 176;
const kWidest = 190;   // of a box in the order of submission
const kShortest = 20;  // nanoseconds that can fill the window

export class View {
  constructor() {
    this.run = null;
    this.axis = 'order';
    this.from = 0;
    this.to = 1;
    this.length = 1;
    this.rows = [];
    this.visibleRows = [];
    this.canvasWidth = 0;
    this.canvasHeight = 0;
    this.scrollTop = 0;
  }

  /** Rows: operations in order of their beginning. */
  arrange(run, axis) {
    this.run = run;
    this.axis = axis;
    this.rows = run.lanes.map(() => []);
    for (let i = 0; i < run.count; ++i) {
      if (this.hasPlace(i)) this.rows[run.lane[i]].push(i);
    }
    if (axis === 'time') for (const row of this.rows) row.sort((a, b) => run.start[a] - run.start[b]);
    this.length = axis === 'order' ? Math.max(run.count, 1) : Math.max(1, run.end.reduce((a, b) => Math.max(a, b), 0));
    this.visibleRows = run.lanes.map((_, lane) => lane).filter((lane) => this.rows[lane].length > 0 || axis === 'order');
  }

  begin(i) { return this.axis === 'order' ? i : this.run.start[i]; }
  finish(i) { return this.axis === 'time' ? this.run.end[i] : Math.max(i + 1, this.run.until[i]); }
  /** Where an arrow leaves: in the order of submission a call that blocks for long is left where it begins. */
  leaves(i) { return this.axis === 'order' ? i + 1 : this.run.end[i]; }
  hasPlace(i) { return this.axis === 'order' || this.run.end[i] >= 0; }

  // ---- pixels

  get width() { return Math.max(this.canvasWidth - kGutter, 10); }
  get perPixel() { return (this.to - this.from) / this.width; }
  x(at) { return kGutter + (at - this.from) / (this.to - this.from) * this.width; }
  at(x) { return this.from + (x - kGutter) / this.width * (this.to - this.from); }
  rowY(row) { return kAxis + row * kRow - this.scrollTop; }
  laneY(lane) {
    const row = this.visibleRows.indexOf(lane);
    return row < 0 ? NaN : this.rowY(row);
  }
  /** The operation under a point of the canvas; -1: none. */
  hit(x, y) {
    if (x < kGutter || y < kAxis) return -1;
    const row = this.rows[this.visibleRows[Math.floor((y - kAxis + this.scrollTop) / kRow)]];
    if (!row) return -1;
    const at = this.at(x), slack = 3 * this.perPixel;
    const next = firstWhere(row.length, (j) => this.begin(row[j]) > at);
    for (const j of [next - 1, next]) {
      if (j >= 0 && j < row.length && this.begin(row[j]) - slack <= at && at <= this.finish(row[j]) + slack) return row[j];
    }
    return -1;
  }

  // ---- moving about

  get narrowest() { return this.axis === 'order' ? this.width / kWidest : kShortest; }
  look(from, to) {
    const margin = this.length * 0.02 + (this.axis === 'order' ? 0.5 : 0);
    const span = Math.min(Math.max(to - from, Math.min(this.narrowest, this.length)), this.length + 2 * margin);
    let start = (from + to - span) / 2;
    start = Math.min(Math.max(start, -margin), this.length + margin - span);
    this.from = start;
    this.to = start + span;
    this.moved();
  }
  moved() {}
  fit() { this.look(0, Math.max(this.length, this.axis === 'order' ? this.narrowest : 1)); }
  zoom(factor, around = (this.from + this.to) / 2) {
    this.look(around - (around - this.from) * factor, around + (this.to - around) * factor);
  }
  pan(fraction) {
    const by = (this.to - this.from) * fraction;
    this.look(this.from + by, this.to + by);
  }
  /** Looks at these operations, with some room around them. False: none of them has a place. */
  lookAt(indices) {
    const placed = indices.filter((i) => i >= 0 && this.hasPlace(i));
    if (placed.length === 0) return false;
    const low = Math.min(...placed.map((i) => this.begin(i)));
    const high = Math.max(...placed.map((i) => (this.axis === 'order' ? i + 1 : this.finish(i))));
    const room = Math.max((high - low) * 0.25, this.axis === 'order' ? 3 : 0);
    this.look(low - room, high + room);
    return true;
  }

  /** The operation beside another, along its row or in the rows above and below; without one what is in the middle. */
  neighbour(from, along, across) {
    if (from < 0 || !this.hasPlace(from)) {
      const middle = (this.from + this.to) / 2;
      for (const lane of this.visibleRows) {
        const row = this.rows[lane], k = firstWhere(row.length, (j) => this.begin(row[j]) >= middle);
        if (k < row.length) return row[k];
      }
      return -1;
    }
    if (along) {
      const list = this.rows[this.run.lane[from]], k = list.indexOf(from) + along;
      return list[Math.min(Math.max(k, 0), list.length - 1)];
    }
    for (let row = this.visibleRows.indexOf(this.run.lane[from]) + across; row >= 0 && row < this.visibleRows.length; row += across) {
      const list = this.rows[this.visibleRows[row]];
      if (list.length === 0) continue;
      const k = firstWhere(list.length, (j) => this.begin(list[j]) >= this.begin(from));
      return list[Math.min(k, list.length - 1)];
    }
    return from;
  }
}
