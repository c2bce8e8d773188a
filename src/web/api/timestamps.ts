import type { Timestamp } from '@bufbuild/protobuf/wkt'

type Moment = Pick<Timestamp, 'seconds' | 'nanos'>

/** Returns a time in milliseconds since 1970. */
export function timestampMs({ seconds, nanos }: Moment): number {
  return Number(seconds) * 1000 + Math.round(nanos / 1_000_000)
}

/** Returns a time as a date of the browser. */
export function timestampDate(timestamp: Moment): Date {
  return new Date(timestampMs(timestamp))
}

/** Returns a date as a time of a request. */
export function timestampFromDate(date: Date): Moment {
  const seconds = Math.floor(date.getTime() / 1000)
  return { seconds: BigInt(seconds), nanos: (date.getTime() - seconds * 1000) * 1_000_000 }
}
