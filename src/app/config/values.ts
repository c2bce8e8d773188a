import { isIP } from 'node:net'
import { resolve } from 'node:path'
import { InvalidArgumentError } from 'commander'
import type { DailyWindow } from '../../platform/concurrency/daily-window.ts'
import { parseS3Address, type S3Address } from '../../platform/objects/s3/s3-address.ts'
import { type AllowedHosts, parseAllowedHosts } from '../../platform/outbound/allowed-hosts.ts'

/** Parsers of the values of options. Each throws InvalidArgumentError with a sentence. */

export interface HostPort {
  readonly host: string
  readonly port: number
}

/** A range of addresses. */
export interface Network {
  /** The text that the operator wrote. */
  readonly text: string
  readonly address: string
  readonly prefix: number
  readonly family: 'ipv4' | 'ipv6'
}

/** 30 days. A longer delay is a mistake. */
const MAX_DURATION_MS = 30 * 24 * 60 * 60 * 1000

/** Ten years: the longest time before objects are removed for good. */
const MAX_DAYS = 3_650

/** A push waits for its hooks, and the client waits for the push. */
const MAX_HOOK_TIMEOUT_MS = 10 * 60 * 1000

/** Long enough for a slow upload to begin, and short enough for a link that was copied. */
const MIN_LINK_EXPIRY_MS = 5 * 60 * 1000
const MAX_LINK_EXPIRY_MS = 24 * 60 * 60 * 1000

/** Long enough for every health check of a load balancer. */
const MAX_STOP_DELAY_MS = 5 * 60 * 1000

/** With less memory, Git could not compare two files. */
const MIN_GIT_MEMORY_BYTES = 256 * 1024 ** 2

/** Headers with a standard meaning, which cannot carry a username. */
const STANDARD_HEADERS: ReadonlySet<string> = new Set(['authorization', 'cookie', 'host', 'origin'])

const DURATION_UNITS_MS: ReadonlyMap<string, number> = new Map([
  ['ms', 1],
  ['s', 1000],
  ['m', 60 * 1000],
  ['h', 60 * 60 * 1000],
])

const BYTE_UNITS: ReadonlyMap<string, number> = new Map([
  ['', 1],
  ['KiB', 1024],
  ['MiB', 1024 ** 2],
  ['GiB', 1024 ** 3],
])

