#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The agenda as one would write it in an afternoon, to measure against.

usage: CALENDAR_DIR=... TZ=... naive.py START DAYS

It reads each file whole, cuts it into lines, parses every property of every
event into dictionaries, and repeats each series from its start to the end of
the range, period by period. It has the right answer for the corpus of the
benchmark (plain rules, COUNT, UNTIL, EXDATE, RECURRENCE-ID, names of zones),
and no cache. Standard library only.
"""
import datetime as dt
import os
import re
import sys
import zoneinfo

LOCAL = zoneinfo.ZoneInfo(os.environ["TZ"])
UTC = dt.timezone.utc
DAYS = ["MO", "TU", "WE", "TH", "FR", "SA", "SU"]
WINDOWS = {"W. Europe Standard Time": "Europe/Berlin"}
DAY = dt.timedelta(days=1)


def parse_line(line):
    head, _, value = line.partition(":")
    while head.count('"') % 2:
        more, _, value = value.partition(":")
        head += ":" + more
    parts = re.split(r';(?=(?:[^"]*"[^"]*")*[^"]*$)', head)
    params = {}
    for part in parts[1:]:
        key, _, val = part.partition("=")
        params[key.upper()] = val.strip('"')
    return parts[0].upper(), params, value


def parse_events(text):
    text = re.sub(r"\r?\n[ \t]", "", text)
    events, stack, event = [], [], None
    for line in text.splitlines():
        if not line:
            continue
        name, params, value = parse_line(line)
        if name == "BEGIN":
            stack.append(value)
            if value == "VEVENT":
                event = {}
        elif name == "END":
            stack.pop()
            if value == "VEVENT":
                events.append(event)
                event = None
        elif event is not None and stack[-1] == "VEVENT":
            event.setdefault(name, []).append((params, value))
    return events


def parse_time(params, value):
    if len(value) == 8:
        return dt.datetime.strptime(value, "%Y%m%d").date()
    if value.endswith("Z"):
        return dt.datetime.strptime(value, "%Y%m%dT%H%M%SZ").replace(tzinfo=UTC)
    time = dt.datetime.strptime(value, "%Y%m%dT%H%M%S")
    name = params.get("TZID")
    return time.replace(tzinfo=zoneinfo.ZoneInfo(WINDOWS.get(name, name)) if name else LOCAL)


def parse_length(value):
    m = re.fullmatch(r"P(?:(\d+)W)?(?:(\d+)D)?(?:T(?:(\d+)H)?(?:(\d+)M)?(?:(\d+)S)?)?", value)
    weeks, days, hours, minutes, seconds = (int(g or 0) for g in m.groups())
    return dt.timedelta(weeks=weeks, days=days, hours=hours, minutes=minutes, seconds=seconds)


def month_days(year, month):
    first = dt.date(year, month, 1)
    after = dt.date(year + month // 12, month % 12 + 1, 1)
    return [first + i * DAY for i in range((after - first).days)]


def dates(start, rule):
    """All days of a rule, without its end, from the day of its start."""
    day = start.date() if isinstance(start, dt.datetime) else start
    interval = int(rule.get("INTERVAL", 1))
    by = rule["BYDAY"].split(",") if "BYDAY" in rule else None
    if rule["FREQ"] == "DAILY":
        while True:
            if by is None or DAYS[day.weekday()] in by:
                yield day
            day += interval * DAY
    elif rule["FREQ"] == "WEEKLY":
        wanted = sorted(DAYS.index(d) for d in by) if by else [day.weekday()]
        week = day - day.weekday() * DAY
        while True:
            for d in wanted:
                if week + d * DAY >= day:
                    yield week + d * DAY
            week += 7 * interval * DAY
    elif rule["FREQ"] == "MONTHLY":
        year, month = day.year, day.month
        while True:
            all_days = month_days(year, month)
            if "BYMONTHDAY" in rule:
                found = all_days[int(rule["BYMONTHDAY"])]
            elif by:
                number, name = int(by[0][:-2]), by[0][-2:]
                fit = [d for d in all_days if DAYS[d.weekday()] == name]
                found = fit[number - 1 if number > 0 else number] if abs(number) <= len(fit) else None
            else:
                found = all_days[day.day - 1] if day.day <= len(all_days) else None
            if found and found >= day:
                yield found
            month += interval
            year, month = year + (month - 1) // 12, (month - 1) % 12 + 1
    else:
        year = day.year
        while True:
            try:
                yield day.replace(year=year)
            except ValueError:
                pass
            year += interval


def occurrences(event, end):
    start = parse_time(*event["DTSTART"][0])
    if "RRULE" not in event:
        yield start
        return
    rule = dict(part.split("=") for part in event["RRULE"][0][1].split(";"))
    gone = {parse_time(p, v) for p, values in event.get("EXDATE", []) for v in values.split(",")}
    until = parse_time({}, rule["UNTIL"]) if "UNTIL" in rule else None
    count = int(rule.get("COUNT", 0))
    for n, day in enumerate(dates(start, rule), 1):
        if day > end or count and n > count:
            return
        when = day
        if isinstance(start, dt.datetime):
            when = dt.datetime.combine(day, start.timetz())
        if until is not None and when > until:
            return
        if when not in gone:
            yield when


def length_of(event, start):
    if "DTEND" in event:
        end = parse_time(*event["DTEND"][0])
        if isinstance(end, dt.datetime):
            return end.replace(tzinfo=None) - start.replace(tzinfo=None)
        return end - start
    if "DURATION" in event:
        return parse_length(event["DURATION"][0][1])
    return dt.timedelta(0) if isinstance(start, dt.datetime) else DAY


def unescape(text):
    return re.sub(r"\\(.)", lambda m: " " if m[1] in "nN" else m[1], text)


def lines_of(event, when, length, first, last):
    title = unescape(event.get("SUMMARY", [({}, "")])[0][1]) or "(no title)"
    if not isinstance(when, dt.datetime):
        for i in range(max(1, length.days)):
            day = when + i * DAY
            if first <= day <= last:
                yield (day, 0, "all day", title)
        return
    start, end = when.astimezone(LOCAL), (when + length).astimezone(LOCAL)
    day = start.date()
    if first <= day <= last:
        yield (day, 2, start.strftime("%H:%M"), title)
    while day < end.date():
        day += DAY
        if not first <= day <= last:
            continue
        if day < end.date():
            yield (day, 0, "all day", title)
        elif end.time() > dt.time(0):
            yield (day, 1, "until " + end.strftime("%H:%M"), title)


def main():
    first = dt.date.fromisoformat(sys.argv[1])
    last = first + (int(sys.argv[2]) - 1) * DAY
    events = []
    for folder, _, names in os.walk(os.environ["CALENDAR_DIR"]):
        for name in names:
            if name.endswith(".ics"):
                with open(os.path.join(folder, name), encoding="utf-8", newline="") as f:
                    events += parse_events(f.read())
    moved = {(e["UID"][0][1], parse_time(*e["RECURRENCE-ID"][0])) for e in events if "RECURRENCE-ID" in e}
    lines = []
    for e in events:
        start = parse_time(*e["DTSTART"][0])
        length = length_of(e, start)
        for when in occurrences(e, last):
            if "RECURRENCE-ID" in e or (e["UID"][0][1], when) not in moved:
                lines += lines_of(e, when, length, first, last)
    for day, _, time, title in sorted(lines):
        print(day, time, title)
    if not lines:
        print("no events")


main()
