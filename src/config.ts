import { readFileSync } from 'node:fs'
import { BlockList, isIP } from 'node:net'
import { resolve } from 'node:path'
import { InvalidArgumentError, Option } from 'commander'
import type { Settings } from './domain/core/core.ts'
import { type AllowedHosts, parseAllowedHosts } from './domain/outbound/allowed-hosts.ts'
import { MERGE_STYLES, type MergeStyle } from './domain/repos/writing/merge-styles.ts'

/** Everything that an operator can set, parsed and checked. */
export interface Config {
  readonly listen: HostPort
  /** Absolute path of the data folder. */
  readonly data: string
  /**
   * Base of links in answers, without a slash at the end; undefined for the address listened on.
   */
  readonly publicUrl: string | undefined
  readonly tls: { readonly cert: Buffer; readonly key: Buffer } | undefined
  readonly settings: Settings
  /** Absolute path of the folder that outgoing mail is written to; undefined for no mail. */
  readonly mailDir: string | undefined
  /** Undefined where no proxy is asked who the caller is. */
  readonly proxyAuth: ProxyAuth | undefined
  /** Addresses of the reverse proxies that are believed. */
  readonly trustedProxies: BlockList
  /** Whether what is limited for each peer is limited for callers on this machine, too. */
  readonly limitLoopback: boolean
  /** Private destinations that webhooks may have. */
  readonly webhookAllowedHosts: AllowedHosts
  /** Origins, as browsers send them, that may use credentials. */
  readonly corsOrigins: readonly string[]
  readonly maxMessageBytes: number
  /** Most memory that all Git processes may take together. */
  readonly gitMemoryBytes: number
  readonly reflection: boolean
  readonly logLevel: LogLevel
}

export interface HostPort {
  readonly host: string
  readonly port: number
}

/** How a reverse proxy says who the caller is. Header names are in lower case. */
export interface ProxyAuth {
  /** Holds the username. */
  readonly header: string
  /** Whether the header is good for every method, and not only for starting a session. */
  readonly api: boolean
  /** Whether unknown usernames get an account. */
  readonly register: boolean
  /** Holds the e-mail address of new accounts. */
  readonly emailHeader: string | undefined
  /** Holds the display name of new accounts. */
  readonly nameHeader: string | undefined
}

const LOG_LEVELS = ['trace', 'debug', 'info', 'warn', 'error', 'silent'] as const
export type LogLevel = (typeof LOG_LEVELS)[number]

/** What commander hands to the action of `serve`: one member for each option below. */
export interface ServeFlags {
  listen: HostPort
  data: string
  publicUrl?: string
  tlsCert?: string
  tlsKey?: string
  registration: 'open' | 'closed'
  passwordSignIn: boolean
  minPasswordLength: number
  privateInstance: boolean
  basicPassword: boolean
  usernameChange: boolean
  displayNameChange: boolean
  statsBy: 'create' | 'update'
  memoContentBytes: number
  webhookAllowedHosts: AllowedHosts
  webhookRetrySchedule: number[]
  defaultMergeStyle: MergeStyle
  signing: boolean
  wipPrefixes: string[]
  diffMaxLines: number
  diffMaxLineCharacters: number
  gitHooks: boolean
  hookTimeout: number
  mailDir?: string
  proxyAuth: boolean
  proxyAuthHeader: string
  trustedProxies: Network[]
  trustedProxiesAny: boolean
  proxyAuthApi: boolean
  proxyAuthRegister: boolean
  proxyAuthEmailHeader?: string
  proxyAuthNameHeader?: string
  limitLoopback: boolean
  defaultPageSize?: number
  maxPageSize?: number
  corsOrigins: string[]
  maxMessageBytes: number
  maxPushBytes: number
  maxAssetBytes: number
  gitMemory: number
  reflection: boolean
  logLevel: LogLevel
}

const ENVIRONMENT_PREFIX = 'BRANCHLINE_'

