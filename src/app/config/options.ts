import { Option } from 'commander'
import { MERGE_STYLES } from '../../forge/repositories/commits/merge-styles.ts'
import * as values from './values.ts'

/** The prefix of the environment variables of options. */
export const ENVIRONMENT_PREFIX = 'BRANCHLINE_'

export const LOG_LEVELS = ['trace', 'debug', 'info', 'warn', 'error', 'silent'] as const

/** The schedule that the Standard Webhooks specification proposes. */
const DEFAULT_RETRY_SCHEDULE = '5s,5m,30m,2h,5h,10h,14h,20h,24h'

/** PostgreSQL has a process for each connection, of which each worker opens up to 11. */
const MAX_WORKERS = 64

/** A page is read and printed in memory, so that more results would cost too much. */
const pageSize = values.wholeNumber(1, 1000)

/** The folder of the data of an instance. */
export function dataOption(): Option {
  return setting(
    '--data <folder>',
    'database, repositories and keys; created when missing',
    './data',
    values.path,
  )
}

/** The options that name the data of an instance. Every command has them. */
export function placeOptions(): Option[] {
  return [
    dataOption(),
    setting(
      '--database <url>',
      'PostgreSQL database, as postgres://user@host:port/name (default: SQLite in the data folder)',
      undefined,
      values.postgresUrl,
    ),
    setting(
      '--database-password-file <file>',
      'file with the password of the database; read at each connection',
      undefined,
      values.path,
    ),
  ]
}

/** The options that name the object storage of an instance. Commands that read or write files have them. */
export function objectStorageOptions(): Option[] {
  return [
    setting(
      '--object-storage <url>',
      'S3 server for release assets and attachments, as s3://bucket/prefix?endpoint=https://host (default: the data folder)',
      undefined,
      values.objectStorageUrl,
    ),
    setting(
      '--object-storage-key-file <file>',
      'file with the access key id and the secret, one a line; read when it changes',
      undefined,
      values.path,
    ),
  ]
}

/** The host keys of SSH, where the operator keeps them. */
export function hostKeysOption(): Option {
  return setting(
    '--ssh-host-keys <files>',
    'comma-separated private host keys (default: keys in the data folder)',
    '',
    values.paths,
  )
}

/** The level of the log on stderr. */
export function logLevelOption(): Option {
  return setting('--log-level <level>', `least level of log lines on stderr`, 'info').choices(
    LOG_LEVELS,
  )
}

/** The age from which maintenance removes objects. */
export function pruneAfterOption(): Option {
  return setting(
    '--prune-after <time>',
    'age from which objects that no ref reaches are removed, at least 1d; off: never',
    '14d',
    values.pruneAge,
  )
}

/** The shortest password that may be set. */
export function minPasswordLengthOption(): Option {
  return setting(
    '--min-password-length <characters>',
    'shortest password that may be set',
    '8',
    values.wholeNumber(1, 256),
  )
}

/** Returns every option of `serve`, in the order of the help. */
export function serveOptions(): Option[] {
  return [
    ...addressOptions(),
    ...accountOptions(),
    ...memoOptions(),
    ...webhookOptions(),
    ...repositoryOptions(),
    ...mailOptions(),
    ...proxyOptions(),
    ...limitOptions(),
    toggle('--reflection', 'gRPC server reflection', 'on'),
    toggle('--web', 'web pages for people', 'on'),
    logLevelOption(),
  ]
}

function addressOptions(): Option[] {
  return [
    setting(
      '--listen <host:port>',
      'address to serve on; port 0 takes any free one',
      '127.0.0.1:8080',
      values.hostPort,
    ),
    ...sshOptions(),
    ...placeOptions(),
    ...objectStorageOptions(),
    toggle(
      '--object-storage-direct',
      'whether clients download files from the object storage themselves',
      'off',
    ),
    setting(
      '--workers <number>',
      'server processes behind the port; auto: one for each core, up to 8',
      '1',
      values.automaticOr(1, MAX_WORKERS),
    ),
    setting(
      '--public-url <url>',
      'base of links in answers (default: the address served on)',
      undefined,
      values.baseUrl,
    ),
    setting('--tls-cert <file>', 'certificate chain in PEM; serves TLS, with HTTP/2 and HTTP/1.1'),
    setting('--tls-key <file>', 'private key of the certificate in PEM'),
    setting(
      '--stop-delay <time>',
      'time after a signal for which it still takes calls and is not ready, up to 5m',
      '0s',
      values.stopDelay,
    ),
  ]
}

