import { type Timestamp, timestampFromMs } from '@bufbuild/protobuf/wkt'

/** The time that a column holds. */
export function atSecond(unixSeconds: number): Timestamp {
  return timestampFromMs(unixSeconds * 1000)
}
