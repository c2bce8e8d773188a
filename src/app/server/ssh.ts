import { isIPv6 } from 'node:net'
import { join } from 'node:path'
import { gitHttpLimits } from '../../edge/git-http/index.ts'
import { startGitSsh } from '../../edge/git-ssh/index.ts'
import type { App } from '../../forge/app.ts'
import type { FairSlots } from '../../platform/concurrency/fair-slots.ts'
import type { SshListening } from '../../platform/ssh/ssh-process.ts'
import { SSH_PORT } from '../config/values.ts'
import type { Config } from '../config.ts'
import type { StartedParts } from './serving.ts'

/** The address of repositories over SSH. */
interface SshAddress {
  /** Sets the port, which is known once the program listens. */
  listensAt(port: number | undefined): void
  urlOf(path: string): string
}

/** @param publicUrl returns the base of the URLs of the server. */
export function createSshAddress({ ssh }: Config, publicUrl: () => string): SshAddress {
  let listening: number | undefined
  return {
    listensAt(port) {
      listening = port
    },
    urlOf(path) {
      if (!ssh || listening === undefined) return ''
      const host = ssh.public.host ?? new URL(publicUrl()).hostname.replace(/^\[(.*)\]$/, '$1')
      const port = ssh.public.port ?? listening
      const isShort = port === SSH_PORT && !isIPv6(host)
      if (isShort) return `${ssh.user}@${host}:${path}.git`
      const suffix = port === SSH_PORT ? '' : `:${port}`
      return `ssh://${ssh.user}@${isIPv6(host) ? `[${host}]` : host}${suffix}/${path}.git`
    },
  }
}

/**
 * Starts Git over SSH where the operator wants it, and adds it to `parts`.
 *
 * @throws Error with a sentence for the operator.
 */
export async function startSsh(
  config: Config,
  app: App,
  { slots, program }: { readonly slots: FairSlots; readonly program: string | undefined },
  parts: StartedParts,
): Promise<SshListening | undefined> {
  if (!config.ssh || program === undefined) return undefined
  const { listen, user, hostKeyFiles } = config.ssh
  const ssh = await startGitSsh(app, {
    program,
    settings: {
      ...listen,
      user,
      hostKeyFiles,
      hostKeyFolder: join(config.data, 'ssh'),
      limitLoopback: config.limitLoopback,
    },
    slots,
    limits: gitHttpLimits(config.settings.maxPushBytes),
    log: app.log,
  })
  parts.add((graceMs) => ssh.stop(graceMs))
  app.log.info({ fingerprints: ssh.fingerprints, port: ssh.port }, 'serving Git over SSH')
  return ssh
}

/** Returns an address as operators write it. */
export function hostPortText(host = '', port: number): string {
  return `${isIPv6(host) ? `[${host}]` : host}:${port}`
}