function sshOptions(): Option[] {
  return [
    setting(
      '--ssh-listen <host:port|same|off>',
      'address of Git over SSH; port 0 takes any free one, same is the port of HTTP',
      'off',
      values.sshAddress,
    ),
    setting(
      '--ssh-public <host[:port]>',
      'host and port of SSH addresses (default: host of --public-url, port of --ssh-listen)',
      undefined,
      values.publicHost,
    ),
    setting('--ssh-user <name>', 'login name of SSH', 'git', values.loginName),
    hostKeysOption(),
    setting(
      '--ssh-user-ca <file>',
      'file with public keys whose user certificates sign in; read again when it changes',
      undefined,
      values.path,
    ),
    setting(
      '--ssh-revoked-keys <file>',
      'file with keys and certificates that may not sign in; read again when it changes',
      undefined,
      values.path,
    ),
    toggle(
      '--ssh-proxy-protocol',
      'on: each SSH connection of --trusted-proxies names its client, others are refused',
      'off',
    ),
    setting(
      '--ssh-banner <file>',
      'file with a text that SSH clients show before they sign in',
      undefined,
      values.path,
    ),
  ]
}

function accountOptions(): Option[] {
  return [
    setting(
      '--registration <open|closed>',
      'whether anyone may create an account',
      'closed',
    ).choices(['open', 'closed']),
    toggle('--password-sign-in', 'off: only administrators sign in by password', 'on'),
    minPasswordLengthOption(),
    toggle('--private-instance', 'on: anonymous callers can only sign in or register', 'off'),
    toggle('--basic-password', 'off: HTTP Basic takes tokens only', 'on'),
    toggle('--username-change', 'off: only administrators change usernames', 'on'),
    toggle('--display-name-change', 'off: only administrators change display names', 'on'),
  ]
}

function memoOptions(): Option[] {
  return [
    setting('--stats-by <create|update>', 'time that statistics show memos at', 'create').choices([
      'create',
      'update',
    ]),
    setting(
      '--memo-content-bytes <bytes>',
      'longest memo, at least 8192',
      '8192',
      values.wholeNumber(8192, 1_048_576),
    ),
  ]
}

function mailOptions(): Option[] {
  return [
    setting(
      '--mail-dir <folder>',
      'folder that outgoing mail is written to',
      undefined,
      values.path,
    ),
    setting(
      '--mail-smtp <url>',
      'mail server, such as smtp://user@mail.example.org:587 or smtps://…',
      undefined,
      values.smtpUrl,
    ),
    setting(
      '--mail-smtp-password-file <file>',
      'file with the password of the mail server; read for each mail',
      undefined,
      values.path,
    ),
    setting('--mail-from <address>', 'address that mails come from', undefined, values.mailAddress),
  ]
}

function webhookOptions(): Option[] {
  return [
    setting(
      '--webhook-allowed-hosts <hosts>',
      'private hosts, addresses and CIDRs to reach',
      '',
      values.allowedHosts,
    ),
    setting(
      '--webhook-retry-schedule <waits>',
      'waits after failed deliveries',
      DEFAULT_RETRY_SCHEDULE,
      values.durations,
    ),
  ]
}

function repositoryOptions(): Option[] {
  return [
    setting(
      '--default-merge-style <style>',
      'how pull requests of new repositories are merged',
      'merge',
    ).choices(MERGE_STYLES),
    toggle('--signing', 'off: commits that the server creates are not signed', 'on'),
    setting(
      '--wip-prefixes <prefixes>',
      'prefixes of titles of work in progress',
      'WIP:,[WIP]',
      values.commaSeparated,
    ),
    setting(
      '--diff-max-lines <lines>',
      'most lines shown of the diff of a file',
      '1000',
      values.wholeNumber(1, 1_000_000),
    ),
    setting(
      '--diff-max-line-characters <characters>',
      'most characters shown of such a line',
      '5000',
      values.wholeNumber(1, 1_000_000),
    ),
    setting(
      '--issue-rate <count>',
      'issues of an account in ten minutes where others write; 0: no limit',
      '10',
      values.wholeNumber(0, 1_000_000),
    ),
    setting(
      '--max-file-bytes <size>',
      'largest file that a push or a change over the API may add (default: no limit)',
      undefined,
      values.byteSize,
    ),
    setting(
      '--max-repositories <count>',
      'most repositories of an account or organisation (default: no limit)',
      undefined,
      values.wholeNumber(0, 1_000_000),
    ),
    ...quotaOptions(),
    setting(
      '--code-index-bytes <size>',
      'texts in the index of code search; 0: no index',
      '1GiB',
      values.quotaSize,
    ),
    ...lfsOptions(),
    ...upkeepOptions(),
  ]
}

function quotaOptions(): Option[] {
  return [
    quota('account', 'an account'),
    quota('organization', 'an organisation'),
    quota('repository', 'a repository'),
    quota('instance', 'the instance'),
    setting(
      '--quota-default-groups <names>',
      'quota groups of accounts and organisations that are in none',
      '',
      values.commaSeparated,
    ),
  ]
}

