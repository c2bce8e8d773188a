import { readFileSync } from 'node:fs'
import { BlockList } from 'node:net'
import { fileURLToPath } from 'node:url'
import type { Settings } from '../forge/core/core.ts'
import type { AllowedHosts } from '../platform/outbound/allowed-hosts.ts'
import type { ProxyNetwork } from '../platform/ssh/ssh-messages.ts'
import { ENVIRONMENT_PREFIX, type LOG_LEVELS, serveOptions } from './config/options.ts'
import type { HostPort, Network, SmtpServer } from './config/values.ts'
import { type Workers, workersOf } from './config/workers.ts'
import type { DataPlace } from './data-folder.ts'
import type { ObjectStorage } from './object-storage.ts'

/** The web pages, next to the bundled server (`scripts/setup/bundle-web.mjs`). */
const WEB_FOLDER = fileURLToPath(new URL('./web', import.meta.url))

export type LogLevel = (typeof LOG_LEVELS)[number]

/** Everything that an operator can set, parsed and checked. */
export interface Config extends DataPlace, ObjectStorage {
  readonly listen: HostPort
  /** Undefined where Git over SSH is off. */
  readonly ssh: SshConfig | undefined
  /** Number of server processes behind the port. */
  readonly workers: number
  /** Base URL of links, without a trailing slash; undefined for the address of the listener. */
  readonly publicUrl: string | undefined
  readonly tls: { readonly cert: Buffer; readonly key: Buffer } | undefined
  readonly settings: Settings
  /** Absolute path of the folder for outgoing mail; undefined to send none. */
  readonly mailDir: string | undefined
  /** The mail server for outgoing mail; undefined to use none. */
  readonly mailSmtp: SmtpServer | undefined
  /** Undefined where no proxy signs users in. */
  readonly proxyAuth: ProxyAuth | undefined
  /** Addresses of reverse proxies whose headers are trusted. */
  readonly trustedProxies: BlockList
  /** Whether limits per peer apply to callers on this machine too. */
  readonly limitLoopback: boolean
  /** Private destinations that webhooks may have. */
  readonly webhookAllowedHosts: AllowedHosts
  /** Origins, as browsers send them, that may use credentials. */
  readonly corsOrigins: readonly string[]
  readonly maxMessageBytes: number
  /** Most memory that all Git processes may take together. */
  readonly gitMemoryBytes: number
  /** Free space of the data folder that is kept; undefined for a share of the file system. */
  readonly diskReserveBytes: number | undefined
  /** Time for which a server that stops still takes calls, and reports that it is not ready. */
  readonly stopDelayMs: number
  readonly reflection: boolean
  /** The folder of the bundled web pages; undefined to serve none. */
  readonly webFolder: string | undefined
  readonly logLevel: LogLevel
}

/** Git over SSH. */
export interface SshConfig {
  /** `same`: on the port of HTTP. `sshd`: only the `sshd` of this machine serves. */
  readonly listen: HostPort | 'same' | 'sshd'
  /** Host and port of addresses, as far as the operator set them. */
  readonly public: { readonly host?: string; readonly port?: number }
  readonly user: string
  /** Empty for keys in the data folder. */
  readonly hostKeyFiles: readonly string[]
  /** File with keys that may not sign in. */
  readonly revokedKeysFile?: string | undefined
  /** File with the keys of authorities whose certificates sign users in. */
  readonly userAuthoritiesFile?: string | undefined
  /** Networks of load balancers that speak the PROXY protocol. */
  readonly proxies?: readonly ProxyNetwork[] | undefined
  /** Text that clients show before they sign in. */
  readonly banner?: string | undefined
}

/** The headers by which a reverse proxy names the caller, in lower case. */
export interface ProxyAuth {
  /** Header with the username. */
  readonly header: string
  /** Whether the header is valid for every method, rather than only for starting a session. */
  readonly api: boolean
  /** Whether unknown usernames get an account. */
  readonly register: boolean
  /** Header with the e-mail address of new accounts. */
  readonly emailHeader: string | undefined
  /** Header with the display name of new accounts. */
  readonly nameHeader: string | undefined
}

/** Values of the options that need no conversion. */
type PlainFlags = Omit<
  Settings,
  | 'webhookRetryScheduleMs'
  | 'hookTimeoutMs'
  | 'lfsLinkExpiryMs'
  | 'lfsUnreferencedAfterMs'
  | 'pruneAfterMs'
  | 'limboMs'
  | 'quotas'
> &
  Omit<
    Config,
    | 'settings'
    | 'ssh'
    | 'tls'
    | 'proxyAuth'
    | 'trustedProxies'
    | 'gitMemoryBytes'
    | 'diskReserveBytes'
    | 'stopDelayMs'
    | 'publicUrl'
    | 'mailDir'
    | 'mailSmtp'
    | 'webFolder'
    | 'workers'
  >