/** What the Standard Webhooks specification proposes. */
const DEFAULT_RETRY_SCHEDULE = '5s,5m,30m,2h,5h,10h,14h,20h,24h'

/** 30 days. A longer wait is a slip of the pen. */
const MAX_DURATION_MS = 30 * 24 * 60 * 60 * 1000

/** The data folder, an option of every command. */
export function dataOption(): Option {
  return setting(
    '--data <folder>',
    'database, repositories and keys; created when missing',
    './data',
    (text) => resolve(text),
  )
}

/** The level of the log on stderr, an option of every command. */
export function logLevelOption(): Option {
  return setting('--log-level <level>', `least level of log lines on stderr`, 'info').choices(
    LOG_LEVELS,
  )
}

/** The shortest password that may be set. */
export function minPasswordLengthOption(): Option {
  return setting(
    '--min-password-length <characters>',
    'shortest password that may be set',
    '8',
    wholeNumber(1, 256),
  )
}

/** Every option of `serve`, each with its environment variable. */
export function serveOptions(): Option[] {
  return [
    setting(
      '--listen <host:port>',
      'address to serve on; port 0 takes any free one',
      '127.0.0.1:8080',
      hostPort,
    ),
    dataOption(),
    setting(
      '--public-url <url>',
      'base of links in answers (default: the address served on)',
      undefined,
      baseUrl,
    ),
    setting('--tls-cert <file>', 'certificate chain in PEM; serves TLS, with HTTP/2 and HTTP/1.1'),
    setting('--tls-key <file>', 'private key of the certificate in PEM'),
    setting(
      '--registration <open|closed>',
      'whether anyone may create an account',
      'closed',
    ).choices(['open', 'closed']),
    setting(
      '--password-sign-in <on|off>',
      'off: only administrators sign in by password',
      'on',
      onOff,
    ),
    minPasswordLengthOption(),
    setting(
      '--private-instance <on|off>',
      'on: anonymous callers can only sign in or register',
      'off',
      onOff,
    ),
    setting('--basic-password <on|off>', 'off: HTTP Basic takes tokens only', 'on', onOff),
    setting('--username-change <on|off>', 'off: only administrators change usernames', 'on', onOff),
    setting(
      '--display-name-change <on|off>',
      'off: only administrators change display names',
      'on',
      onOff,
    ),
    setting('--stats-by <create|update>', 'time that statistics show memos at', 'create').choices([
      'create',
      'update',
    ]),
    setting(
      '--memo-content-bytes <bytes>',
      'longest memo, at least 8192',
      '8192',
      wholeNumber(8192, 1_048_576),
    ),
    setting(
      '--webhook-allowed-hosts <hosts>',
      'private hosts, addresses and CIDRs to reach',
      '',
      allowedHosts,
    ),
    setting(
      '--webhook-retry-schedule <waits>',
      'waits after failed deliveries',
      DEFAULT_RETRY_SCHEDULE,
      durations,
    ),
    setting(
      '--default-merge-style <style>',
      'how pull requests of new repositories are merged',
      'merge',
    ).choices(MERGE_STYLES),
    setting('--signing <on|off>', 'off: commits that the server makes are not signed', 'on', onOff),
    setting(
      '--wip-prefixes <prefixes>',
      'how titles of work in progress begin',
      'WIP:,[WIP]',
      commaSeparated,
    ),
    setting(
      '--diff-max-lines <lines>',
      'lines looked at of the changes of a file',
      '1000',
      wholeNumber(1, 1_000_000),
    ),
    setting(
      '--diff-max-line-characters <characters>',
      'shown of such a line',
      '5000',
      wholeNumber(1, 1_000_000),
    ),
    setting(
      '--git-hooks <on|off>',
      'on: administrators edit scripts that run on pushes',
      'off',
      onOff,
    ),
    setting('--hook-timeout <time>', 'longest run of such a script, 1s to 10m', '30s', hookTimeout),
    setting(
      '--mail-dir <folder>',
      'folder that outgoing mail is written to; no mail without it',
      undefined,
      (text) => resolve(text),
    ),
    setting(
      '--proxy-auth <on|off>',
      'on: trusted reverse proxies say who the caller is',
      'off',
      onOff,
    ),
    setting(
      '--proxy-auth-header <name>',
      'header in which they say it',
      'X-WEBAUTH-USER',
      headerName,
    ),
    setting(
      '--trusted-proxies <networks>',
      'their networks; their forwarding headers count',
      '127.0.0.0/8,::1/128',
      networks,
    ),
    setting(
      '--trusted-proxies-any <on|off>',
      'on: --trusted-proxies may name all addresses',
      'off',
      onOff,
    ),
    setting('--proxy-auth-api <on|off>', 'on: the header is good for every method', 'off', onOff),
    setting(
      '--proxy-auth-register <on|off>',
      'on: unknown usernames in it get an account',
      'off',
      onOff,
    ),
    setting(
      '--proxy-auth-email-header <name>',
      'header with the address of new accounts',
      undefined,
      headerName,
    ),
    setting(
      '--proxy-auth-name-header <name>',
      'header with the display name of new accounts',
      undefined,
      headerName,
    ),
    setting(
      '--limit-loopback <on|off>',
      'on: limits for each peer hold for callers on this machine, too',
      'off',
      onOff,
    ),
    setting(
      '--default-page-size <results>',
      'results on a page that asks for no size',
      undefined,
      pageSize,
    ),
    setting('--max-page-size <results>', 'most results on a page', undefined, pageSize),
    setting(
      '--cors-origins <origins>',
      'comma-separated origins that may send credentials',
      '',
      origins,
    ),
    setting(
      '--max-message-bytes <size>',
      'largest request message, on every protocol',
      '4MiB',
      byteSize,
    ),
    setting('--max-push-bytes <size>', 'largest push, and fetch from elsewhere', '2GiB', byteSize),
    setting('--max-asset-bytes <size>', 'largest file that comes with a release', '2GiB', byteSize),
    setting(
      '--git-memory <size>',
      'most memory that all Git processes may take together',
      '2GiB',
      gitMemorySize,
    ),
    setting('--reflection <on|off>', 'gRPC server reflection', 'on', onOff),
    logLevelOption(),
  ]
}

