import { create, isMessage } from '@bufbuild/protobuf'
import { TimestampSchema } from '@bufbuild/protobuf/wkt'
import { describe, expect, it } from 'vitest'
import { atSecond } from '../../../../src/forge/core/wire/times.ts'

describe('the time of a row', () => {
  it.each([0, 1, -1, 1_700_000_000, 253_402_300_799])('is a Timestamp: %s', (seconds) => {
    const expected = create(TimestampSchema, { seconds: BigInt(seconds) })
    expect(atSecond(seconds)).toStrictEqual(expected)
    expect(isMessage(atSecond(seconds), TimestampSchema)).toBe(true)
  })
})