function lfsOptions(): Option[] {
  return [
    toggle('--lfs', 'off: the server has no Git LFS', 'on'),
    setting('--max-lfs-bytes <size>', 'largest object of Git LFS', '10GiB', values.byteSize),
    setting(
      '--lfs-link-expiry <time>',
      'life of the links of transfers of Git LFS, 5m to 24h',
      '1h',
      values.lfsLinkExpiry,
    ),
    toggle('--lfs-push-check', 'off: pointers may be pushed without their objects', 'on'),
    setting(
      '--lfs-unreferenced-after <time>',
      'time after which LFS objects that no ref needs are removed, at least 7d; off: never',
      'off',
      values.lfsUnreferencedAge,
    ),
    toggle('--refuse-lfs-pointers', 'on: pushes of Git LFS pointers are refused', 'off'),
  ]
}

/** Options of the work that the server does on repositories by itself, and of scripts on pushes. */
function upkeepOptions(): Option[] {
  return [
    toggle('--maintenance', 'on: the server packs repositories by itself', 'on'),
    setting(
      '--maintenance-window <hours>',
      'hours (UTC) in which repositories are packed as a whole, such as 01:30-05:00',
      undefined,
      values.dailyWindow,
    ),
    pruneAfterOption(),
    setting(
      '--limbo <time>',
      'how long removed objects can be brought back',
      '14d',
      values.limboTime,
    ),
    toggle('--git-hooks', 'on: administrators edit scripts that run on pushes', 'off'),
    setting(
      '--hook-timeout <time>',
      'longest run of such a script, 1s to 10m',
      '30s',
      values.hookTimeout,
    ),
  ]
}

function quota(name: string, of: string): Option {
  const text = `most bytes stored for ${of}; 0 forbids new ones (default: no limit)`
  return setting(`--quota-${name} <size>`, text, undefined, values.quotaSize)
}

function proxyOptions(): Option[] {
  return [
    toggle('--proxy-auth', 'on: trusted reverse proxies name the caller', 'off'),
    setting(
      '--proxy-auth-header <name>',
      'header with the username',
      'X-WEBAUTH-USER',
      values.headerName,
    ),
    setting(
      '--trusted-proxies <networks>',
      'their networks; their forwarding headers count',
      '127.0.0.0/8,::1/128',
      values.networks,
    ),
    toggle('--trusted-proxies-any', 'on: --trusted-proxies may name all addresses', 'off'),
    toggle('--proxy-auth-api', 'on: the header is valid for every method', 'off'),
    toggle('--proxy-auth-register', 'on: unknown usernames in the header get an account', 'off'),
    setting(
      '--proxy-auth-email-header <name>',
      'header with the address of new accounts',
      undefined,
      values.headerName,
    ),
    setting(
      '--proxy-auth-name-header <name>',
      'header with the display name of new accounts',
      undefined,
      values.headerName,
    ),
  ]
}

function limitOptions(): Option[] {
  return [
    toggle('--limit-loopback', 'on: limits per peer apply to callers on this machine too', 'off'),
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
      values.origins,
    ),
    setting(
      '--max-message-bytes <size>',
      'largest request message, on every protocol',
      '4MiB',
      values.byteSize,
    ),
    setting(
      '--max-push-bytes <size>',
      'largest push, and fetch from another server',
      '2GiB',
      values.byteSize,
    ),
    setting('--max-asset-bytes <size>', 'largest release asset', '2GiB', values.byteSize),
    setting(
      '--max-attachment-bytes <size>',
      'largest attachment of an issue, a pull request or a comment',
      '100MiB',
      values.byteSize,
    ),
    setting(
      '--attachment-types <types>',
      'extensions and media types of attachments; */*: all but executable files',
      '*/*',
      values.attachmentTypes,
    ),
    setting(
      '--git-memory <size>',
      'most memory that all Git processes may take together',
      '2GiB',
      values.gitMemorySize,
    ),
    setting(
      '--disk-reserve <size|auto|off>',
      'free space of the data folder below which calls that store data are refused',
      'auto',
      values.diskReserve,
    ),
  ]
}

function toggle(flag: string, description: string, preset: 'on' | 'off'): Option {
  return setting(`${flag} <on|off>`, description, preset, values.onOff)
}

/**
 * Creates an option with its environment variable. `parse` reads the default too. A parsed value is never
 * undefined, for which Commander takes the empty text.
 */
function setting(
  flags: string,
  description: string,
  preset?: string,
  parse?: (text: string) => NonNullable<unknown>,
): Option {
  const option = new Option(flags, description)
  option.env(ENVIRONMENT_PREFIX + option.name().toUpperCase().replaceAll('-', '_'))
  if (parse) option.argParser(parse)
  return preset === undefined
    ? option
    : option.default(parse ? parse(preset) : preset, preset || 'none')
}