/**
 * Refuses variables that look like settings and are none: a misspelt setting must not pass for its
 * default.
 *
 * @returns a sentence, or undefined when all is well.
 */
export function unknownVariable(environment: NodeJS.ProcessEnv): string | undefined {
  const known = new Set(serveOptions().map((option) => option.envVar))
  const unknown = Object.keys(environment).filter(
    (name) => name.startsWith(ENVIRONMENT_PREFIX) && !known.has(name),
  )
  return unknown.length === 0
    ? undefined
    : `unknown setting in the environment: ${unknown.join(', ')}`
}

/**
 * Reads what the flags point to.
 *
 * @throws Error with a sentence for the operator.
 */
export function readConfig(flags: ServeFlags): Config {
  return {
    listen: flags.listen,
    data: flags.data,
    publicUrl: flags.publicUrl,
    tls: readTls(flags.tlsCert, flags.tlsKey),
    settings: {
      registration: flags.registration,
      passwordSignIn: flags.passwordSignIn,
      basicPassword: flags.basicPassword,
      minPasswordLength: flags.minPasswordLength,
      privateInstance: flags.privateInstance,
      usernameChange: flags.usernameChange,
      displayNameChange: flags.displayNameChange,
      statsBy: flags.statsBy,
      memoContentBytes: flags.memoContentBytes,
      maxPushBytes: flags.maxPushBytes,
      maxAssetBytes: flags.maxAssetBytes,
      webhookRetryScheduleMs: flags.webhookRetrySchedule,
      defaultMergeStyle: flags.defaultMergeStyle,
      signing: flags.signing,
      wipPrefixes: flags.wipPrefixes,
      diffMaxLines: flags.diffMaxLines,
      diffMaxLineCharacters: flags.diffMaxLineCharacters,
      gitHooks: flags.gitHooks,
      hookTimeoutMs: flags.hookTimeout,
      ...readPageSizes(flags),
    },
    mailDir: flags.mailDir,
    proxyAuth: readProxyAuth(flags),
    trustedProxies: readTrustedProxies(flags),
    limitLoopback: flags.limitLoopback,
    webhookAllowedHosts: flags.webhookAllowedHosts,
    corsOrigins: flags.corsOrigins,
    maxMessageBytes: flags.maxMessageBytes,
    gitMemoryBytes: flags.gitMemory,
    reflection: flags.reflection,
    logLevel: flags.logLevel,
  }
}

