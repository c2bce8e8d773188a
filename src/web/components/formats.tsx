import type { Timestamp } from '@bufbuild/protobuf/wkt'
import type { VNode } from 'preact'
import { timestampDate } from '../api/timestamps.ts'
import { LOCALE } from '../language/texts.tsx'

const STEPS: readonly (readonly [Intl.RelativeTimeFormatUnit, number])[] = [
  ['year', 365 * 86_400],
  ['month', 30 * 86_400],
  ['day', 86_400],
  ['hour', 3600],
  ['minute', 60],
]

/** Made once, since a folder has hundreds of times. */
const RELATIVE = new Intl.RelativeTimeFormat(LOCALE, { numeric: 'auto' })

/** A time as the reader's locale says it, such as “3 days ago”, with the exact time beside it. */
export function Time({ at }: { at: Timestamp | string | undefined }): VNode | null {
  if (at === undefined || at === '') return null
  const date = typeof at === 'string' ? new Date(at) : timestampDate(at)
  if (Number.isNaN(date.getTime())) return null
  return (
    <time dateTime={date.toISOString()} title={date.toLocaleString(LOCALE)}>
      {relative(date)}
    </time>
  )
}

function relative(date: Date): string {
  const seconds = (date.getTime() - Date.now()) / 1000
  const [unit, length] = STEPS.find(([, step]) => Math.abs(seconds) >= step) ?? ['second', 1]
  return RELATIVE.format(Math.round(seconds / length), unit)
}

/** Returns the bytes of a text in base64. */
export function fromBase64(text: string): Uint8Array<ArrayBuffer> {
  return Uint8Array.from(atob(text), (character) => character.charCodeAt(0))
}

/** Returns bytes in base64. */
export function toBase64(bytes: Uint8Array): string {
  // In a loop, since the arguments of one call have a maximum number.
  let text = ''
  for (const byte of bytes) text += String.fromCharCode(byte)
  return btoa(text)
}

/** Returns the text of a file; undefined for a binary one, which Git recognises in the same way. */
export function textOf(bytes: Uint8Array): string | undefined {
  // buffer_is_binary in xdiff-interface.c of Git
  if (bytes.subarray(0, 8000).includes(0)) return undefined
  return new TextDecoder().decode(bytes)
}

/** Returns a number of bytes as the reader's locale writes it. */
export function sizeText(bytes: bigint | number): string {
  const units = ['byte', 'kilobyte', 'megabyte', 'gigabyte'] as const
  let [value, step] = [Number(bytes), 0]
  while (value >= 1000 && step < units.length - 1) [value, step] = [value / 1000, step + 1]
  const unitDisplay = step === 0 ? 'long' : 'short'
  const options = {
    style: 'unit',
    unit: units[step],
    unitDisplay,
    maximumFractionDigits: 1,
  } as const
  return new Intl.NumberFormat(LOCALE, options).format(value)
}

/** A link to the website that somebody has named. The address says nothing about this server. */
export function Website({ url }: { url: string }): VNode | null {
  if (!/^https?:/.test(url)) return null
  return (
    <p>
      <a href={url} rel="nofollow noopener noreferrer">
        {url}
      </a>
    </p>
  )
}
