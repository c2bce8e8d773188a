import { describe, expect, it } from 'vitest'
import { parseExpression } from '../../../src/platform/filters/parse.ts'
import { momentOf } from '../../../src/platform/filters/times.ts'

/** 1 May 2026, 10:00 UTC. */
const NOW = 1_777_629_600

const momentIn = (text: string) => momentOf(parseExpression(text), NOW)

describe('momentOf', () => {
  it.each([
    ['0', 0],
    ['-1', -1],
    ['now', NOW],
    ['timestamp("2026-05-01T10:00:00Z")', NOW],
    ['timestamp("2026-05-01T12:00:00+02:00")', NOW],
    ['timestamp("2026-05-01T10:00:00.25Z")', NOW + 0.25],
    ['timestamp("2028-02-29T00:00:00Z")', 1_835_395_200],
    ['now - duration("24h")', NOW - 86_400],
    ['now + duration("1h30m")', NOW + 5400],
    ['now - duration("-1.5s")', NOW + 1.5],
    ['now - duration("1000ms")', NOW - 1],
    ['now - duration("1h") - duration("1m")', NOW - 3660],
    ['timestamp("2026-05-01T10:00:00Z") - duration("1s")', NOW - 1],
  ])('%s is a moment', (text, seconds) => {
    expect(momentIn(text)).toBe(seconds)
  })

  it.each([
    ['later', 'an unknown name'],
    ['"2026-05-01T10:00:00Z"', 'a bare string'],
    ['timestamp("2026-05-01")', 'a date'],
    ['timestamp("2026-05-01T10:00:00")', 'no time zone'],
    ['timestamp("2026-02-30T00:00:00Z")', 'a day that does not exist'],
    ['timestamp("2026-13-01T00:00:00Z")', 'a month that does not exist'],
    ['timestamp("2026-05-01T25:00:00Z")', 'an hour that does not exist'],
    ['timestamp("Fri, 01 May 2026 10:00:00 GMT")', 'another format'],
    ['timestamp(1)', 'a number'],
    ['timestamp()', 'no argument'],
    ['timestamp("2026-05-01T10:00:00Z", "UTC")', 'one argument too many'],
    ['a.timestamp("2026-05-01T10:00:00Z")', 'a method'],
    ['duration("1h")', 'a duration from no moment'],
    ['now - 3600', 'a bare number of seconds'],
    ['now - now', 'a difference of moments'],
    ['duration("1h") + now', 'a duration first'],
    ['now - duration("1")', 'no unit'],
    ['now - duration("1d")', 'a unit that durations do not have'],
    ['now - duration("")', 'an empty duration'],
    ['now - duration("h")', 'a unit of nothing'],
    ['now - duration("1h ")', 'a blank'],
    ['now - duration("87660001h")', 'more than ten thousand years'],
  ])('%s is none: %s', (text) => {
    expect(momentIn(text)).toBeUndefined()
  })
})
