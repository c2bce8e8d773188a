import { isIPv6 } from 'node:net'
import type { Config } from '../config.ts'

/** Returns the port of a URL of HTTP. */
export function portOf({ port, protocol }: URL): number {
  return port === '' ? ({ 'http:': 80, 'https:': 443 }[protocol] ?? 0) : Number(port)
}

/**
 * Returns the address of SSH as operators write it; undefined where this server listens for none.
 *
 * @param port the actual one.
 */
export function sshAddressOf(
  { listen, ssh }: Pick<Config, 'listen' | 'ssh'>,
  port: number,
): string | undefined {
  if (ssh === undefined || ssh.listen === 'sshd') return undefined
  const { host } = ssh.listen === 'same' ? listen : ssh.listen
  return `${isIPv6(host) ? `[${host}]` : host}:${port}`
}
