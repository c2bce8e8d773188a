import { existsSync } from 'node:fs'
import type { Socket } from 'node:net'
import { join } from 'node:path'
import type { Logger } from 'pino'
import type { App } from '../../forge/app.ts'
import type { FairSlots } from '../../platform/concurrency/fair-slots.ts'
import { readHostKeys } from '../../platform/ssh/host-keys.ts'
import { openRevokedKeys } from '../../platform/ssh/revoked-keys.ts'
import { SERVE_SOCKET, ServeSocket } from '../../platform/ssh/serve-socket.ts'
import type { SshSettings } from '../../platform/ssh/ssh-messages.ts'
import { type SshListening, SshProcess, type SshSession } from '../../platform/ssh/ssh-process.ts'
import { openUserAuthorities } from '../../platform/ssh/user-authorities.ts'
import type { SessionLimits } from '../git-http/session.ts'
import type { Metrics } from '../operator-pages/metrics.ts'
import { FailureLog } from './failure-log.ts'
import { type IdentityFiles, SshIdentities } from './identities.ts'
import { RunningSessions } from './running-sessions.ts'
import { runSession } from './session.ts'

interface GitSshOptions {
  /** Path of the bundled `ssh-program.ts`. */
  readonly program: string
  /** Whether the program serves. Otherwise only `sshd` of this machine does, by a socket. */
  readonly listens: boolean
  readonly settings: Omit<SshSettings, 'socketPath' | 'takesCertificates'>
  /** File with keys that may not sign in. */
  readonly revokedKeysFile: string | undefined
  /** File with the keys of authorities whose certificates sign users in. */
  readonly userAuthoritiesFile: string | undefined
  /** Shared with Git over HTTP. */
  readonly slots: FairSlots
  /** Slots of transfers of Git LFS, shared with HTTP. */
  readonly lfsSlots: FairSlots
  readonly limits: SessionLimits
  readonly log: Logger
  readonly metrics: Metrics
}

/** Git over SSH that is served. */
export interface GitSsh extends SshListening {
  /** Reads the host keys again, and uses them for new connections. */
  readHostKeys(): void
  readonly running: RunningSessions
  /** Takes a connection of another listener, with the bytes that were read from the socket. */
  take(socket: Socket, begun: Buffer): void
  stop(graceMs: number): Promise<void>
}

/**
 * Starts Git over SSH.
 *
 * @throws Error with a sentence for the operator when the address or a host key cannot be used.
 */
export async function startGitSsh(
  app: App,
  {
    program,
    listens,
    settings,
    revokedKeysFile,
    userAuthoritiesFile,
    slots,
    lfsSlots,
    limits,
    log,
    metrics,
  }: GitSshOptions,
): Promise<GitSsh> {
  const { limitLoopback } = settings
  const files = await openFiles(revokedKeysFile, userAuthoritiesFile)
  const identities = new SshIdentities(app, files)
  const running = new RunningSessions((err) =>
    log.warn({ err }, 'the keys of Git sessions could not be checked'),
  )
  const parts = { app, slots, lfsSlots, limits, limitLoopback, identities, running, metrics }
  const failures = new FailureLog(log)
  let hostKeys: GitSsh['hostKeys'] = []
  const run = (session: SshSession) => {
    runSession(parts, session).catch((err: unknown) => {
      log.error({ err }, 'a Git session over SSH failed')
      session.end(70, 'Branchline: the server failed\n')
    })
  }
  const warn = (facts: object, message: string) => log.warn(facts, message)
  const socket = new ServeSocket(join(settings.hostKeyFolder, SERVE_SOCKET), {
    findKey: (fingerprint) => identities.findRow(fingerprint),
    run,
    warn,
  })
  const ssh = new SshProcess(program, {
    decide: (question) =>
      'certificate' in question
        ? identities.findCertificate(question.certificate, question.peer)
        : identities.findKey(question.fingerprint),
    run,
    warn,
    noteFailure: (peer, client) => failures.note(peer, client),
    count: metrics.countSsh,
    useHostKeys(keys) {
      hostKeys = keys
      log.info(
        { fingerprints: keys.map(({ fingerprint }) => fingerprint) },
        'read the SSH host keys',
      )
    },
  })
  const stop = async (graceMs: number) => {
    await Promise.all([socket.stop(graceMs), ssh.stop(graceMs)])
  }
  try {
    const takesCertificates = files.authorities !== undefined
    const listening = listens ? await ssh.start({ ...settings, takesCertificates }) : undefined
    hostKeys = listening?.hostKeys ?? []
    await serveForSshd(socket, settings, !listens).catch((err: unknown) => {
      if (!listens) throw err
      warn({ err }, 'Git cannot be served for sshd')
    })
    return {
      port: listening?.port,
      get hostKeys() {
        return hostKeys
      },
      running,
      readHostKeys: () => ssh.readHostKeys(),
      take: (connection, begun) => ssh.take(connection, begun),
      stop,
    }
  } catch (error) {
    await stop(0)
    throw error
  }
}

/**
 * Opens the socket for `sshd` in the folder of the host keys. A folder without the keys would stop a
 * later start, so that they are made too.
 */
async function serveForSshd(
  socket: ServeSocket,
  { hostKeyFolder }: Pick<SshSettings, 'hostKeyFolder'>,
  isNeeded: boolean,
): Promise<void> {
  if (isNeeded) await readHostKeys([], hostKeyFolder)
  // With keys of the operator there is no folder.
  if (existsSync(hostKeyFolder)) await socket.start()
}

/** @throws Error with a sentence for the operator when a file cannot be read. */
async function openFiles(
  revokedKeysFile: string | undefined,
  userAuthoritiesFile: string | undefined,
): Promise<IdentityFiles> {
  const revoked = revokedKeysFile === undefined ? undefined : openRevokedKeys(revokedKeysFile)
  const authorities =
    userAuthoritiesFile === undefined ? undefined : openUserAuthorities(userAuthoritiesFile)
  await revoked?.read()
  await authorities?.read()
  return { revoked, authorities }
}