/** A list of hosts, which libpq would try one after the other. */
const SEVERAL_HOSTS =
  /^postgres(?:ql)?:\/\/(?:[^@/?#]*@)?[^@/?#]*,[^@/?#]*(?:[/?#]|$)|[?&]host=[^&#]*(?:,|%2c)/i

/** Returns the URI of a PostgreSQL database. */
export function postgresUrl(text: string): string {
  if (SEVERAL_HOSTS.test(text)) {
    throw new InvalidArgumentError(
      'It must name one host: an address that leads to the present primary.',
    )
  }
  if (!/^postgres(?:ql)?:\/\//.test(text) || !URL.canParse(text)) {
    throw new InvalidArgumentError('It must be like postgres://user@host:5432/name.')
  }
  return text
}

/** Returns the place of objects on an S3 server. */
export function objectStorageUrl(text: string): S3Address {
  try {
    return parseS3Address(text)
  } catch (error) {
    throw new InvalidArgumentError(error instanceof Error ? error.message : String(error))
  }
}

/** A mail server. See `SmtpAddress` of `src/platform/mail/smtp.ts`. */
export interface SmtpServer {
  readonly host: string
  readonly port: number
  readonly tls: 'implicit' | 'starttls' | 'none'
  readonly user?: string | undefined
  readonly passwordFile?: string | undefined
}

/** The ports of submission (RFC 8314 section 7.3, RFC 6409 section 3.1). */
const SMTPS_PORT = 465
const SUBMISSION_PORT = 587

/** Returns the mail server of a URL. Mail leaves this machine with TLS only. */
export function smtpUrl(text: string): SmtpServer {
  const url = URL.canParse(text) ? new URL(text) : undefined
  const isSmtps = url?.protocol === 'smtps:'
  const isPlain =
    (isSmtps || url?.protocol === 'smtp:') && /^\/?$/.test(url?.pathname ?? '') && !url?.search
  if (!url || !isPlain || url.hostname === '')
    throw new InvalidArgumentError('It must be like smtp://user@host:587 or smtps://user@host.')
  if (url.password !== '')
    throw new InvalidArgumentError('The password belongs into --mail-smtp-password-file.')
  const host = url.hostname.replace(/^\[(.*)\]$/, '$1')
  const isLocal = host === 'localhost' || host === '::1' || /^127\.\d+\.\d+\.\d+$/.test(host)
  return {
    host,
    port: url.port ? Number(url.port) : isSmtps ? SMTPS_PORT : SUBMISSION_PORT,
    tls: isSmtps ? 'implicit' : isLocal ? 'none' : 'starttls',
    ...(url.username && { user: decodeURIComponent(url.username) }),
  }
}

/** Returns an address without a name. */
export function mailAddress(text: string): string {
  if (!/^[^\s<>,;@]+@[^\s<>,;@]+$/.test(text))
    throw new InvalidArgumentError('It must be an address like forge@example.org.')
  return text
}

/** The port of SSH (RFC 4253, section 4.1). */
export const SSH_PORT = 22

/** Returns an address, or `same` for that of HTTP. */
export function sshAddress(text: string): HostPort | 'same' | 'off' {
  return text === 'same' || text === 'off' ? text : hostPort(text)
}

/** Returns a host as users name it, with an optional port. */
export function publicHost(text: string): { readonly host: string; readonly port?: number } {
  const [, bracketed, plain, port] =
    /^(?:\[([^\]]+)\]|([^:\s/@]+))(?::(\d{1,5}))?$/.exec(text) ?? []
  const host = bracketed ?? plain
  const number = port === undefined ? undefined : Number(port)
  const isValid =
    host !== undefined &&
    (bracketed === undefined || isIP(bracketed) === 6) &&
    (number === undefined || (number >= 1 && number <= 65_535))
  if (!isValid) throw new InvalidArgumentError('It must be like git.example.org or [::1]:2222.')
  return { host, ...(number !== undefined && { port: number }) }
}

export function loginName(text: string): string {
  if (!/^[a-z_][a-z0-9_-]{0,31}$/i.test(text))
    throw new InvalidArgumentError('It must be a login name such as git.')
  return text
}

/** Returns absolute paths. */
export function paths(text: string): string[] {
  return text === '' ? [] : text.split(',').map((part) => resolve(part.trim()))
}

/** Returns an absolute path. */
export function path(text: string): string {
  return resolve(text)
}

export function onOff(text: string): boolean {
  if (text !== 'on' && text !== 'off') throw new InvalidArgumentError('It must be on or off.')
  return text === 'on'
}

/**
 * Creates a parser of whole numbers from `min` to `max`.
 *
 * @param also what else the option may be, for the message of a wrong value.
 */
export function wholeNumber(min: number, max: number, also = ''): (text: string) => number {
  return (text) => {
    const value = Number(text)
    if (!/^\d+$/.test(text) || value < min || value > max) {
      throw new InvalidArgumentError(`It must be a whole number from ${min} to ${max}${also}.`)
    }
    return value
  }
}

/** Creates a parser of whole numbers from `min` to `max`, and of `auto`. */
export function automaticOr(min: number, max: number): (text: string) => number | 'auto' {
  const parse = wholeNumber(min, max, ', or auto')
  return (text) => (text === 'auto' ? 'auto' : parse(text))
}

export function commaSeparated(text: string): string[] {
  const parts = text.split(',').map((part) => part.trim())
  return parts.filter((part) => part !== '')
}

export function hostPort(text: string): HostPort {
  const match = /^(?:\[([0-9A-Fa-f:.]+)\]|([^:[\]]+)):(\d{1,5})$/.exec(text)
  const host = match?.[1] ?? match?.[2]
  const port = Number(match?.[3])
  if (host === undefined || port > 65_535) {
    throw new InvalidArgumentError('It must be host:port, with an IPv6 address in brackets.')
  }
  return { host, port }
}

/** Returns the URL without a trailing slash. */
export function baseUrl(text: string): string {
  const url = URL.canParse(text) ? new URL(text) : undefined
  if (
    (url?.protocol !== 'http:' && url?.protocol !== 'https:') ||
    url.search !== '' ||
    url.hash !== '' ||
    // Everybody sees the URL.
    url.username !== '' ||
    url.password !== ''
  ) {
    throw new InvalidArgumentError(
      'It must be an absolute http or https URL without credentials, query and fragment.',
    )
  }
  return url.href.replace(/\/+$/, '')
}

/**
 * Returns a field name (RFC 9110 section 5.1) in lower case. Characters that proxies tend to drop
 * or rewrite are refused.
 */
export function headerName(text: string): string {
  const name = text.toLowerCase()
  if (!/^[a-z][a-z0-9-]*$/.test(name) || STANDARD_HEADERS.has(name)) {
    throw new InvalidArgumentError('It must be a header of its own, such as X-WEBAUTH-USER.')
  }
  return name
}

export function networks(text: string): Network[] {
  return commaSeparated(text).flatMap(network)
}

function network(text: string): Network[] {
  if (text === '*')
    return [...network('0.0.0.0/0'), ...network('::/0')].map((all) => ({ ...all, text }))
  const [, address = '', bits] = /^([^/]+)(?:\/(\d{1,3}))?$/.exec(text) ?? []
  const version = isIP(address)
  const longest = version === 4 ? 32 : 128
  const prefix = Number(bits ?? longest)
  if (version === 0 || prefix > longest) {
    throw new InvalidArgumentError(
      `"${text}" is neither an IP address nor a network such as 10.0.0.0/8.`,
    )
  }
  return [{ text, address, prefix, family: version === 4 ? 'ipv4' : 'ipv6' }]
}

export function allowedHosts(text: string): AllowedHosts {
  try {
    return parseAllowedHosts(text)
  } catch (error) {
    throw error instanceof RangeError ? new InvalidArgumentError(error.message) : error
  }
}

/** Returns milliseconds. */
export function durations(text: string): number[] {
  return commaSeparated(text).map((duration) => {
    const milliseconds = millisecondsOf(duration)
    if (!(milliseconds <= MAX_DURATION_MS)) {
      throw new InvalidArgumentError(
        `"${duration}" is not a time such as 500ms, 5s, 30m or 24h, up to 720h.`,
      )
    }
    return milliseconds
  })
}

/** Returns milliseconds. */
export function hookTimeout(text: string): number {
  const milliseconds = millisecondsOf(text)
  if (!(milliseconds >= 1000 && milliseconds <= MAX_HOOK_TIMEOUT_MS)) {
    throw new InvalidArgumentError('It must be a time from 1s to 10m.')
  }
  return milliseconds
}

/** Returns milliseconds. */
export function lfsLinkExpiry(text: string): number {
  const milliseconds = millisecondsOf(text)
  if (!(milliseconds >= MIN_LINK_EXPIRY_MS && milliseconds <= MAX_LINK_EXPIRY_MS)) {
    throw new InvalidArgumentError('It must be a time from 5m to 24h.')
  }
  return milliseconds
}

/** Returns milliseconds. */
export function stopDelay(text: string): number {
  const milliseconds = millisecondsOf(text)
  if (!(milliseconds <= MAX_STOP_DELAY_MS)) {
    throw new InvalidArgumentError('It must be a time from 0s to 5m.')
  }
  return milliseconds
}

/** Returns milliseconds, or `off` for never. */
export function pruneAge(text: string): number | 'off' {
  return text === 'off' ? text : daysOrHours(text, 1, ', or off')
}

/** Returns milliseconds, or `off` for never. */
export function lfsUnreferencedAge(text: string): number | 'off' {
  return text === 'off' ? text : daysOrHours(text, 7, ', or off')
}

/** Returns milliseconds. */
export function limboTime(text: string): number {
  return daysOrHours(text, 0, '')
}

function daysOrHours(text: string, minDays: number, also: string): number {
  const [, count, unit] = /^(\d{1,5})([dh])$/.exec(text) ?? []
  const hours = Number(count) * (unit === 'd' ? 24 : 1)
  if (!(hours >= minDays * 24 && hours <= MAX_DAYS * 24))
    throw new InvalidArgumentError(
      `It must be a time from ${minDays}d to ${MAX_DAYS}d, such as 14d or 36h${also}.`,
    )
  return hours * 60 * 60_000
}

/** Returns hours of each day. */
export function dailyWindow(text: string): DailyWindow {
  const minutes = /^([01]\d|2[0-3]):([0-5]\d)-([01]\d|2[0-3]):([0-5]\d)$/.exec(text)?.slice(1)
  const [startHour, startMinute, endHour, endMinute] = (minutes ?? []).map(Number)
  const start = Number(startHour) * 60 + Number(startMinute)
  const end = Number(endHour) * 60 + Number(endMinute)
  if (!minutes || start === end)
    throw new InvalidArgumentError('It must be two times of a day in UTC, such as 01:30-05:00.')
  return { start, end }
}

/** Returns NaN for a text that is not a duration. */
function millisecondsOf(duration: string): number {
  const [, count, unit = ''] = /^(\d{1,9})(ms|s|m|h)$/.exec(duration) ?? []
  return Number(count) * (DURATION_UNITS_MS.get(unit) ?? Number.NaN)
}

export function origins(text: string): string[] {
  return commaSeparated(text).map((origin) => {
    const url = URL.canParse(origin) ? new URL(origin) : undefined
    if (url?.origin === undefined || url.origin === 'null' || url.href !== `${url.origin}/`) {
      throw new InvalidArgumentError(
        `"${origin}" is not an origin such as https://app.example.org.`,
      )
    }
    return url.origin
  })
}

const MEDIA_TYPE = /^(\*\/\*|[a-z]+\/(\*|[a-z\d][a-z\d.+-]*))$/
const EXTENSION = /^\.?[a-z\d][a-z\d.+_-]*$/

/** Returns media types and extensions in lower case, extensions with a dot in front. */
export function attachmentTypes(text: string): string[] {
  const types = commaSeparated(text.toLowerCase())
  const wrong = types.find((type) => !MEDIA_TYPE.test(type) && !EXTENSION.test(type))
  if (types.length === 0 || wrong !== undefined) {
    throw new InvalidArgumentError(
      'It must be a list of extensions and media types, such as .pdf,image/*.',
    )
  }
  return types.map((type) => (type.includes('/') || type.startsWith('.') ? type : `.${type}`))
}

export function gitMemorySize(text: string): number {
  const bytes = byteSize(text)
  if (bytes < MIN_GIT_MEMORY_BYTES) throw new InvalidArgumentError('It must be at least 256MiB.')
  return bytes
}

/** Returns bytes, or `auto` for a share of the file system. */
export function diskReserve(text: string): number | 'auto' {
  if (text === 'auto') return text
  return text === 'off' ? 0 : byteSize(text)
}

/** Returns bytes. */
export function byteSize(text: string): number {
  const bytes = bytesOf(text)
  if (!Number.isSafeInteger(bytes) || bytes < 1024) {
    throw new InvalidArgumentError(
      'It must be a number of bytes of at least 1KiB, such as 512KiB or 4MiB.',
    )
  }
  return bytes
}

/** Returns the bytes of a quota, which can be 0. */
export function quotaSize(text: string): number {
  const bytes = bytesOf(text)
  if (!Number.isSafeInteger(bytes))
    throw new InvalidArgumentError('It must be a number of bytes, such as 0, 512MiB or 20GiB.')
  return bytes
}

/** Returns NaN for a text that is no number of bytes. */
function bytesOf(text: string): number {
  const match = /^(\d{1,12})([KMG]iB)?$/.exec(text)
  return Number(match?.[1]) * (BYTE_UNITS.get(match?.[2] ?? '') ?? Number.NaN)
}