/** The values that commander passes to the action of `serve`, one for each option. */
export interface ServeFlags extends PlainFlags {
  publicUrl?: string
  workers: Workers
  sshListen: HostPort | 'same' | 'off'
  sshPublic?: { readonly host: string; readonly port?: number }
  sshUser: string
  sshHostKeys: string[]
  sshUserCa?: string
  sshRevokedKeys?: string
  sshProxyProtocol: boolean
  sshBanner?: string
  tlsCert?: string
  tlsKey?: string
  webhookRetrySchedule: number[]
  hookTimeout: number
  pruneAfter: number | 'off'
  limbo: number
  quotaAccount?: number
  quotaOrganization?: number
  quotaRepository?: number
  quotaInstance?: number
  quotaDefaultGroups: string[]
  lfsLinkExpiry: number
  lfsUnreferencedAfter: number | 'off'
  stopDelay: number
  mailDir?: string
  mailSmtp?: Omit<SmtpServer, 'passwordFile'>
  mailSmtpPasswordFile?: string
  proxyAuth: boolean
  proxyAuthHeader: string
  trustedProxies: Network[]
  trustedProxiesAny: boolean
  proxyAuthApi: boolean
  proxyAuthRegister: boolean
  proxyAuthEmailHeader?: string
  proxyAuthNameHeader?: string
  gitMemory: number
  diskReserve: number | 'auto'
  web: boolean
}

/**
 * Finds variables that look like settings but are unknown. A misspelt setting must not be ignored.
 *
 * @returns a sentence, or undefined when there are none.
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
 * Creates the configuration from the flags of `serve`, and reads the files that they name.
 *
 * @throws Error with a sentence for the operator.
 */
export function readConfig(flags: ServeFlags): Config {
  return {
    listen: flags.listen,
    ssh: sshOf(flags),
    data: flags.data,
    database: flags.database,
    databasePasswordFile: flags.databasePasswordFile,
    ...storageOf(flags),
    workers: workersOf(flags.workers),
    publicUrl: flags.publicUrl,
    tls: readTls(flags.tlsCert, flags.tlsKey),
    settings: settingsOf(flags),
    mailDir: flags.mailDir,
    mailSmtp: smtpOf(flags),
    proxyAuth: proxyAuthOf(flags),
    trustedProxies: trustedProxiesOf(flags),
    limitLoopback: flags.limitLoopback,
    webhookAllowedHosts: flags.webhookAllowedHosts,
    corsOrigins: flags.corsOrigins,
    maxMessageBytes: flags.maxMessageBytes,
    gitMemoryBytes: flags.gitMemory,
    diskReserveBytes: unlessWord(flags.diskReserve),
    stopDelayMs: flags.stopDelay,
    reflection: flags.reflection,
    webFolder: flags.web ? WEB_FOLDER : undefined,
    logLevel: flags.logLevel,
  }
}

/** @throws Error with a sentence for the operator. */
function storageOf(flags: ServeFlags): ObjectStorage {
  const { objectStorage, objectStorageKeyFile, objectStorageDirect } = flags
  if ((objectStorage === undefined) !== (objectStorageKeyFile === undefined))
    throw new Error('--object-storage and --object-storage-key-file need each other')
  if (objectStorageDirect && objectStorage === undefined)
    throw new Error('--object-storage-direct needs --object-storage')
  return { objectStorage, objectStorageKeyFile, objectStorageDirect }
}

/** @throws Error with a sentence for the operator. */
function smtpOf({
  mailSmtp,
  mailSmtpPasswordFile: passwordFile,
  mailDir,
}: ServeFlags): SmtpServer | undefined {
  if (mailSmtp !== undefined && mailDir !== undefined)
    throw new Error('--mail-dir and --mail-smtp exclude each other')
  if (mailSmtp === undefined) {
    if (passwordFile !== undefined) throw new Error('--mail-smtp-password-file needs --mail-smtp')
    return undefined
  }
  if ((mailSmtp.user === undefined) !== (passwordFile === undefined))
    throw new Error('--mail-smtp-password-file needs a user in --mail-smtp, and the reverse')
  return { ...mailSmtp, passwordFile }
}

/** Returns a number; undefined for a word in its place, which stands for no number. */
export function unlessWord(value: number | 'off' | 'auto'): number | undefined {
  return typeof value === 'number' ? value : undefined
}

