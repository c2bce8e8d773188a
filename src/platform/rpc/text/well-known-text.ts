import type { MessageInitShape } from '@bufbuild/protobuf'
import { protoCamelCase, protoSnakeCase } from '@bufbuild/protobuf/reflect'
import type {
  Duration,
  DurationSchema,
  FieldMask,
  FieldMaskSchema,
  Timestamp,
  TimestampSchema,
} from '@bufbuild/protobuf/wkt'

/** The range of google.protobuf.Timestamp in Unix seconds: years 1 to 9999. */
const MIN_TIMESTAMP_SECONDS = -62_135_596_800
const MAX_TIMESTAMP_SECONDS = 253_402_300_799

/** The range of google.protobuf.Duration, about 10,000 years. */
const MAX_DURATION_SECONDS = 315_576_000_000

const MAX_NANOS = 999_999_999

const rfc3339 =
  /^([0-9]{4}-[0-9]{2}-([0-9]{2}))T((?:[01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9])(?:\.([0-9]{1,9}))?(?:Z|([+-])([01][0-9]|2[0-3]):([0-5][0-9]))$/

/**
 * Parses RFC 3339 text with a zone or offset and up to 9 fractional digits. Returns undefined for
 * other text, including lower-case `t` and `z` and leap seconds, like the JSON parsers of protobuf.
 */
export function parseTimestamp(text: string): MessageInitShape<typeof TimestampSchema> | undefined {
  const match = rfc3339.exec(text)
  if (match === null) return undefined
  const [, date, day, time, fraction = '', sign, hours, minutes] = match
  const local = Date.parse(`${date}T${time}Z`)
  // V8 parses February 30th as March 2nd.
  if (Number.isNaN(local) || new Date(local).getUTCDate() !== Number(day)) return undefined
  const offsetSeconds =
    sign === undefined ? 0 : Number(`${sign}1`) * (Number(hours) * 3600 + Number(minutes) * 60)
  const seconds = local / 1000 - offsetSeconds
  if (seconds < MIN_TIMESTAMP_SECONDS || seconds > MAX_TIMESTAMP_SECONDS) return undefined
  return { seconds: BigInt(seconds), nanos: Number(fraction.padEnd(9, '0')) }
}

/**
 * Prints RFC 3339 text in UTC with 0, 3, 6 or 9 fractional digits. Throws RangeError outside of the
 * years 1 to 9999.
 */
export function printTimestamp({ seconds, nanos }: Timestamp): string {
  const unix = Number(seconds)
  if (
    !(unix >= MIN_TIMESTAMP_SECONDS && unix <= MAX_TIMESTAMP_SECONDS) ||
    !(nanos >= 0 && nanos <= MAX_NANOS)
  ) {
    throw new RangeError(`timestamp out of range: ${seconds} seconds, ${nanos} nanos`)
  }
  const day = Math.floor(unix / SECONDS_PER_DAY)
  const second = unix - day * SECONDS_PER_DAY
  const minute = Math.floor(second / 60)
  return `${printDate(day)}${minutes[minute]}${twoDigits[second - minute * 60]}${printFraction(nanos)}Z`
}

const SECONDS_PER_DAY = 24 * 60 * 60

/** `00` to `99`. */
const twoDigits = Array.from({ length: 100 }, (_, number) => String(number).padStart(2, '0'))

/**
 * `T00:00:` to `T23:59:`. Timestamps are the most expensive values of most messages. This table and
 * the dates that are kept print them several times as fast as toISOString.
 */
const minutes = Array.from(
  { length: 24 * 60 },
  (_, minute) => `T${twoDigits[Math.floor(minute / 60)]}:${twoDigits[minute % 60]}:`,
)

/** The maximum number of dates that are kept: eleven years. */
const MAX_DATES = 4096

/** Prints the date of a day that is counted from the first of January 1970. */
const printDate = keepingTexts((day) => {
  const utc = new Date(day * SECONDS_PER_DAY * 1000)
  const year = utc.getUTCFullYear()
  return `${twoDigits[Math.floor(year / 100)]}${twoDigits[year % 100]}-${twoDigits[utc.getUTCMonth() + 1]}-${twoDigits[utc.getUTCDate()]}`
})

function keepingTexts(print: (day: number) => string): (day: number) => string {
  const texts = new Map<number, string>()
  return (day) => {
    let text = texts.get(day)
    if (text === undefined) {
      text = print(day)
      if (texts.size >= MAX_DATES) texts.clear()
      texts.set(day, text)
    }
    return text
  }
}

/**
 * Parses decimal seconds with up to 9 fractional digits and the suffix `s`. Returns undefined for
 * other text.
 */
export function parseDuration(text: string): MessageInitShape<typeof DurationSchema> | undefined {
  const match = /^(-?)([0-9]+)(?:\.([0-9]{1,9}))?s$/.exec(text)
  if (match === null) return undefined
  const [, minus, digits = '', fraction = ''] = match
  const seconds = Number(digits)
  const nanos = Number(fraction.padEnd(9, '0'))
  if (seconds > MAX_DURATION_SECONDS) return undefined
  return minus === ''
    ? { seconds: BigInt(seconds), nanos }
    : { seconds: -BigInt(seconds), nanos: 0 - nanos }
}

/**
 * Prints seconds with 0, 3, 6 or 9 fractional digits and the suffix `s`. Throws RangeError for
 * mixed signs and values out of range.
 */
export function printDuration({ seconds, nanos }: Duration): string {
  const whole = Number(seconds)
  if (
    !(Math.abs(whole) <= MAX_DURATION_SECONDS) ||
    !(Math.abs(nanos) <= MAX_NANOS) ||
    whole * nanos < 0
  ) {
    throw new RangeError(`duration out of range: ${seconds} seconds, ${nanos} nanos`)
  }
  return `${whole < 0 || nanos < 0 ? '-' : ''}${Math.abs(whole)}${printFraction(Math.abs(nanos))}s`
}

/** Prints the fraction of a second with 3, 6 or 9 digits, or nothing for 0. */
function printFraction(nanos: number): string {
  if (nanos === 0) return ''
  const digits = String(nanos).padStart(9, '0')
  if (digits.endsWith('000000')) return `.${digits.slice(0, 3)}`
  return digits.endsWith('000') ? `.${digits.slice(0, 6)}` : `.${digits}`
}

/**
 * Parses comma-separated field paths in lowerCamelCase or snake_case to paths in snake_case.
 * Removes blanks around paths and empty paths.
 */
export function parseFieldMask(text: string): MessageInitShape<typeof FieldMaskSchema> {
  const paths = text.split(',').map((path) => path.trim())
  return { paths: paths.filter((path) => path !== '').map(protoSnakeCase) }
}

/**
 * Prints paths in lowerCamelCase, separated by commas. A path that does not survive the conversion
 * stays as it is.
 */
export function printFieldMask({ paths }: FieldMask): string {
  return paths.map(printPath).join(',')
}

function printPath(path: string): string {
  const camel = protoCamelCase(path)
  return protoSnakeCase(camel) === path ? camel : path
}
