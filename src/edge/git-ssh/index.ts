import type { Socket } from 'node:net'
import type { Logger } from 'pino'
import type { App } from '../../forge/app.ts'
import type { FairSlots } from '../../platform/concurrency/fair-slots.ts'
import { openRevokedKeys } from '../../platform/ssh/revoked-keys.ts'
import type { SshSettings } from '../../platform/ssh/ssh-messages.ts'
import { type SshListening, SshProcess } from '../../platform/ssh/ssh-process.ts'
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
  readonly settings: Omit<SshSettings, 'socketPath' | 'takesCertificates'>
  /** File with keys that may not sign in. */
  readonly revokedKeysFile: string | undefined
  /** File with the keys of authorities whose certificates sign users in. */
  readonly userAuthoritiesFile: string | undefined
  /** Shared with Git over HTTP. */
  readonly slots: FairSlots
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
    settings,
    revokedKeysFile,
    userAuthoritiesFile,
    slots,
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
  const parts = { app, slots, limits, limitLoopback, identities, running, metrics }
  const failures = new FailureLog(log)
  let hostKeys: GitSsh['hostKeys'] = []
  const ssh = new SshProcess(program, {
    decide: (question) =>
      'certificate' in question
        ? identities.findCertificate(question.certificate, question.peer)
        : identities.findKey(question.fingerprint),
    run: (session) => {
      runSession(parts, session).catch((err: unknown) => {
        log.error({ err }, 'a Git session over SSH failed')
        session.end(70, 'Branchline: the server failed\n')
      })
    },
    warn: (facts, message) => log.warn(facts, message),
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
  try {
    const listening = await ssh.start({
      ...settings,
      takesCertificates: files.authorities !== undefined,
    })
    hostKeys = listening.hostKeys
    return {
      port: listening.port,
      get hostKeys() {
        return hostKeys
      },
      running,
      readHostKeys: () => ssh.readHostKeys(),
      take: (socket, begun) => ssh.take(socket, begun),
      stop: (graceMs) => ssh.stop(graceMs),
    }
  } catch (error) {
    await ssh.stop(0)
    throw error
  }
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
