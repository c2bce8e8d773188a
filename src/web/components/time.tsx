import { type Timestamp, timestampDate } from '@bufbuild/protobuf/wkt'
import type { VNode } from 'preact'

const STEPS: readonly (readonly [Intl.RelativeTimeFormatUnit, number])[] = [
  ['year', 365 * 86_400],
  ['month', 30 * 86_400],
  ['day', 86_400],
  ['hour', 3600],
  ['minute', 60],
]

/** Made once, since a folder has hundreds of times. */
const RELATIVE = new Intl.RelativeTimeFormat(undefined, { numeric: 'auto' })

/** A time as the reader's locale says it, such as “3 days ago”, with the exact time beside it. */
export function Time({ at }: { at: Timestamp | string | undefined }): VNode | null {
  if (at === undefined || at === '') return null
  const date = typeof at === 'string' ? new Date(at) : timestampDate(at)
  if (Number.isNaN(date.getTime())) return null
  return (
    <time dateTime={date.toISOString()} title={date.toLocaleString()}>
      {relative(date)}
    </time>
  )
}

function relative(date: Date): string {
  const seconds = (date.getTime() - Date.now()) / 1000
  const [unit, length] = STEPS.find(([, step]) => Math.abs(seconds) >= step) ?? ['second', 1]
  return RELATIVE.format(Math.round(seconds / length), unit)
}
