import { type Timestamp, timestampFromMs } from '@bufbuild/protobuf/wkt'

/** Converts Unix seconds, as stored, to a Timestamp. */
export function atSecond(unixSeconds: number): Timestamp {
  return timestampFromMs(unixSeconds * 1000)
}
