import type { Timestamp } from '@bufbuild/protobuf/wkt'
import { parseTimestamp } from '../../../platform/rpc/index.ts'

/** Converts whole Unix seconds, as stored, to a Timestamp. */
export function atSecond(unixSeconds: number): Timestamp {
  // Equals the result of `create`, in a tenth of the time. Some responses have a thousand times.
  return { $typeName: 'google.protobuf.Timestamp', seconds: BigInt(unixSeconds), nanos: 0 }
}

/** Converts Unix milliseconds to a Timestamp of whole seconds, as those of compatible systems are. */
export function atMs(unixMs: number): Timestamp {
  return atSecond(Math.floor(unixMs / 1000))
}

/** Converts a Timestamp to whole Unix seconds. */
export function secondsOf(time: Timestamp | undefined): number | undefined {
  return time && Number(time.seconds)
}

/** A time, and the zone of a clock that shows it. */
export interface ZonedTime {
  /** Unix seconds. */
  readonly time: number
  /** Minutes east of UTC. */
  readonly offsetMinutes: number
}

const ZONE = /([+-])(\d\d):(\d\d)$/

/** Parses a time in RFC 3339. Returns undefined for any other text. */
export function zonedTime(text: string): ZonedTime | undefined {
  const parsed = parseTimestamp(text)
  if (!parsed) return undefined
  const [, sign, hours, minutes] = ZONE.exec(text) ?? []
  const offsetMinutes = Number(hours ?? 0) * 60 + Number(minutes ?? 0)
  return {
    time: Number(parsed.seconds),
    offsetMinutes: sign === '-' ? -offsetMinutes : offsetMinutes,
  }
}