function readTls(certFile: string | undefined, keyFile: string | undefined): Config['tls'] {
  if (certFile === undefined && keyFile === undefined) return undefined
  if (certFile === undefined || keyFile === undefined)
    throw new Error('--tls-cert and --tls-key need each other')
  return { cert: readFileSync(certFile), key: readFileSync(keyFile) }
}

/** What CVE-2026-20896 was: with every address trusted, every client can name itself. */
function readTrustedProxies(flags: ServeFlags): BlockList {
  const everyone = flags.trustedProxies.find(({ prefix }) => prefix === 0)
  if (everyone && !flags.trustedProxiesAny) {
    throw new Error(
      `--trusted-proxies ${everyone.text} trusts every client; only --trusted-proxies-any on allows that`,
    )
  }
  const trustedProxies = new BlockList()
  for (const { address, prefix, family } of flags.trustedProxies)
    trustedProxies.addSubnet(address, prefix, family)
  return trustedProxies
}

function readPageSizes({
  defaultPageSize,
  maxPageSize,
}: ServeFlags): Pick<Settings, 'defaultPageSize' | 'maxPageSize'> {
  if (defaultPageSize !== undefined && maxPageSize !== undefined && defaultPageSize > maxPageSize) {
    throw new Error('--default-page-size is larger than --max-page-size')
  }
  return { defaultPageSize, maxPageSize }
}

function readProxyAuth(flags: ServeFlags): ProxyAuth | undefined {
  if (!flags.proxyAuth) return undefined
  return {
    header: flags.proxyAuthHeader,
    api: flags.proxyAuthApi,
    register: flags.proxyAuthRegister,
    emailHeader: flags.proxyAuthEmailHeader,
    nameHeader: flags.proxyAuthNameHeader,
  }
}

/**
 * An option with its environment variable; `parse` also reads the default, so both have one
 * spelling.
 */
function setting(
  flags: string,
  description: string,
  preset?: string,
  parse?: (text: string) => unknown,
): Option {
  const option = new Option(flags, description)
  option.env(ENVIRONMENT_PREFIX + option.name().toUpperCase().replaceAll('-', '_'))
  if (parse) option.argParser(parse)
  return preset === undefined
    ? option
    : option.default(parse ? parse(preset) : preset, preset || 'none')
}

function onOff(text: string): boolean {
  if (text !== 'on' && text !== 'off') throw new InvalidArgumentError('It must be on or off.')
  return text === 'on'
}

function wholeNumber(min: number, max: number): (text: string) => number {
  return (text) => {
    const value = Number(text)
    if (!/^\d+$/.test(text) || value < min || value > max) {
      throw new InvalidArgumentError(`It must be a whole number from ${min} to ${max}.`)
    }
    return value
  }
}

/** Answers are read and printed in memory, so that more would cost too much. */
const pageSize = wholeNumber(1, 1000)

function commaSeparated(text: string): string[] {
  const parts = text.split(',').map((part) => part.trim())
  return parts.filter((part) => part !== '')
}

