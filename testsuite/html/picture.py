# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A picture of a report, as those in docs/ are made.

    picture.py REPORT.html OUT.png [--at HASH] [--press KEYS] [--time] [--dark] [--size 1240x740]

    picture.py report.html race.png --press n        the first finding
    picture.py report.html op.png --at 'op=18' --dark

Absolute paths are for the one who makes the report: --strip_path_prefix. Needs a browser, see browser.py.
"""
import argparse

from browser import Browser

parser = argparse.ArgumentParser()
parser.add_argument("report")
parser.add_argument("out")
parser.add_argument("--at", default="", help="what stands behind the # of the address: finding=...&op=...&view=...")
parser.add_argument("--press", default="", help="keys, one after the other")
parser.add_argument("--time", action="store_true", help="in real time")
parser.add_argument("--dark", action="store_true")
parser.add_argument("--size", default="1240x740")
asked = parser.parse_intermixed_args()

width, height = map(int, asked.size.split("x"))
with Browser() as browser:
    page = browser.open(asked.report, "#" + asked.at if asked.at else "", width=width, height=height, dark=asked.dark)
    for key in asked.press:
        page.press(key)
    if asked.time:
        page.evaluate("streamsan.timeline.changeAxis('time')")
    page.settle()
    page.screenshot(asked.out)
    if page.problems:
        raise SystemExit("\n".join(page.problems))