/** @throws Error with a sentence for the operator. */
function sshOf({
  sshListen,
  sshPublic,
  sshUser,
  sshHostKeys,
  sshUserCa,
  sshRevokedKeys,
  sshProxyProtocol,
  sshBanner,
  trustedProxies,
}: ServeFlags): SshConfig | undefined {
  if (sshListen === 'off') {
    const isUsed = sshUserCa !== undefined || sshBanner !== undefined || sshProxyProtocol
    if (isUsed || sshHostKeys.length > 0)
      throw new Error(
        '--ssh-host-keys, --ssh-user-ca, --ssh-proxy-protocol and --ssh-banner need --ssh-listen',
      )
    if (sshPublic === undefined) {
      if (sshRevokedKeys === undefined) return undefined
      throw new Error('--ssh-revoked-keys needs --ssh-listen or --ssh-public')
    }
  }
  if (sshProxyProtocol && sshListen === 'same')
    throw new Error('--ssh-proxy-protocol needs a port of its own in --ssh-listen')
  return {
    listen: sshListen === 'off' ? 'sshd' : sshListen,
    public: sshPublic ?? {},
    user: sshUser,
    hostKeyFiles: sshHostKeys,
    revokedKeysFile: sshRevokedKeys,
    userAuthoritiesFile: sshUserCa,
    proxies: sshProxyProtocol ? trustedProxies : undefined,
    banner: sshBanner === undefined ? undefined : readBanner(sshBanner),
  }
}

const MAX_BANNER_BYTES = 4096

/** @throws Error with a sentence for the operator. */
function readBanner(file: string): string {
  const bytes = readFileSync(file)
  if (bytes.length > MAX_BANNER_BYTES)
    throw new Error(`--ssh-banner: ${file} has more than ${MAX_BANNER_BYTES} bytes`)
  // Lines of RFC 4252, section 5.4, end so.
  return bytes.toString('utf8').trimEnd().replace(/\r?\n/g, '\r\n')
}

function settingsOf(flags: ServeFlags): Settings {
  const { defaultPageSize, maxPageSize } = flags
  if (defaultPageSize !== undefined && maxPageSize !== undefined && defaultPageSize > maxPageSize) {
    throw new Error('--default-page-size is larger than --max-page-size')
  }
  return {
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
    maxAttachmentBytes: flags.maxAttachmentBytes,
    attachmentTypes: flags.attachmentTypes,
    webhookRetryScheduleMs: flags.webhookRetrySchedule,
    mailFrom: flags.mailFrom,
    defaultMergeStyle: flags.defaultMergeStyle,
    signing: flags.signing,
    wipPrefixes: flags.wipPrefixes,
    diffMaxLines: flags.diffMaxLines,
    diffMaxLineCharacters: flags.diffMaxLineCharacters,
    issueRate: flags.issueRate,
    codeIndexBytes: flags.codeIndexBytes,
    lfs: flags.lfs,
    maxLfsBytes: flags.maxLfsBytes,
    lfsLinkExpiryMs: flags.lfsLinkExpiry,
    lfsPushCheck: flags.lfsPushCheck,
    lfsUnreferencedAfterMs: unlessWord(flags.lfsUnreferencedAfter),
    refuseLfsPointers: flags.refuseLfsPointers,
    maxFileBytes: flags.maxFileBytes,
    maxRepositories: flags.maxRepositories,
    quotas: {
      account: flags.quotaAccount,
      organization: flags.quotaOrganization,
      repository: flags.quotaRepository,
      instance: flags.quotaInstance,
      defaultGroups: flags.quotaDefaultGroups,
    },
    maintenance: flags.maintenance,
    maintenanceWindow: flags.maintenanceWindow,
    pruneAfterMs: unlessWord(flags.pruneAfter),
    limboMs: flags.limbo,
    gitHooks: flags.gitHooks,
    hookTimeoutMs: flags.hookTimeout,
    defaultPageSize,
    maxPageSize,
  }
}

function readTls(certFile: string | undefined, keyFile: string | undefined): Config['tls'] {
  if (certFile === undefined && keyFile === undefined) return undefined
  if (certFile === undefined || keyFile === undefined)
    throw new Error('--tls-cert and --tls-key need each other')
  return { cert: readFileSync(certFile), key: readFileSync(keyFile) }
}

/** Refuses to trust all addresses, since every client could then name itself (CVE-2026-20896). */
function trustedProxiesOf({ trustedProxies, trustedProxiesAny }: ServeFlags): BlockList {
  const everyone = trustedProxies.find(({ prefix }) => prefix === 0)
  if (everyone && !trustedProxiesAny) {
    throw new Error(
      `--trusted-proxies ${everyone.text} trusts every client; only --trusted-proxies-any on allows that`,
    )
  }
  const blockList = new BlockList()
  for (const { address, prefix, family } of trustedProxies)
    blockList.addSubnet(address, prefix, family)
  return blockList
}

function proxyAuthOf(flags: ServeFlags): ProxyAuth | undefined {
  if (!flags.proxyAuth) return undefined
  return {
    header: flags.proxyAuthHeader,
    api: flags.proxyAuthApi,
    register: flags.proxyAuthRegister,
    emailHeader: flags.proxyAuthEmailHeader,
    nameHeader: flags.proxyAuthNameHeader,
  }
}
