import { isIPv6, type Socket } from 'node:net'
import { gitHttpLimits } from '../../edge/git-http/index.ts'
import { type GitSsh, startGitSsh } from '../../edge/git-ssh/index.ts'
import type { Metrics } from '../../edge/operator-pages/metrics.ts'
import type { App } from '../../forge/app.ts'
import type { SshHost, SshPort } from '../../forge/core/core.ts'
import type { FairSlots } from '../../platform/concurrency/fair-slots.ts'
import type { PassedConnections } from '../../platform/http/listener/index.ts'
import { SSH_PORT } from '../config/values.ts'
import type { Config } from '../config.ts'
import { hostKeysFolderOf } from '../data-folder.ts'
import type { StartedParts } from './serving.ts'
import { portOf } from './ssh-address.ts'

/** What the forge tells of Git over SSH. */
interface AttachableSsh extends SshPort {
  /** Sets what is known once the program listens. */
  attach(serving: ServedSsh | undefined): void
  /** Reads the host keys again, where SSH is served. */
  readHostKeys(): void
  /** Takes connections of the port of HTTP. Undefined where SSH has a port of its own. */
  readonly take: ((socket: Socket, begun: Buffer) => void) | undefined
}

/** Git over SSH that is served, with its port. */
interface ServedSsh {
  readonly ssh: GitSsh
  readonly port: number
}

/** @param publicUrl returns the base of the URLs of the server. */
export function createSshPort({ ssh }: Config, publicUrl: () => string): AttachableSsh {
  let serving: ServedSsh | undefined
  const host = () =>
    ssh && serving
      ? {
          host: ssh.public.host ?? new URL(publicUrl()).hostname.replace(/^\[(.*)\]$/, '$1'),
          port: ssh.public.port ?? serving.port,
          user: ssh.user,
          keys: serving.ssh.hostKeys,
        }
      : undefined
  const take = (socket: Socket, begun: Buffer) => {
    if (serving) serving.ssh.take(socket, begun)
    else socket.destroy()
  }
  return {
    attach(started) {
      serving = started
    },
    take: ssh?.listen === 'same' ? take : undefined,
    host,
    readHostKeys: () => serving?.ssh.readHostKeys(),
    sessions: () => serving?.ssh.running.list() ?? [],
    endSession: (id) => serving?.ssh.running.end(id) ?? false,
    urlOf(path) {
      const place = host()
      return place ? addressOf(place, path) : ''
    },
  }
}

/** Returns the address of a repository in the form that users know: short at the port of SSH. */
function addressOf({ host, port, user }: SshHost, path: string): string {
  const isShort = port === SSH_PORT && !isIPv6(host)
  if (isShort) return `${user}@${host}:${path}.git`
  const suffix = port === SSH_PORT ? '' : `:${port}`
  return `ssh://${user}@${isIPv6(host) ? `[${host}]` : host}${suffix}/${path}.git`
}

/** What Git over SSH shares with the other protocols. */
interface SshSurroundings {
  readonly slots: FairSlots
  readonly lfsSlots: FairSlots
  readonly metrics: Metrics
  /** URL of the listener of HTTP. */
  readonly url: string
  /** Connections that the primary process accepts, where SSH has a port of its own. */
  readonly passed: PassedConnections | undefined
  /** Path of the bundled program. Without it the server serves no SSH. */
  readonly program: string | undefined
}

/**
 * Starts Git over SSH where the operator wants it, and adds it to `parts`.
 *
 * @throws Error with a sentence for the operator.
 */
export async function startSsh(
  config: Config,
  app: App,
  { slots, lfsSlots, program, metrics, url, passed }: SshSurroundings,
  parts: StartedParts,
): Promise<ServedSsh | undefined> {
  if (!config.ssh || program === undefined) return undefined
  const { listen, user, hostKeyFiles, revokedKeysFile, userAuthoritiesFile } = config.ssh
  const ssh = await startGitSsh(app, {
    program,
    listens: listen !== 'sshd',
    settings: {
      address: typeof listen === 'object' && passed === undefined ? listen : undefined,
      user,
      hostKeyFiles,
      hostKeyFolder: hostKeysFolderOf(config.data),
      banner: config.ssh.banner,
      proxies: config.ssh.proxies,
      limitLoopback: config.limitLoopback,
    },
    revokedKeysFile,
    userAuthoritiesFile,
    slots,
    lfsSlots,
    limits: gitHttpLimits(config.settings.maxPushBytes),
    log: app.log,
    metrics,
  })
  parts.add((graceMs) => ssh.stop(graceMs))
  const fingerprints = ssh.hostKeys.map(({ fingerprint }) => fingerprint)
  passed?.onConnection((socket) => ssh.take(socket, Buffer.alloc(0)))
  const ofOthers = listen === 'sshd' ? SSH_PORT : portOf(new URL(url))
  const port = ssh.port ?? passed?.port ?? ofOthers
  app.log.info({ fingerprints, port }, 'serving Git over SSH')
  return { ssh, port }
}
