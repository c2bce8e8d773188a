import type { Socket } from 'node:net'
import type { Logger } from 'pino'
import { findSshKey } from '../../forge/accounts/keys/ssh-identities.ts'
import type { App } from '../../forge/app.ts'
import type { FairSlots } from '../../platform/concurrency/fair-slots.ts'
import { RevokedKeys } from '../../platform/ssh/revoked-keys.ts'
import type { SshSettings } from '../../platform/ssh/ssh-messages.ts'
import { type SshListening, SshProcess } from '../../platform/ssh/ssh-process.ts'
import type { SessionLimits } from '../git-http/session.ts'
import type { Metrics } from '../operator-pages/metrics.ts'
import { FailureLog } from './failure-log.ts'
import { RunningSessions } from './running-sessions.ts'
import { runSession } from './session.ts'

interface GitSshOptions {
  /** Path of the bundled `ssh-program.ts`. */
  readonly program: string
  readonly settings: Omit<SshSettings, 'socketPath'>
  /** File with keys that may not sign in. */
  readonly revokedKeysFile: string | undefined
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
  { program, settings, revokedKeysFile, slots, limits, log, metrics }: GitSshOptions,
): Promise<GitSsh> {
  const { limitLoopback } = settings
  const revoked = revokedKeysFile === undefined ? undefined : new RevokedKeys(revokedKeysFile)
  await revoked?.read()
  const running = new RunningSessions((err) =>
    log.warn({ err }, 'the keys of Git sessions could not be checked'),
  )
  const parts = { app, slots, limits, limitLoopback, revoked, running, metrics }
  const failures = new FailureLog(log)
  let hostKeys: GitSsh['hostKeys'] = []
  const ssh = new SshProcess(program, {
    async decide(fingerprint) {
      const isRevoked = await revoked?.has(fingerprint)
      return isRevoked ? undefined : findSshKey(app, fingerprint)
    },
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
    const listening = await ssh.start(settings)
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