function hostPort(text: string): HostPort {
  const match = /^(?:\[([0-9A-Fa-f:.]+)\]|([^:[\]]+)):(\d{1,5})$/.exec(text)
  const host = match?.[1] ?? match?.[2]
  const port = Number(match?.[3])
  if (host === undefined || port > 65_535) {
    throw new InvalidArgumentError('It must be host:port, with an IPv6 address in brackets.')
  }
  return { host, port }
}

function baseUrl(text: string): string {
  const url = URL.canParse(text) ? new URL(text) : undefined
  if (
    (url?.protocol !== 'http:' && url?.protocol !== 'https:') ||
    url.search !== '' ||
    url.hash !== ''
  ) {
    throw new InvalidArgumentError(
      'It must be an absolute http or https URL without query and fragment.',
    )
  }
  return url.href.replace(/\/+$/, '')
}

/** Headers that have a meaning of their own are no place for a username. */
const TAKEN_HEADERS: ReadonlySet<string> = new Set(['authorization', 'cookie', 'host', 'origin'])

/**
 * A field name (RFC 9110 section 5.1), without the characters that proxies tend to drop or to
 * rewrite.
 */
function headerName(text: string): string {
  const name = text.toLowerCase()
  if (!/^[a-z][a-z0-9-]*$/.test(name) || TAKEN_HEADERS.has(name)) {
    throw new InvalidArgumentError('It must be a header of its own, such as X-WEBAUTH-USER.')
  }
  return name
}

/** A range of addresses. */
interface Network {
  /** As the operator wrote it. */
  readonly text: string
  readonly address: string
  readonly prefix: number
  readonly family: 'ipv4' | 'ipv6'
}

function networks(text: string): Network[] {
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

function allowedHosts(text: string): AllowedHosts {
  try {
    return parseAllowedHosts(text)
  } catch (error) {
    throw error instanceof RangeError ? new InvalidArgumentError(error.message) : error
  }
}

const DURATION_UNITS_MS: ReadonlyMap<string, number> = new Map([
  ['ms', 1],
  ['s', 1000],
  ['m', 60 * 1000],
  ['h', 60 * 60 * 1000],
])

/** @returns milliseconds each. */
function durations(text: string): number[] {
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

/** A push waits for its hooks, and whoever pushes for the push. */
const MAX_HOOK_TIMEOUT_MS = 10 * 60 * 1000

/** @returns milliseconds. */
function hookTimeout(text: string): number {
  const milliseconds = millisecondsOf(text)
  if (!(milliseconds >= 1000 && milliseconds <= MAX_HOOK_TIMEOUT_MS)) {
    throw new InvalidArgumentError('It must be a time from 1s to 10m.')
  }
  return milliseconds
}

/** Not a number for what is no time. */
function millisecondsOf(duration: string): number {
  const [, count, unit = ''] = /^(\d{1,9})(ms|s|m|h)$/.exec(duration) ?? []
  return Number(count) * (DURATION_UNITS_MS.get(unit) ?? Number.NaN)
}

function origins(text: string): string[] {
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

const BYTE_UNITS: ReadonlyMap<string, number> = new Map([
  ['', 1],
  ['KiB', 1024],
  ['MiB', 1024 ** 2],
  ['GiB', 1024 ** 3],
])

/** With less, no git could compare two files. */
const MIN_GIT_MEMORY_BYTES = 256 * 1024 ** 2

function gitMemorySize(text: string): number {
  const bytes = byteSize(text)
  if (bytes < MIN_GIT_MEMORY_BYTES) throw new InvalidArgumentError('It must be at least 256MiB.')
  return bytes
}

function byteSize(text: string): number {
  const match = /^(\d{1,12})([KMG]iB)?$/.exec(text)
  const bytes = Number(match?.[1]) * (BYTE_UNITS.get(match?.[2] ?? '') ?? Number.NaN)
  if (!Number.isSafeInteger(bytes) || bytes < 1024) {
    throw new InvalidArgumentError(
      'It must be a number of bytes of at least 1KiB, such as 512KiB or 4MiB.',
    )
  }
  return bytes
}
